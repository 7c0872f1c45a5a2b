#include "run/wreck_words.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <fmt/format.h>

#include "base/text.hpp"

namespace muster {

std::string signal_words(int signal) {
  static constexpr std::array<std::pair<int, const char*>, 16> known{{{SIGHUP, "SIGHUP"},
                                                                      {SIGINT, "SIGINT"},
                                                                      {SIGQUIT, "SIGQUIT"},
                                                                      {SIGILL, "SIGILL"},
                                                                      {SIGTRAP, "SIGTRAP"},
                                                                      {SIGABRT, "SIGABRT"},
                                                                      {SIGBUS, "SIGBUS"},
                                                                      {SIGFPE, "SIGFPE"},
                                                                      {SIGKILL, "SIGKILL"},
                                                                      {SIGUSR1, "SIGUSR1"},
                                                                      {SIGSEGV, "SIGSEGV"},
                                                                      {SIGUSR2, "SIGUSR2"},
                                                                      {SIGPIPE, "SIGPIPE"},
                                                                      {SIGTERM, "SIGTERM"},
                                                                      {SIGXCPU, "SIGXCPU"},
                                                                      {SIGSYS, "SIGSYS"}}};
  for (const auto& one : known)
    if (one.first == signal) return fmt::format("signal {} ({})", signal, one.second);
  return fmt::format("signal {}", signal);
}

std::string seconds_words(double seconds) {
  return seconds < 10 ? fmt::format("{:.1f} s", std::max(seconds, 0.0)) : fmt::format("{:.0f} s", seconds);
}

namespace {

// A process that ended before it knew its rank is named by its number.
std::string bare_name(const SeenRank& rank) {
  if (rank.record().rank < 0) return fmt::format("process {}", rank.record().pid);
  return fmt::format("rank {}", rank.record().rank);
}

std::string iteration_words(const FlightRecord& record) {
  return record.iteration == 0 ? "" : fmt::format(", iteration {}", record.iteration);
}

std::string peer_words(const FlightRecord& record) {
  return record.peer < 0 ? "" : fmt::format(", with rank {}", record.peer);
}

}  // namespace

std::string rank_words(const SeenRank& rank) {
  return bare_name(rank) + " on " + rank.node;
}

std::string names(const SeenRanks& ranks) {
  const auto is_alike = [&](const SeenRank& one) { return one.node == ranks.front().node && one.record().rank >= 0; };
  std::vector<std::string> words;
  if (ranks.size() < 2 || !std::all_of(ranks.begin(), ranks.end(), is_alike)) {
    for (const SeenRank& rank : ranks) words.push_back(rank_words(rank));
    return human_list(words);
  }
  for (const SeenRank& rank : ranks) words.push_back(std::to_string(rank.record().rank));
  return "ranks " + human_list(words) + " on " + ranks.front().node;
}

const char* is_or_are(const SeenRanks& ranks) {
  return ranks.size() == 1 ? "is" : "are";
}

std::string place_words(const FlightRecord& record) {
  if (!record.step.empty()) return "in " + record.step + iteration_words(record) + peer_words(record);
  switch (record.phase) {
    case Phase::starting:
      return "in MPI_Init";
    case Phase::connecting:
      return "waiting for its work";
    case Phase::gap:
      return "between two cases";
    case Phase::prepare:
      return "in prepare";
    case Phase::agreeing:
      return "waiting until all ranks have prepared";
    case Phase::running:
      return "in run";
    case Phase::gathering:
      return "handing over its observations";
    case Phase::finishing:
      return "in MPI_Finalize";
    case Phase::finished:
      return "at its end";
  }
  return "";
}

std::string common_place(const SeenRanks& ranks) {
  const std::string first = place_words(ranks.front().record());
  const auto is_same = [&](const SeenRank& rank) { return place_words(rank.record()) == first; };
  return std::all_of(ranks.begin(), ranks.end(), is_same) ? " " + first : "";
}

std::string death_place(const Wreck& wreck, const FlightRecord* record) {
  const std::string in_case = wreck.case_id.empty() ? "in a case" : "in " + wreck.case_id;
  if (record == nullptr) {
    if (wreck.stage == "case") return in_case;
    return wreck.stage == "gap" ? "between two cases" : "during " + (wreck.stage.empty() ? "the launch" : wreck.stage);
  }
  std::string place;
  switch (record->phase) {
    case Phase::starting:
    case Phase::connecting:
      return "during start-up";
    case Phase::gap:
      return "between two cases";
    case Phase::finishing:
    case Phase::finished:
      return "while finishing";
    case Phase::running:
      place = in_case;
      break;
    default:
      place = fmt::format("{}, {}", in_case, to_string(record->phase));
  }
  if (!record->step.empty()) place += ", step " + record->step + iteration_words(*record);
  return place;
}

std::string waiting_words(std::size_t waiting, std::size_t culprits) {
  if (waiting == 0) return "";
  return fmt::format("; {} {} for {}", counted(waiting, "rank"), waiting == 1 ? "waits" : "wait",
                     culprits == 1 ? "it" : "them");
}

std::vector<Culprit> rank_culprits(const SeenRanks& ranks) {
  std::vector<Culprit> culprits;
  for (const SeenRank& rank : ranks)
    culprits.push_back({CulpritKind::rank, bare_name(rank), rank.node, rank.record().rank});
  return culprits;
}

std::string nodes_of(const SeenRanks& ranks) {
  std::vector<std::string> nodes;
  for (const SeenRank& rank : ranks)
    if (std::find(nodes.begin(), nodes.end(), rank.node) == nodes.end()) nodes.push_back(rank.node);
  return human_list(nodes);
}

}  // namespace muster
