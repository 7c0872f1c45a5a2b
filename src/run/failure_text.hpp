/// Texts for failed launches. Used by explain() alone.
#pragma once

#include <string>
#include <vector>

#include "run/autopsy.hpp"

namespace muster {

/// A rank as the autopsy saw it.
struct SeenRank {
  std::string node;
  double idle_s = 0;  ///< since its last entry
  double signal_age_s = 0;
  double call_s = 0;  ///< since it entered the vendor's call that it is inside of
  RankRemains remains;
  [[nodiscard]] const FlightRecord& record() const { return remains.record; }
  [[nodiscard]] bool is_alive() const {
    return remains.state != ProcessState::gone && remains.state != ProcessState::zombie;
  }
};
using SeenRanks = std::vector<SeenRank>;

[[nodiscard]] std::string signal_words(int signal);       ///< `signal 9 (SIGKILL)`
[[nodiscard]] std::string seconds_words(double seconds);  ///< `12 s`, `0.4 s`
/// `rank 5`; one that ended before it knew its rank is named by its number: `process 4711`.
[[nodiscard]] std::string bare_name(const SeenRank& rank);
[[nodiscard]] std::string rank_words(const SeenRank& rank);  ///< `rank 5 on nid003`
/// ` (GPU 0000:c1:00.0 (GPU-...))` of few ranks that are all inside of vendors' calls; else empty.
[[nodiscard]] std::string device_words(const SeenRanks& ranks);
/// What to do where all of them are inside of calls of one vendor's library; empty: they are not.
[[nodiscard]] std::string call_remedy(const SeenRanks& ranks);
/// What to do where a rank died inside of a vendor's call.
[[nodiscard]] std::string crash_remedy(const LaunchFailure& failure, const FlightRecord& record,
                                       const std::string& node);
/// Where the output of ranks is: a path, or `the output of the rank`.
[[nodiscard]] std::string output_words(const LaunchFailure& failure);
/// `; standard error: "..."` where a rank reported an error.
[[nodiscard]] std::string complaint_words(const LaunchFailure& failure);
/// What to do on `node` about the error that a rank reported; empty: it is not a known one.
[[nodiscard]] std::string complaint_remedy(const LaunchFailure& failure, const std::string& node);
/// `ranks 1 and 2 on nid001`, `rank 1 on nid001 and rank 5 on nid003`
[[nodiscard]] std::string names(const SeenRanks& ranks);
[[nodiscard]] const char* is_or_are(const SeenRanks& ranks);
/// `in barrier, iteration 12`, `in MPI_Init`: where a rank is that lives.
[[nodiscard]] std::string place_words(const FlightRecord& record);
/// As above when all of them are at the same place, else empty; with a space in front.
[[nodiscard]] std::string common_place(const SeenRanks& ranks);
/// `in hello%1234, step barrier, iteration 12`, `during start-up`: where a rank was that is dead; nullptr: no record.
[[nodiscard]] std::string death_place(const LaunchFailure& failure, const FlightRecord* record);
/// `; 7 ranks wait for it`; empty when no rank waits.
[[nodiscard]] std::string waiting_words(std::size_t waiting, std::size_t culprits);
[[nodiscard]] std::vector<Culprit> rank_culprits(const SeenRanks& ranks);
[[nodiscard]] std::string nodes_of(const SeenRanks& ranks);  ///< `nid001 and nid003`

}  // namespace muster
