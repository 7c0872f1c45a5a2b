/// Who is slow, decoded from readings between pairs of units (nodes or ranks). Pure: no clock, no files.
/// Method, formulas and limits of the evidence: docs/methods/culprits.md.
///
///   y = ln(expected of the class / value)      how much slower than its class, as a logarithm (latency: inverted)
///   z = (1 - exp(-y)) / noise of the class, between -6 and 6; the share, because its tail is the thinner one
///   score of a unit in a role (sends, receives, both) = sum of z / sqrt(n), without the partner it looks worst with
///   a unit is named above   inverse_normal(1 - false_rate / (3 units))
///                          or when two of its partners are each named by the bound of a link,
///                          or when all of its readings are slower than all others, and than half of them
///   a link looks bad above  inverse_normal(1 - false_repeats / (3 pairs)), and is named above
///                           inverse_normal(1 - false_rate / (3 pairs)) or when slow again alone
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace muster {

/// One reading. `from` and `to` count units from 0. Readings that can't be a speed (not finite, not above 0, a unit
/// with itself) are left out.
struct LinkSample {
  int from = 0;
  int to = 0;
  int round = 0;
  double value = 0;
  int class_id = 0;       ///< like is compared with like
  bool is_alone = false;  ///< measured again while no other pair was: decides on this link, and on nothing else
  friend bool operator==(const LinkSample&, const LinkSample&) = default;
};

/// The expected rate of a class, if known; only used where two or three units can't be each other's measure.
struct ClassReference {
  int class_id = 0;
  double value = 0;
};

struct DecodeSettings {
  bool is_lower_better = false;
  double least_slowdown = 0.05;  ///< a part slower by less than this share is never named
  double noise_floor = 0.03;     ///< the noise of a class (a standard deviation of logarithms) is at least this
  double seen_noise = 0;         ///< and at least this: what the caller knows of these very readings
  double false_rate = 0.05;      ///< false names per decoded matrix, at most, when noise is normal
  double false_repeats = 1;      ///< healthy links that one matrix may send to be measured again, expected
  int most_repeats = 32;         ///< cells in `worth_repeating`, at most, where no group is to be decided
  double least_share = 0.15;     ///< a unit slow with fewer of its partners is not a culprit; its links may be
  std::vector<ClassReference> references;
};

enum class PartKind : std::uint8_t {
  node,      ///< slow in both directions with its partners
  sender,    ///< slow when it sends
  receiver,  ///< slow when it receives
  link,      ///< one pair is slow, both of its ends are well with others
  either,    ///< one of `ends`, or the connection between them: undecided by the evidence
  group,     ///< `ends` are slow with all others, or with `far_ends`, and well among each other: the path they share
};

struct SuspectPart {
  PartKind kind = PartKind::node;
  /// One unit; two for a link (from, to); for `either` those that no other reading clears.
  std::vector<int> ends;
  std::vector<int> far_ends;  ///< of a group that is slow with these only
  /// Of a link or `either`: what was slow; both ways or from -> to alone.
  int from = -1;
  int to = -1;
  bool is_both_ways = false;
  double slowdown = 0;       ///< share: 0.2 = its slow readings reach 80 % of what their class does (median)
  int slow = 0;              ///< of its readings
  int readings = 0;          ///< that it took part in and that nothing named before explains
  int slow_rounds = 0;       ///< rounds in which most of its readings were slow
  int rounds = 0;            ///< rounds with a reading of it
  bool is_repeated = false;  ///< a link: slow again alone
  double score = 0;          ///< standard deviations
  [[nodiscard]] bool is_intermittent() const { return 4 * slow_rounds < 3 * rounds; }
  friend bool operator==(const SuspectPart&, const SuspectPart&) = default;
};

/// An ordered pair of units.
struct LinkCell {
  int from = 0;
  int to = 0;
  double slowdown = 0;
  friend bool operator==(const LinkCell&, const LinkCell&) = default;
};

/// What the readings of a class were held against.
struct ClassLevel {
  int class_id = 0;
  double expected = 0;
  double noise = 0;  ///< standard deviation of ln(value)
  /// The same of the mean of both directions of a pair, times sqrt 2: smaller where one direction of each pair is
  /// slower.
  double pair_noise = 0;
  int readings = 0;
};

/// Many pairs are slow in the rounds: they may share a part of the network. All 0 where few are.
struct Contention {
  std::size_t slow = 0;      ///< pairs
  std::size_t pairs = 0;     ///< that were measured
  std::size_t repeated = 0;  ///< cells of slow pairs that were measured again alone
  std::size_t cleared = 0;   ///< of them: clearly faster alone
  friend bool operator==(const Contention&, const Contention&) = default;
};

struct Culprits {
  std::vector<SuspectPart> groups;  ///< what several units share
  std::vector<SuspectPart> parts;   ///< units first, then links, by number
  /// Not measured alone yet: suspects, cells that decide a group, links that look bad, the worst first; then pairs that
  /// may share a part of the network.
  std::vector<LinkCell> worth_repeating;
  std::vector<LinkCell> cleared;  ///< measured again alone and well
  std::vector<ClassLevel> levels;
  /// The detection limit: a unit slower by less than this share may have been missed; infinite: none was compared with
  /// two others or more. Above `least_slowdown`, by what noise may hide.
  double seen_from = std::numeric_limits<double>::infinity();
  double seen_from_if_quiet = std::numeric_limits<double>::infinity();  ///< the same with a noise of `noise_floor`
  /// Share by which sending to a higher number is slower than to a lower one, everywhere; negative: faster. 0: neither.
  double direction_loss = 0;
  Contention contention;
};

[[nodiscard]] Culprits decode_culprits(std::span<const LinkSample> samples, const DecodeSettings& settings = {});

/// Whether "no unit is slow by `seen_from` or more" is worth a pass: the limit is at most three times `least_slowdown`
/// and 30 %, but for a `least_slowdown` near that, or one and a half times that of so few readings without noise.
[[nodiscard]] bool is_limit_useful(const Culprits& found, double least_slowdown);

}  // namespace muster
