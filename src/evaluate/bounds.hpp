/// The bounds, each a pure function in a file of its own: reference.cpp, limit.cpp, peers.cpp, history.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evaluate/rank_map.hpp"
#include "evaluate/readings.hpp"
#include "model/plan.hpp"
#include "muster/report.hpp"

namespace muster {

/// Values inside a bound, both ends included. A missing end is open; with both missing nothing is judged.
struct Range {
  std::optional<double> least;
  std::optional<double> most;

  /// False also when an end is not a number.
  [[nodiscard]] bool judges() const;
  [[nodiscard]] bool holds(double value) const { return (!least || value >= *least) && (!most || value <= *most); }
  /// How far outside, as a share of the end that is broken; 0 inside.
  [[nodiscard]] double excess(double value) const;
  friend bool operator==(const Range&, const Range&) = default;
};

/// One kind of bound, ready to be held against the readings of one group.
struct Bound {
  BoundKind kind = BoundKind::reference;
  Range range;                ///< the same for all readings of the group, unless `ranges` is set
  std::vector<Range> ranges;  ///< one per reading (limit); one that judges nothing: no capable value
  std::string text;           ///< what it is and where it comes from, for rows and sentences
  /// Why it can't be held against any reading of the group; then nothing above means anything.
  std::string missing;
  Verdict verdict_if_missing = Verdict::unmeasured;
  bool is_optional = false;  ///< when missing, other bounds of the expectation do (peers, too few readings)
  std::string remedy_if_missing;
  std::string place;  ///< of a reference, or of a limit on a declared maximum; empty otherwise
  /// One per reading, where the whole item that it is of is judged (history): the value over all of the item's
  /// readings.
  std::vector<double> values = {};
  std::vector<std::string> texts = {};  ///< one per reading, in the place of `text`
  double seen_from = 0;   ///< any reading fails if it is worse by this share (peers: most probably); 0: unknown
  std::string note = {};  ///< what it found about all readings together, though none fails by it

  /// The bound does not apply to that reading, which is not a gap (history, of an item with too few runs).
  [[nodiscard]] bool passes_over(std::size_t sample) const {
    return kind == BoundKind::history && (!missing.empty() || !range_of(sample).judges());
  }
  [[nodiscard]] double value_of(std::size_t sample, double own) const { return values.empty() ? own : values[sample]; }
  [[nodiscard]] const std::string& text_of(std::size_t sample) const { return texts.empty() ? text : texts[sample]; }
  [[nodiscard]] const Range& range_of(std::size_t sample) const { return ranges.empty() ? range : ranges[sample]; }
};

class PastItems;

/// What a reference may be asked about beside the labels of a reading.
struct CaseFacts {
  const Case& item;
  int nodes = 0;
  int ranks = 0;
  const PastItems* past = nullptr;  ///< nullptr: nothing is known of earlier runs

  CaseFacts(const Case& of, const RankMap& places, const PastItems* earlier = nullptr)
      : item(of), nodes(places.nodes()), ranks(places.ranks()), past(earlier) {}
};

/// The case's own value for a key of `where` that is not a label: `nodes`, `ranks`, `ranks_per_node`,
/// `binding` or a parameter; nullopt when it knows no such key.
[[nodiscard]] std::optional<std::string> fact_of_case(const CaseFacts& facts, const std::string& key);

/// value + |value| * tolerance on each side that has one.
[[nodiscard]] Range reference_range(const Reference& reference);
/// Of all references that match, the one with the most keys. Two with as many keys and different figures are an
/// error that names both places; none is `unmeasured`.
[[nodiscard]] Bound reference_bound(const Expectation& asked, const ReadingGroup& group, const CaseFacts& facts);

/// Fractions of what the hardware can do.
[[nodiscard]] Range limit_range(const Limit& limit, double capable);
/// What the hardware can do is the maximum that the check declares for the metric, else the reading `<metric>.capable`
/// of the same rank and peer with the same labels.
[[nodiscard]] Bound limit_bound(const Limit& limit, const ReadingGroup& group, const Readings& readings);

/// Two kinds of like items, such as two grades of silicon: the value between them; nullopt: one kind.
/// Each kind is a fifth of the values and four or more; with fewer than 16 values it is undecided.
[[nodiscard]] std::optional<double> between_bins(std::span<const double> values);
/// max_z of so many readings: raised for more than 100.
[[nodiscard]] double peers_z(const Peers& peers, std::size_t readings);
/// Where the modified z-score stays within peers_z, on the side that is bad; and what is off by less than four times
/// the floor is inside.
[[nodiscard]] Range peers_range(const Peers& peers, Better better, std::span<const double> values);
/// The detection limit: any of the values (of more than 32: one as lucky as a standard deviation) still fails when it
/// is worse by this share. 0: their median is 0.
[[nodiscard]] double peers_seen_from(const Peers& peers, Better better, std::span<const double> values);
[[nodiscard]] Bound peers_bound(const Peers& peers, const ReadingGroup& group, const Readings& readings);

/// Where an item has not become worse than in its earlier passing runs. What has too few of them is passed over.
[[nodiscard]] Bound history_bound(const Drift& drift, const ReadingGroup& group, const Readings& readings,
                                  const CaseFacts& facts);

/// Nothing but history is asked of it: where there is no value, nothing is missed.
[[nodiscard]] bool asks_only_history(const Expectation& asked);

/// Every bound that the expectation has, held ready for one group.
[[nodiscard]] std::vector<Bound> bounds_of(const Expectation& asked, const ReadingGroup& group,
                                           const Readings& readings, const CaseFacts& facts);

/// What to do about a value outside of a bound of that kind.
[[nodiscard]] std::string_view remedy_for(BoundKind kind);

}  // namespace muster
