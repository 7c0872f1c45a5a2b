/// What one rank saw in one case. Probes fill these; nothing here judges.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

/// Labels of a reading, sorted by key: {"size","16MiB"}, {"type","float"}.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// Its value; nullptr: there is none.
[[nodiscard]] const std::string* find_label(const Labels& labels, std::string_view key);
/// Empty where there is none.
[[nodiscard]] std::string label_of(const Labels& labels, std::string_view key);

/// The samples of one reading, summarised. All in the unit of the metric.
struct Summary {
  std::int64_t n = 0;  ///< samples kept; 0 means there is no value at all
  double min = 0;
  double median = 0;
  double p95 = 0;
  double max = 0;
  double mad = 0;  ///< median absolute deviation from the median, unscaled
  friend bool operator==(const Summary&, const Summary&) = default;
};

/// One metric as seen by one rank, optionally towards one peer rank.
struct Reading {
  std::string metric;  ///< name of a MetricSpec of the probe (or one that the check declares)
  Labels where;
  Summary summary;
  int peer = -1;          ///< the other rank of a link; -1: none
  std::string unit = {};  ///< only where a program names its own (probe `command`); empty: the metric's
  friend bool operator==(const Reading&, const Reading&) = default;
};

/// A text fact, such as {"mask", "0-3"}; not a number that is judged by bounds.
struct Fact {
  std::string key;
  std::string value;
  friend bool operator==(const Fact&, const Fact&) = default;
};

enum class ObservationState : std::uint8_t {
  measured,      ///< `run` returned
  not_prepared,  ///< this rank's `prepare` failed: `error` is the reason
  not_run,       ///< another rank's `prepare` failed, so this one did not run
  failed,        ///< this rank's `run` returned an error
  unable,        ///< the agent could not ask: it lacks the probe, or does not understand the parameters
};

struct Observation {
  int rank = -1;
  ObservationState state = ObservationState::measured;
  std::string error;  ///< where and what; empty when measured
  std::vector<Reading> readings;
  std::vector<Fact> facts;
  std::string output;  ///< what a program printed, its tail; untrusted text
  double seconds = 0;  ///< from the start of `prepare` to the end of `run` on this rank

  /// The first fact of that key, or nullptr.
  [[nodiscard]] const std::string* fact(std::string_view key) const;
  friend bool operator==(const Observation&, const Observation&) = default;
};

}  // namespace muster
