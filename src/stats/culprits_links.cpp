#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "stats/culprits_pairs.hpp"

namespace muster::culprits {

namespace {

/// More links than these, and than this share of the pairs, that stay slow alone are pairs of a slower class.
constexpr double most_slow_links = 3;
constexpr double most_share_of_links = 0.03;
constexpr std::size_t enough_alone = 8;  ///< pairs that show whether those that are slow stay so

/// What speaks for one direction of a pair, or for both.
struct Evidence {
  double z = 0;
  double pair_z = 0;  ///< by the noise of both directions together
  double slowness = 0;
  int n = 0;
  void add(const Evidence& more, int sign = 1) {
    z += sign * more.z;
    pair_z += sign * more.pair_z;
    slowness += sign * more.slowness;
    n += sign * more.n;
  }
  [[nodiscard]] double score() const { return n > 0 ? z / std::sqrt(n) : 0; }
  [[nodiscard]] double pair_score() const { return n > 0 ? pair_z / std::sqrt(n) : 0; }
  [[nodiscard]] double mean() const { return n > 0 ? slowness / n : 0; }
};

struct Bounds {
  double screen = 0;  ///< worth another look
  double name = 0;    ///< from readings of the rounds
  double repeat = 0;  ///< from readings alone
  double least_slowness = 0;
};

struct PairEvidence {
  Evidence ways[2];
  bool is_alone[2] = {false, false};
  [[nodiscard]] Evidence together() const {
    Evidence sum = ways[0];
    sum.add(ways[1]);
    return sum;
  }
};

/// Readings alone replace those of the rounds: where one direction was measured alone, the rounds prove nothing about
/// the other.
PairEvidence evidence_of(const PairTable& table, const Pair& pair) {
  PairEvidence evidence;
  for (std::size_t way = 0; way < 2; ++way) {
    if (pair.ways[way].is_explained) continue;
    Evidence alone;
    Evidence worst;
    for (const LinkReading& reading : table.readings_of(pair)) {
      if (!reading.is_alone || reading.is_upward != (way == 0)) continue;
      const Evidence one{reading.z, reading.pair_z, reading.slowness, 1};
      if (alone.n == 0 || one.z > worst.z) worst = one;
      alone.add(one);
    }
    // A link that is slow once in three is not what the rounds saw.
    if (alone.n >= 3) alone.add(worst, -1);
    evidence.is_alone[way] = alone.n > 0;
    evidence.ways[way] = alone;
  }
  if (evidence.is_alone[0] || evidence.is_alone[1]) return evidence;
  for (std::size_t way = 0; way < 2; ++way) {
    const Way& of = pair.ways[way];
    if (!of.is_explained) evidence.ways[way] = {of.z, of.pair_z, of.slowness, of.n};
  }
  return evidence;
}

/// Which directions the evidence is about: [0], [1], or both.
struct Direction {
  bool is_slow[2] = {false, false};
  double score = 0;
  [[nodiscard]] bool is_any() const { return is_slow[0] || is_slow[1]; }
};

Direction slow_directions(const PairEvidence& evidence, double least_score, double least_slowness) {
  Direction direction;
  const Evidence together = evidence.together();
  const double most = std::max(evidence.ways[0].mean(), evidence.ways[1].mean());
  const double best = std::max({together.pair_score(), evidence.ways[0].score(), evidence.ways[1].score()});
  if (best < least_score || most < least_slowness) return direction;
  direction.score = best;
  // Half as slow as the slower direction is slow, too.
  for (int way = 0; way < 2; ++way) direction.is_slow[way] = evidence.ways[way].mean() > most / 2;
  return direction;
}

/// Does another reading show that the unit is well in that role? Only what no named unit explains can.
bool is_cleared(const PairTable& table, int unit, int partner, bool as_sender, bool as_receiver) {
  for (const std::size_t i : table.pairs_of(unit)) {
    const Pair& pair = table.pairs[i];
    if (pair.other(unit) == partner) continue;
    if (as_sender && pair.out(unit).left() > 0) return true;
    if (as_receiver && pair.in(unit).left() > 0) return true;
  }
  return false;
}

SuspectPart link_part(const PairTable& table, const Pair& pair, const Direction& direction, double least_slowness) {
  SuspectPart part;
  part.is_both_ways = direction.is_slow[0] && direction.is_slow[1];
  part.from = direction.is_slow[0] ? pair.low : pair.high;
  part.to = pair.other(part.from);
  part.score = direction.score;
  std::vector<SeenReading> seen;
  for (const LinkReading& reading : table.readings_of(pair)) {
    if (table.is_open(pair, reading) && direction.is_slow[reading.is_upward ? 0 : 1]) {
      seen.push_back({reading.round, reading.slowness});
    }
  }
  count_readings(part, seen, least_slowness);
  const bool is_two_way = part.is_both_ways;
  const bool from_is_well = is_cleared(table, part.from, part.to, true, is_two_way);
  const bool to_is_well = is_cleared(table, part.to, part.from, is_two_way, true);
  part.kind = from_is_well && to_is_well ? PartKind::link : PartKind::either;
  if (!from_is_well || part.kind == PartKind::link) part.ends.push_back(part.from);
  if (!to_is_well || part.kind == PartKind::link) part.ends.push_back(part.to);
  return part;
}

struct Repeat {
  LinkCell cell;
  double score = 0;
  bool is_slower_way = true;  ///< of a pair of which both directions look bad
};

/// Slowness of the open pairs of each class: where many are slow, and stay slow alone, they are a class of their own,
/// and no link.
class SlowPairs {
 public:
  explicit SlowPairs(const PairTable& table) {
    for (const Pair& pair : table.pairs) {
      if (pair.ways[0].is_explained && pair.ways[1].is_explained) continue;
      ClassPairs& of = classes_[class_of(table, pair)];
      const PairEvidence alone = evidence_of(table, pair);
      if (alone.is_alone[0] || alone.is_alone[1]) {
        of.alone.push_back(slowest(alone));
        for (const int unit : {pair.low, pair.high}) alone_of_unit_[unit].push_back(slowest(alone));
      }
      double together = -std::numeric_limits<double>::infinity();
      LinkCell cell;
      for (const Way& way : pair.ways) {
        if (way.left() == 0 || way.slowness / way.n <= together) continue;
        together = way.slowness / way.n;
        const bool is_upward = &way == &pair.ways[0];
        cell = {is_upward ? pair.low : pair.high, is_upward ? pair.high : pair.low, share_of(together)};
      }
      of.together.push_back(together);
      if (const double per = per_deviation_of(pair); per > 0) of.per_deviation.push_back(per);
      if (cell.from != cell.to) of.cells.push_back(cell);
    }
    for (auto& [class_id, of] : classes_) {
      std::sort(of.alone.begin(), of.alone.end());
      std::sort(of.together.begin(), of.together.end());
      of.thin_out();
      std::stable_sort(of.cells.begin(), of.cells.end(),
                       [](const LinkCell& a, const LinkCell& b) { return a.slowdown > b.slowdown; });
    }
  }

