/// All readings of a case, sorted once: by metric and labels, then node, rank and peer. Metric names and labels are
/// compared here and nowhere else; everything after works on indices.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/attendance.hpp"
#include "evaluate/rank_map.hpp"
#include "model/plan.hpp"

namespace muster {

/// One reading of one rank.
struct Sample {
  const Reading* reading = nullptr;
  int rank = 0;
  int node = 0;                     ///< as RankMap numbers them
  double value = 0;                 ///< the median in the unit of its group; NaN when the reading has no value
  bool is_judged = false;           ///< an expectation asks for it
  bool is_held = false;             ///< at least one bound could be held against it
  Verdict verdict = Verdict::pass;  ///< of all bounds so far; means nothing unless judged
};

/// The readings of one metric with equal labels.
struct ReadingGroup {
  const Reading* key = nullptr;  ///< its first reading: the metric and labels as they came
  std::string metric;            ///< the same, fit to print
  Labels where;
  MetricFacts facts;
  bool has_limit = false;              ///< the hardware's maximum may be known
  bool is_declared = false;            ///< by the check: a number of a program that muster does not know
  std::optional<double> maximum = {};  ///< declared with it: what the hardware can do
  std::size_t first = 0;               ///< of its samples
  std::size_t count = 0;
};

class LikeItems;

class Readings {
 public:
  /// `like`: the same on other nodes, where these are of one alone; must outlive this.
  Readings(const Case& item, const ProbeSpec& probe, const Attendance& attendance, const RankMap& places,
           const LikeItems* like = nullptr);

  /// In the order in which they appear, the lowest rank first.
  [[nodiscard]] const std::vector<ReadingGroup>& groups() const { return groups_; }
  [[nodiscard]] std::span<Sample> of(const ReadingGroup& group) { return {samples_.data() + group.first, group.count}; }
  [[nodiscard]] std::span<const Sample> of(const ReadingGroup& group) const {
    return {samples_.data() + group.first, group.count};
  }
  /// The values that its readings are peers of: its own, or those of all nodes.
  [[nodiscard]] std::vector<double> peers_of(const ReadingGroup& group) const;
  /// The group of that metric with the labels of `like`, or nullptr.
  [[nodiscard]] const ReadingGroup* find(std::string_view metric, const Labels& like) const;

 private:
  std::vector<Sample> samples_;
  std::vector<ReadingGroup> groups_;
  const LikeItems* like_;
};

/// What turns the reading's values into `unit`; none when its own unit is of another kind.
[[nodiscard]] std::optional<double> factor_to(const Reading& reading, const std::string& unit);
[[nodiscard]] Summary scaled(Summary summary, double factor);

/// The order of samples within a group: by node, rank, peer.
[[nodiscard]] bool stands_before(const Sample& a, const Sample& b);

/// The finite values of samples.
[[nodiscard]] std::vector<double> values_of(std::span<const Sample> samples);

/// The same text, or the same number of bytes (`16MiB`, `16777216B`), or the same time (`60s`, `1m`).
[[nodiscard]] bool is_same_value(std::string_view a, std::string_view b);
/// Every label of `where` is among `labels` with the same value.
[[nodiscard]] bool is_matched_by(const Labels& where, const Labels& labels);
/// ` where size=16MiB, type=float`, made printable; empty without labels.
[[nodiscard]] std::string where_clause(const Labels& where);

}  // namespace muster
