#include "run/failure_text.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "model/gpu_vendor.hpp"

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

std::string bare_name(const SeenRank& rank) {
  if (rank.record().rank < 0) return fmt::format("process {}", rank.record().pid);
  return fmt::format("rank {}", rank.record().rank);
}

namespace {

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
  const std::string step = record.step + iteration_words(record) + peer_words(record);
  if (!record.call.empty()) return "in " + record.call + (record.step.empty() ? "" : ", step " + step);
  if (!record.step.empty()) return "in " + step;
  constexpr std::string_view places[] = {"in MPI_Init",
                                         "waiting for its work",
                                         "between two cases",
                                         "in prepare",
                                         "waiting until all ranks have prepared",
                                         "in run",
                                         "handing over its observations",
                                         "in MPI_Finalize",
                                         "at its end"};
  return std::string(enum_name(places, record.phase));
}

std::string device_words(const SeenRanks& ranks) {
  constexpr std::size_t most = 4;  // every name is long
  std::vector<std::string> devices;
  for (const SeenRank& rank : ranks)
    if (!rank.record().call.empty() && !rank.record().device.empty()) devices.push_back(rank.record().device);
  if (devices.empty() || devices.size() != ranks.size() || ranks.size() > most) return "";
  return " (" + human_list(devices) + ")";
}

namespace {

constexpr std::string_view library_remedy =
    "{0} of a vendor's library did not return: check the kernel log of {1} (dmesg) and the library's own log, and "
    "install libraries of one release";

/// Of a library of collective operations, which several vendors have with the same functions.
bool is_collective(std::string_view call) {
  return call.starts_with("nccl");
}

std::string collective_remedy(const std::string& call, const std::string& nodes) {
  return fmt::format(
      "{} did not return: run it with NCCL_DEBUG=INFO, whose last lines show what it waits for, look for {} in the "
      "kernel log of {} (dmesg), and see whether {} answers there",
      call, of_all_vendors(&GpuVendor::error_mark, " or "), nodes,
      first_of_all_vendors(&GpuVendor::query_programs, " or "));
}

}  // namespace

std::string call_remedy(const SeenRanks& ranks) {
  const std::string& call = ranks.front().record().call;
  const bool is_one = std::all_of(ranks.begin(), ranks.end(),
                                  [&](const SeenRank& one) { return !call.empty() && one.record().call == call; });
  if (!is_one) return {};
  if (is_collective(call)) return collective_remedy(call, nodes_of(ranks));
  const GpuVendor* vendor = vendor_by_prefix(&GpuVendor::driver_calls, call);
  const bool has_remedy = vendor != nullptr && !vendor->hung_call.empty();
  return fmt::format(fmt::runtime(has_remedy ? vendor->hung_call : library_remedy), call, nodes_of(ranks));
}

std::string output_words(const LaunchFailure& failure) {
  return failure.output.empty() ? "the output of the rank" : failure.output;
}

std::string complaint_words(const LaunchFailure& failure) {
  return failure.complaint.empty() ? "" : fmt::format("; standard error: \"{}\"", failure.complaint);
}

namespace {

/// Words of the C library, of C++, of the loader and of MPIs.
struct KnownComplaint {
  std::string_view words;
  const char* remedy;  ///< {}: the node
};

constexpr KnownComplaint known_complaints[] = {
    {"No space left on device", "free space on {}: df, also of /dev/shm and of the folder for temporary files"},
    {"Disk quota exceeded", "free space below the quota of the user on {}"},
    {"Read-only file system",
     "see on {} why the file system is mounted read-only: its errors are in the kernel log (dmesg)"},
    {"Too many open files", "raise the limit on open files on {}: ulimit -n"},
    {"cannot open shared object file",
     "install the library that the message names on {}, or correct LD_LIBRARY_PATH there"},
    {"undefined symbol", "load the same modules on {} as where the program was built: a library is another version"},
    {"version `", "load the same modules on {} as where the program was built: a library is another version"},
    {"from shared object: Operation not permitted", "see whether the mount of that library on {} has noexec"},
    {"failed to map segment", "raise the limits on memory on {}: ulimit -d unlimited -v unlimited"},
    {"annot allocate memory", "free memory on {}, or raise the memory limit of the job"},
    {"bad_alloc", "free memory on {}, or raise the memory limit of the job"},
    {"ut of memory", "free memory on {}, or raise the memory limit of the job"},
    {"Resource temporarily unavailable",
     "raise the limit on processes and threads on {}: ulimit -u, and pids.max of the job"},
    {"Stale file handle", "mount the file system again on {}: its server no longer knows the file"},
    {"Input/output error", "check the file system and the disks of {}: kernel log (dmesg)"},
    {"No route to host", "check the network of {} to the address in the message"},
    {"Network is unreachable", "check the network of {} to the address in the message"},
};

}  // namespace

std::string complaint_remedy(const LaunchFailure& failure, const std::string& node) {
  for (const KnownComplaint& known : known_complaints)
    if (failure.complaint.find(known.words) != failure.complaint.npos)
      return fmt::format(fmt::runtime(known.remedy), node.empty() ? "its node" : node);
  return {};
}

std::string crash_remedy(const LaunchFailure& failure, const FlightRecord& record, const std::string& node) {
  const GpuVendor* vendor = vendor_by_prefix(&GpuVendor::driver_calls, record.call);
  if (vendor == nullptr) vendor = vendor_by_prefix(&GpuVendor::library_calls, record.call);
  return fmt::format(
      "see the kernel log of {} (dmesg: {}), whether the library and the kernel's driver are of one release "
      "(device_visibility), and {} or a core file",
      node, vendor == nullptr ? of_all_vendors(&GpuVendor::log_marks) : std::string(log_marks_of(*vendor)),
      output_words(failure));
}

std::string common_place(const SeenRanks& ranks) {
  const std::string first = place_words(ranks.front().record());
  const auto is_same = [&](const SeenRank& rank) { return place_words(rank.record()) == first; };
  return std::all_of(ranks.begin(), ranks.end(), is_same) ? " " + first : "";
}

std::string death_place(const LaunchFailure& failure, const FlightRecord* record) {
  const std::string in_case = failure.case_id.empty() ? "in a case" : "in " + failure.case_id;
  if (record == nullptr) {
    if (failure.stage == "case") return in_case;
    return failure.stage == "gap" ? "between two cases"
                                  : "during " + (failure.stage.empty() ? "the launch" : failure.stage);
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
  if (!record->call.empty()) place += ", inside of " + record->call;
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
    if (!is_in(rank.node, nodes)) nodes.push_back(rank.node);
  return human_list(nodes);
}

}  // namespace muster