  /// Of the open pairs of that class, this one not among them: the share that is half as slow, and stays so alone.
  [[nodiscard]] bool are_many(const PairTable& table, const Pair& pair, const PairEvidence& evidence) const {
    const ClassPairs& of = classes_.at(class_of(table, pair));
    const double bound = slowest(evidence) / 2;
    Count alone = above(of.alone, bound);
    Count together = above(of.together, bound);
    if (alone.slow > 0) --alone.slow, --alone.all;
    if (together.slow > 0) --together.slow, --together.all;
    double slow = static_cast<double>(together.slow) * alone.rate();
    // Too few were measured alone to show how many stay slow: those that noise makes slow do not.
    if (alone.all < enough_alone && is_only_one(pair, bound))
      slow = std::min(slow, static_cast<double>(together.slow) - of.by_noise(bound));
    return slow > std::max(most_slow_links, most_share_of_links * static_cast<double>(together.all));
  }
  [[nodiscard]] std::span<const LinkCell> slowest_of(int class_id) const {
    const auto& cells = classes_.at(class_id).cells;
    return std::span(cells).first(std::min(cells.size(), enough_alone));
  }

 private:
  struct ClassPairs {
    std::vector<double> together;
    std::vector<double> alone;
    std::vector<double> per_deviation;  ///< standard deviations in a slowness of 1, of a direction of each pair
    double pairs_of_each = 1;           ///< of these
    std::vector<LinkCell> cells;        ///< the slower direction of each pair, the slowest pair first

