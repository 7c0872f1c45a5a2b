/// Readings sorted by pair: what the stages of decode_culprits work on. Private to src/stats.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "stats/culprits.hpp"

namespace muster::culprits {

/// With fewer units their readings hold too little about the usual: normal noise is assumed.
constexpr int enough_for_rates = 12;

struct LinkReading {
  int low = 0;  ///< the unit with the lower number
  int high = 0;
  int round = 0;
  int class_id = 0;
  bool is_upward = false;  ///< from low to high
  bool is_alone = false;
  double speed = 0;     ///< logarithm, higher is better
  double slowness = 0;  ///< y
  double z = 0;
  double pair_z = 0;  ///< by the noise of both directions together
};

/// One direction of a pair: what its readings in the rounds add up to.
struct Way {
  double z = 0;
  double pair_z = 0;
  double slowness = 0;
  int n = 0;
  bool is_explained = false;  ///< by a unit that was named
  [[nodiscard]] int left() const { return is_explained ? 0 : n; }
};

struct Pair {
  int low = 0;
  int high = 0;
  std::size_t begin = 0;  ///< of its readings
  std::size_t end = 0;
  std::array<Way, 2> ways;  ///< [0] low -> high, [1] high -> low
  [[nodiscard]] int other(int unit) const { return unit == low ? high : low; }
  /// The direction in which `unit` sends.
  [[nodiscard]] const Way& out(int unit) const { return ways[unit == low ? 0 : 1]; }
  [[nodiscard]] const Way& in(int unit) const { return ways[unit == low ? 1 : 0]; }
};

struct PairTable {
  std::vector<LinkReading> readings;
  std::vector<Pair> pairs;
  /// Pairs of unit u: pair_of[first[u]] .. pair_of[first[u + 1]].
  std::vector<std::size_t> first;
  std::vector<std::size_t> pair_of;
  int units = 0;          ///< highest number + 1
  int present_units = 0;  ///< with readings

