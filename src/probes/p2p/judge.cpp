#include "probes/p2p/judge.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.hpp"
#include "probes/p2p/links.hpp"
#include "probes/p2p/name_parts.hpp"

namespace muster::p2p {

namespace {

std::string rank_on(const CaseView& view, int rank) {
  return fmt::format("rank {} on {}", rank, view.ranks[static_cast<std::size_t>(rank)].host);
}

const std::string* label(const Reading& reading, std::string_view key) {
  for (const auto& [name, value] : reading.where)
    if (name == key) return &value;
  return nullptr;
}

/// `PEER SIZE KIND DESCRIPTION`, as the receiver told it.
std::optional<Finding> wrong_data(const CaseView& view, int rank, const std::string& told) {
  const auto words = split(told, ' ');
  const int peer = words.empty() ? -1 : std::atoi(words[0].c_str());
  if (words.size() < 4 || peer < 0 || static_cast<std::size_t>(peer) >= view.ranks.size()) return std::nullopt;
  const std::size_t skipped = words[0].size() + words[1].size() + words[2].size() + 3;
  Finding finding;
  finding.reason =
      fmt::format("{} received wrong data from {} ({}, {}): {}", rank_on(view, rank), rank_on(view, peer),
                  printable_line(words[2]), printable_line(words[1]), printable_line(told.substr(skipped)));
  finding.culprits = {
      {CulpritKind::link, fmt::format("rank {} -> rank {}", peer, rank), "", -1},
      {CulpritKind::rank, fmt::format("rank {}", peer), view.ranks[static_cast<std::size_t>(peer)].host, peer},
      {CulpritKind::rank, fmt::format("rank {}", rank), view.ranks[static_cast<std::size_t>(rank)].host, rank}};
  finding.remedy =
      "take both nodes out of service until it is known where data changes: memory errors of both nodes "
      "(dmesg, rasdaemon), then the network between them";
  return finding;
}

/// Sockets where something faster is there: told by the ranks of one class, said once.
void find_fallbacks(const CaseView& view, ProbeJudgement& judgement) {
  if (view.params.text("sockets") == "allowed") return;
  std::map<std::string, std::set<int>> ranks;
  std::map<std::string, std::string> sentences;
  for (std::size_t rank = 0; rank < view.observed.size(); ++rank) {
    const Observation* seen = view.observed[rank];
    if (seen == nullptr || seen->state != ObservationState::measured) continue;
    const std::string* fast = seen->fact("fast_ports");
    for (const Fact& fact : seen->facts) {
      if (fact.key != "transport") continue;
      const auto words = split(fact.value, ' ');
      if (words.size() < 2 || words[1] == "memory" || words[1] == "unknown") continue;
      const bool is_network = words[0] == "network";
      // An InfiniBand port is named device/port: that is the fabric itself.
      if (is_network && (fast == nullptr || fast->empty() || words[1].find('/') != std::string::npos)) continue;
      const std::string way = fmt::format("{} {}", words[0], words[1]);
      ranks[way].insert(static_cast<int>(rank));
      sentences[way] = is_network
                           ? fmt::format("messages between nodes go through sockets on {}, though {} is there",
                                         printable_line(words[1]), printable_line(*fast))
                           : fmt::format("messages within a node go through sockets on {} instead of shared memory",
                                         printable_line(words[1]));
    }
  }
  for (const auto& [way, who] : ranks) {
    Finding finding;
    finding.reason = fmt::format("{} ({} of {} ranks, proven by the interface's byte counters)", sentences[way],
                                 who.size(), view.ranks.size());
    for (const int rank : who)
      if (finding.culprits.size() < 8)
        finding.culprits.push_back(
            {CulpritKind::rank, fmt::format("rank {}", rank), view.ranks[static_cast<std::size_t>(rank)].host, rank});
    finding.remedy =
        way.rfind("network", 0) == 0
            ? "let MPI use the fabric: look at its transport settings (OMPI_MCA_pml, OMPI_MCA_btl, UCX_TLS, "
              "FI_PROVIDER) and at the permission of its device files"
            : "let MPI use shared memory: look at its transport settings (OMPI_MCA_btl, UCX_TLS) and at the "
              "size and permission of /dev/shm";
    judgement.findings.push_back(std::move(finding));
  }
}

/// Bandwidth readings of one size, as links; those that had no clean samples are left out.
std::map<std::string, std::vector<RankLink>> links_by_size(const CaseView& view) {
  static const std::map<std::string_view, LinkClass> classes{{"cache", LinkClass::cache},
                                                             {"numa", LinkClass::numa},
                                                             {"node", LinkClass::node},
                                                             {"network", LinkClass::network}};
  std::map<std::string, std::vector<RankLink>> links;
  std::map<std::tuple<int, int, std::string>, int> meetings;
  for (std::size_t rank = 0; rank < view.observed.size(); ++rank) {
    const Observation* seen = view.observed[rank];
    if (seen == nullptr || seen->state != ObservationState::measured) continue;
    for (const Reading& reading : seen->readings) {
      const std::string* size = label(reading, "size");
      const std::string* link = label(reading, "link");
      if (reading.metric != "bandwidth" || size == nullptr || link == nullptr || reading.summary.n == 0) continue;
      const auto known = classes.find(*link);
      if (known == classes.end() || reading.peer < 0 || static_cast<std::size_t>(reading.peer) >= view.ranks.size())
        continue;
      const int from = static_cast<int>(rank);
      // Which meeting of the two it was stands for the round: rounds of a matching are independent draws.
      const int meeting = meetings[{from, reading.peer, *size}]++;
      links[*size].push_back({from, reading.peer, meeting, reading.summary.median, known->second,
                              label(reading, "alone") != nullptr, spread_of(reading.summary)});
    }
  }
  return links;
}

/// Rounds as the schedule has them, so that what is slow only at times is seen as such.
void number_rounds(std::vector<RankLink>& links, const Schedule& schedule) {
  if (!schedule.is_random()) return;
  std::map<std::pair<int, int>, std::vector<int>> rounds;
  for (int round = 0; round < schedule.rounds(); ++round) {
    const auto partners = schedule.round(round);
    for (std::size_t rank = 0; rank < partners.size(); ++rank)
      if (partners[rank] >= 0) rounds[{static_cast<int>(rank), partners[rank]}].push_back(round);
  }
  for (RankLink& link : links) {
    const auto& of_pair = rounds[{link.from, link.to}];
    if (!link.is_alone && link.round < static_cast<int>(of_pair.size()))
      link.round = of_pair[static_cast<std::size_t>(link.round)];
  }
}

/// What is slow, from the largest size that has readings: smaller ones cost more than the link does.
void find_slow(const CaseView& view, ProbeJudgement& judgement) {
  auto by_size = links_by_size(view);
  const Schedule schedule = schedule_of(view.params, static_cast<int>(view.ranks.size()));
  std::vector<int> node_of;
  for (const RankPlace& place : view.ranks) node_of.push_back(place.node_index);
  auto sizes = view.params.byte_list("sizes");
  std::sort(sizes.begin(), sizes.end());
  const std::string size = sizes.empty() ? std::string() : muster::to_string(ParamScalar(sizes.back()));
  auto& links = by_size[size];
  number_rounds(links, schedule);
  std::size_t compared = 0;
  for (const Decoded& decoded : decode_links(links, node_of, decode_settings(view.params))) {
    for (const SuspectPart& part : decoded.culprits.parts) {
      // One cell that nobody looked at again may be chance.
      if (part.kind == PartKind::link && !part.is_repeated) continue;
      judgement.findings.push_back(name_part(view, part, decoded, size));
    }
    for (const ClassLevel& level : decoded.culprits.levels)
      if (level.readings >= 5) compared += static_cast<std::size_t>(level.readings);
  }
  if (compared > 0) judgement.evidence.push_back(fmt::format("{} links of {} compared, none slow", compared, size));
}

struct Coverage {
  int active = 0;
  int readings = 0;
  int disturbed = 0;
};

Coverage coverage_of(const CaseView& view) {
  Coverage coverage;
  for (const Observation* seen : view.observed) {
    if (seen == nullptr || seen->state != ObservationState::measured) continue;
    const std::string* checked = seen->fact("checked");
    const int readings = checked == nullptr ? 0 : std::atoi(checked->c_str());
    if (readings > 0) ++coverage.active;
    coverage.readings += readings;
    for (const Fact& fact : seen->facts) coverage.disturbed += fact.key == "disturbed";
  }
  return coverage;
}

/// Ranks that had a partner in any round.
int partnered(const Schedule& schedule) {
  if (!schedule.is_random()) return schedule.ranks();
  std::set<int> ranks;
  for (int round = 0; round < schedule.rounds(); ++round) {
    const auto partners = schedule.round(round);
    for (std::size_t rank = 0; rank < partners.size(); ++rank)
      if (partners[rank] >= 0) ranks.insert(static_cast<int>(rank));
  }
  return static_cast<int>(ranks.size());
}

/// Every rank that had a partner must have looked at what came.
void demand_coverage(const CaseView& view, const Coverage& coverage, ProbeJudgement& judgement) {
  const int due = partnered(schedule_of(view.params, static_cast<int>(view.ranks.size())));
  if (coverage.active >= due) return;
  Finding finding;
  finding.verdict = Verdict::unmeasured;
  finding.reason = fmt::format("only {} of {} ranks looked at what they received", coverage.active, due);
  finding.remedy = "report this: the observation is incomplete";
  judgement.findings.push_back(std::move(finding));
}

}  // namespace

Schedule schedule_of(const Params& params, int ranks) {
  const Pairs pairs = params.text("pairs") == "ring" ? Pairs::ring : Pairs::all;
  return {ranks, pairs, budget_of(params, ranks).rounds, static_cast<std::uint64_t>(params.integer("seed"))};
}

int readings_per_pair(const Params& params) {
  return static_cast<int>(params.byte_list("latency_sizes").size() + 3 * params.byte_list("sizes").size());
}

Budget budget_of(const Params& params, int ranks) {
  const Pairs pairs = params.text("pairs") == "ring" ? Pairs::ring : Pairs::all;
  return plan_budget(ranks, pairs, static_cast<int>(params.integer("rounds")), readings_per_pair(params),
                     params.duration("budget").value, params.duration("cap").value);
}

DecodeSettings decode_settings(const Params& params) {
  DecodeSettings settings;
  settings.least_slowdown = params.real("least_slowdown");
  settings.noise_floor = params.real("noise");
  return settings;
}

double spread_of(const Summary& summary) {
  return summary.n > 0 && summary.median > 0 ? 1.4826 * summary.mad / summary.median : 0;
}

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement;
  if (view.ranks.size() == 1) {
    judgement.findings.push_back({Verdict::skip,
                                  "one rank has nobody to exchange messages with",
                                  {},
                                  "ask for two ranks or more: --ranks-per-node 2, or more --nodes"});
    return judgement;
  }
  for (std::size_t rank = 0; rank < view.observed.size(); ++rank) {
    const Observation* seen = view.observed[rank];
    if (seen == nullptr || seen->state != ObservationState::measured) continue;
    for (const Fact& fact : seen->facts)
      if (fact.key == "corrupt")
        if (auto finding = wrong_data(view, static_cast<int>(rank), fact.value))
          judgement.findings.push_back(std::move(*finding));
  }
  const Coverage coverage = coverage_of(view);
  demand_coverage(view, coverage, judgement);
  find_fallbacks(view, judgement);
  if (view.timing_doubt.empty()) find_slow(view, judgement);
  if (!judgement.findings.empty()) {
    judgement.evidence.clear();
    return judgement;
  }
  std::string sentence =
      fmt::format("{} ranks looked at every byte of {} readings: all right", coverage.active, coverage.readings);
  if (coverage.disturbed > 0)
    sentence += fmt::format("; {} had no clean timing, others used the CPUs", coverage.disturbed);
  judgement.evidence.insert(judgement.evidence.begin(), std::move(sentence));
  return judgement;
}

}  // namespace muster::p2p