    /// The expected number of pairs of which normal noise makes a direction slower than that.
    [[nodiscard]] double by_noise(double slowness) const {
      const double sum =
          std::accumulate(per_deviation.begin(), per_deviation.end(), 0.0, [&](double so_far, double per) {
            const double neither = 1 - std::erfc(slowness * per / std::sqrt(2.0)) / 2;
            return so_far + 1 - neither * neither;
          });
      return sum * pairs_of_each;
    }
    /// Of tens of thousands of pairs, that many quantiles.
    void thin_out() {
      constexpr std::size_t most = 1024;
      if (per_deviation.size() <= most) return;
      std::sort(per_deviation.begin(), per_deviation.end());
      std::vector<double> quantiles;
      for (std::size_t i = 0; i < most; ++i)
        quantiles.push_back(per_deviation[(2 * i + 1) * per_deviation.size() / (2 * most)]);
      pairs_of_each = static_cast<double>(per_deviation.size()) / static_cast<double>(most);
      per_deviation = std::move(quantiles);
    }
  };

  static double per_deviation_of(const Pair& pair) {
    for (const Way& way : pair.ways)
      if (way.left() > 0 && way.slowness != 0) return way.z / way.slowness * std::sqrt(way.n);
    return 0;
  }
  /// No other pair of its units was that slow alone: several are a slow unit, or a class.
  [[nodiscard]] bool is_only_one(const Pair& pair, double bound) const {
    return std::ranges::all_of(std::array{pair.low, pair.high}, [&](int unit) {
      const auto alone = alone_of_unit_.find(unit);
      return alone == alone_of_unit_.end() ||
             std::ranges::count_if(alone->second, [&](double one) { return one > bound; }) <= 1;
    });
  }

  static double slowest(const PairEvidence& evidence) {
    return std::max(evidence.ways[0].mean(), evidence.ways[1].mean());
  }
  static Count above(const std::vector<double>& sorted, double bound) {
    return {static_cast<std::size_t>(sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), bound)),
            sorted.size()};
  }

  std::map<int, ClassPairs> classes_;
  std::map<int, std::vector<double>> alone_of_unit_;  ///< slowness of its pairs that were measured alone
};

bool has_cell(const std::vector<LinkCell>& cells, const LinkCell& wanted) {
  return std::any_of(cells.begin(), cells.end(),
                     [&](const LinkCell& one) { return one.from == wanted.from && one.to == wanted.to; });
}

/// Names slow links, and collects what is still to be measured for a decision.
class LinkJudge {
 public:
  LinkJudge(const PairTable& table, const Bounds& bounds, Culprits& found)
      : table_(table), bounds_(bounds), found_(found), slow_pairs_(table) {}

  void judge(const Pair& pair);

  /// The slowest first.
  [[nodiscard]] const std::vector<Repeat>& repeats() {
    std::stable_sort(repeats_.begin(), repeats_.end(),
                     [](const Repeat& a, const Repeat& b) { return a.score > b.score; });
    return repeats_;
  }
  [[nodiscard]] std::vector<LinkCell> slowest_of_crowded() const {
    std::vector<LinkCell> cells;
    for (const int class_id : crowded_)
      for (const LinkCell& cell : slow_pairs_.slowest_of(class_id)) cells.push_back(cell);
    return cells;
  }