  [[nodiscard]] std::span<const std::size_t> pairs_of(int unit) const {
    const auto u = static_cast<std::size_t>(unit);
    return std::span(pair_of).subspan(first[u], first[u + 1] - first[u]);
  }
  [[nodiscard]] std::span<const LinkReading> readings_of(const Pair& pair) const {
    return std::span(readings).subspan(pair.begin, pair.end - pair.begin);
  }
  /// Whether the pair was measured again while no other pair was.
  [[nodiscard]] bool was_measured_alone(const Pair& pair) const {
    return std::ranges::any_of(readings_of(pair), &LinkReading::is_alone);
  }
  /// False when a unit that was named explains it.
  [[nodiscard]] bool is_open(const Pair& pair, const LinkReading& reading) const {
    return !pair.ways[reading.is_upward ? 0 : 1].is_explained;
  }
};

[[nodiscard]] PairTable pair_table(std::span<const LinkSample> samples, bool is_lower_better);
/// Fills slowness and z of every reading and the sums of every way; nothing is explained afterwards.
void hold_against(PairTable& table, std::span<const ClassLevel> levels);

/// Takes out what one direction, to the higher numbers or to the lower ones, loses everywhere; returns it (a logarithm,
/// negative: the direction to the higher numbers is slower).
[[nodiscard]] double remove_direction(PairTable& table);
/// Takes out a steady change of a whole class in the course of the rounds.
void remove_trend(PairTable& table);

/// A class of pairs that no label set apart.
struct SplitClass {
  int class_id = 0;  ///< not used by any reading before
  int of = 0;        ///< the class that its readings had
};
/// Divides a class whose pairs have two clear speeds or more, if units that are fast with each other form several sets,
/// as in racks: pairs of different sets get a class of their own.
[[nodiscard]] std::vector<SplitClass> split_classes(PairTable& table);

/// Units that may be slow, at most, for the others still to be a measure: half of up to 8, then 4, then a tenth.
[[nodiscard]] int most_slow_units(int units);
/// Few readings leave the noise itself uncertain: a wider one keeps false names rare.
[[nodiscard]] double widened(double noise, double floor, std::size_t n);
/// Level and noise of each class. Where up to `slow_units` units are slow, the level is that of the others.
[[nodiscard]] std::vector<ClassLevel> find_levels(const PairTable& table, const DecodeSettings& settings,
                                                  int slow_units);
/// Noise of a direction of a pair, from the absolute differences between the two directions of each pair.
[[nodiscard]] double noise_of_directions(std::vector<double> differences);
/// The middle of the readings around `start`: walks uphill to the nearest level at which many readings lie.
[[nodiscard]] double nearest_level(const std::vector<double>& sorted, double start, double reach);
/// The same as find_levels from readings that nothing in `table` explains.
[[nodiscard]] std::vector<ClassLevel> levels_of_the_rest(const PairTable& table, const DecodeSettings& settings,
                                                         std::span<const ClassLevel> before);

/// Names units, the clearest first; marks what they explain in `table`. One may be named as sender and as receiver.
[[nodiscard]] std::vector<SuspectPart> name_units(PairTable& table, const DecodeSettings& settings);
/// Names units whose readings are all slower than half of the others, and slower than all of them, whatever the noise;
/// marks what they explain, and takes the level of the others as the expected one.
[[nodiscard]] std::vector<SuspectPart> name_by_order(PairTable& table, const DecodeSettings& settings,
                                                     std::vector<ClassLevel>& levels);
/// The slowdown (a share) of a unit, both ways, from which name_by_order names it, of the unit for which it is largest.
/// Infinite: some unit has too few readings for that.
[[nodiscard]] double seen_by_order(const PairTable& table, const DecodeSettings& settings,
                                   std::span<const ClassLevel> levels);
/// How the scores of healthy units spread; the normal one where units are too few to show it.
struct ScoreNull {
  double middle = 0;
  double spread = 1;
};
/// Of scores of both ways, of what nothing explains.
[[nodiscard]] ScoreNull null_of_scores(const PairTable& table);
/// Of its readings.
[[nodiscard]] inline int class_of(const PairTable& table, const Pair& pair) {
  return table.readings[pair.begin].class_id;
}
/// Whether a reading of the pair in that direction is one of the unit as a part of that kind.
[[nodiscard]] bool is_of(const Pair& pair, bool is_upward, int unit, PartKind kind);
/// Few of the pairs were measured, as in 12 rounds of 128 units and more: each unit met few others.
[[nodiscard]] bool is_sparsely_measured(const PairTable& table);
/// Where few pairs were measured: the pair was not, and was chosen to decide a group. It shows nothing about its units
/// or itself: pairs of a slower class without a label are slow, too.
[[nodiscard]] bool decides_group_alone(const PairTable& table, const Pair& pair);
/// Whether one of the groups explains that these two are slow with each other.
[[nodiscard]] bool is_across_any(std::span<const SuspectPart> groups, int a, int b);
/// Marks what groups and units that were found explain in `table`, and nothing else.
void explain_found(PairTable& table, const Culprits& found);
/// Four named units or more that are well among each other become a group; what a group explains is no longer theirs.
/// Where the named have hardly met, cells among them that would decide are proposed. True: a group was added.
bool name_group(PairTable& table, const DecodeSettings& settings, Culprits& found);
/// Named units that are well with the members of a group become members.
void join_groups(const PairTable& table, Culprits& found);
/// Takes units out of `parts` that are slow no more often than by chance: whose slow meetings don't exceed a binomial
/// of the rate at which meetings of the others are as slow, and that were not slow again alone with two partners.
/// Cells that would decide, were they measured alone, are added to `worth_repeating`.
void leave_out_chance(PairTable& table, const DecodeSettings& settings, Culprits& found);
/// Sorted by unit; one named as sender and as receiver is a node.
void join_roles(std::vector<SuspectPart>& parts);
/// The slowdown (a share) of a unit, both ways, with which its score most probably reaches the bound: of the unit with
/// two partners or more for which it is largest. Infinite: no unit has them.
[[nodiscard]] double seen_from(const PairTable& table, const DecodeSettings& settings,
                               std::span<const ClassLevel> levels);
/// The slowdown from which the median of a unit's readings most probably reaches `least_slowdown`.
[[nodiscard]] double least_seen(const PairTable& table, const DecodeSettings& settings,
                                std::span<const ClassLevel> levels);
/// As seen_from, were there no noise but `noise_floor`.
[[nodiscard]] double seen_from_if_quiet(const PairTable& table, const DecodeSettings& settings,
                                        std::span<const ClassLevel> levels);
/// The same by how often the readings of a unit are slow, which single readings of any size do not hide.
[[nodiscard]] double seen_by_counts(const PairTable& table, const DecodeSettings& settings, const Culprits& found);
/// Cells of the pairs that are slower in the rounds than the fastest ones, both directions of each, if many pairs are
/// slower or faster than expected, so that pairs probably share a part of the network; else none. Sets the first two
/// counts of `contention`.
[[nodiscard]] std::vector<LinkCell> contended_cells(const PairTable& table, const DecodeSettings& settings,
                                                    Contention& contention);
/// The samples with what the contended cells reach alone (median) instead of what they reached in the rounds; cells
/// that were not repeated are left out. None: too few of them were repeated. Sets the other counts of `contention`.
[[nodiscard]] std::vector<LinkSample> without_contention(std::span<const LinkSample> samples,
                                                         std::span<const LinkCell> contended,
                                                         const DecodeSettings& settings, Contention& contention);
/// Links among what is left.
void name_links(const PairTable& table, const DecodeSettings& settings, Culprits& found);

/// Of the values that were added.
struct RunningMean {
  double sum = 0;
  double largest = -std::numeric_limits<double>::infinity();
  int n = 0;
  void add(double value) {
    sum += value;
    largest = std::max(largest, value);
    ++n;
  }
  [[nodiscard]] double mean() const { return sum / n; }
  /// Of three or more: one of a few may be disturbed.
  [[nodiscard]] double without_largest() const { return n >= 3 ? (sum - largest) / (n - 1) : mean(); }
};

/// Meetings, and how many of them are slow.
struct Count {
  std::size_t slow = 0;
  std::size_t all = 0;
  void add(bool is_slow) {
    slow += is_slow;
    ++all;
  }
  [[nodiscard]] double share() const { return all > 0 ? static_cast<double>(slow) / static_cast<double>(all) : 0; }
  /// Estimated probability that one is slow; never 0, nor 1.
  [[nodiscard]] double rate() const {
    return std::min(0.99, (static_cast<double>(slow) + 0.5) / (static_cast<double>(all) + 1));
  }
};
/// ln P(at least `slow` of `all`) when each is slow with probability `rate`.
[[nodiscard]] double log_upper_tail(const Count& count, double rate);
/// The same when all that is known of the rate is `others`, of which few leave it uncertain (Beta-binomial, Jeffreys'
/// prior).
[[nodiscard]] double log_upper_tail(const Count& count, const Count& others);
/// ln of the number of ways to choose k of n.
[[nodiscard]] double log_choose(double n, double k);

/// Counts of a part from its readings, and its slowdown.
struct SeenReading {
  int round = 0;
  double slowness = 0;
};
void count_readings(SuspectPart& part, std::vector<SeenReading>& seen, double least_slowness);

/// x with P(Z <= x) = p.
[[nodiscard]] double inverse_normal(double p);
/// ln(1 / (1 - share)).
[[nodiscard]] double slowness_of(double share);
[[nodiscard]] double share_of(double slowness);

}  // namespace muster::culprits