 private:
  const PairTable& table_;
  const Bounds& bounds_;
  Culprits& found_;
  SlowPairs slow_pairs_;
  std::vector<Repeat> repeats_;
  std::set<int> crowded_;  ///< classes of which it is to be known whether slow pairs stay slow alone
};

void LinkJudge::judge(const Pair& pair) {
  if (pair.ways[0].is_explained && pair.ways[1].is_explained) return;
  const PairEvidence evidence = evidence_of(table_, pair);
  const bool is_repeated = evidence.is_alone[0] || evidence.is_alone[1];
  const Direction look = slow_directions(evidence, bounds_.screen, bounds_.least_slowness);
  const Direction named =
      slow_directions(evidence, is_repeated ? bounds_.repeat : bounds_.name, bounds_.least_slowness);
  for (int way = 0; way < 2; ++way) {
    const double mean = evidence.ways[way].mean();
    const LinkCell cell{way == 0 ? pair.low : pair.high, way == 0 ? pair.high : pair.low, share_of(mean)};
    const double other = look.is_slow[1 - way] ? evidence.ways[1 - way].mean() : -1;
    if (evidence.is_alone[way] && !named.is_slow[way]) found_.cleared.push_back(cell);
    if (!is_repeated && look.is_slow[way])
      repeats_.push_back({cell, look.score, way == 0 ? mean >= other : mean > other});
  }
  const bool are_many = look.is_any() && slow_pairs_.are_many(table_, pair, evidence);
  if (are_many && !is_repeated) crowded_.insert(class_of(table_, pair));
  if (!named.is_any() || are_many) return;
  found_.parts.push_back(link_part(table_, pair, named, bounds_.least_slowness));
  found_.parts.back().is_repeated = is_repeated;
}

}  // namespace

void name_links(const PairTable& table, const DecodeSettings& settings, Culprits& found) {
  int open = 0;
  int repeated = 0;
  for (const Pair& pair : table.pairs) {
    if (!pair.ways[0].is_explained || !pair.ways[1].is_explained) ++open;
    if (table.was_measured_alone(pair)) ++repeated;
  }
  if (open == 0) return;
  Bounds bounds;
  // In few pairs the bound for another look would be none at all: at most one in twenty looks bad by chance.
  bounds.screen = inverse_normal(1 - std::min(settings.false_repeats / (3.0 * open), 0.05 / 3));
  bounds.name = inverse_normal(1 - settings.false_rate / (3.0 * open));
  bounds.repeat = inverse_normal(1 - settings.false_rate / (3.0 * std::max(repeated, 1)));
  bounds.least_slowness = slowness_of(settings.least_slowdown);
  LinkJudge links(table, bounds, found);
  for (const Pair& pair : table.pairs)
    if (!decides_group_alone(table, pair)) links.judge(pair);
  // Cells that show whether links share a path take none from the links themselves.
  const std::size_t others = is_sparsely_measured(table) ? found.worth_repeating.size() : 0;
  const auto repeat = [&](const LinkCell& cell) {
    const bool is_full = static_cast<int>(found.worth_repeating.size() - others) >= settings.most_repeats;
    if (!is_full && !has_cell(found.worth_repeating, cell)) found.worth_repeating.push_back(cell);
  };
  const auto& repeats = links.repeats();
  // One direction of each pair before the other one of any.
  for (const Repeat& one : repeats)
    if (one.is_slower_way) repeat(one.cell);
  for (const LinkCell& cell : links.slowest_of_crowded()) repeat(cell);
  for (const Repeat& one : repeats) repeat(one.cell);
}

}  // namespace muster::culprits
