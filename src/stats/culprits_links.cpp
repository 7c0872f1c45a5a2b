#include <algorithm>
#include <cmath>

#include "stats/culprits_pairs.hpp"

namespace muster::culprits {

namespace {

/// What speaks for one direction of a pair, or for both.
struct Evidence {
  double z = 0;
  double slowness = 0;
  int n = 0;
  void add(double more_z, double more_slowness, int more) {
    z += more_z;
    slowness += more_slowness;
    n += more;
  }
  [[nodiscard]] double score() const { return n > 0 ? z / std::sqrt(n) : 0; }
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
    sum.add(ways[1].z, ways[1].slowness, ways[1].n);
    return sum;
  }
};

/// Readings alone replace those of the rounds, in each direction.
PairEvidence evidence_of(const PairTable& table, const Pair& pair) {
  PairEvidence evidence;
  for (std::size_t way = 0; way < 2; ++way) {
    if (pair.ways[way].is_explained) continue;
    Evidence alone;
    LinkReading worst;
    for (std::size_t i = pair.begin; i < pair.end; ++i) {
      const LinkReading& reading = table.readings[i];
      if (!reading.is_alone || reading.is_upward != (way == 0)) continue;
      if (alone.n == 0 || reading.z > worst.z) worst = reading;
      alone.add(reading.z, reading.slowness, 1);
    }
    // A link that is slow once in three is not what the rounds saw.
    if (alone.n >= 3) alone.add(-worst.z, -worst.slowness, -1);
    evidence.is_alone[way] = alone.n > 0;
    evidence.ways[way] = alone;
    if (alone.n == 0) evidence.ways[way].add(pair.ways[way].z, pair.ways[way].slowness, pair.ways[way].n);
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
  const double best = std::max({together.score(), evidence.ways[0].score(), evidence.ways[1].score()});
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
  for (std::size_t i = pair.begin; i < pair.end; ++i) {
    const LinkReading& reading = table.readings[i];
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
};

void judge_pair(const PairTable& table, const Pair& pair, const Bounds& bounds, Culprits& found,
                std::vector<Repeat>& repeats) {
  if (pair.ways[0].is_explained && pair.ways[1].is_explained) return;
  const PairEvidence evidence = evidence_of(table, pair);
  const bool is_repeated = evidence.is_alone[0] || evidence.is_alone[1];
  const Direction look = slow_directions(evidence, bounds.screen, bounds.least_slowness);
  const Direction named = slow_directions(evidence, is_repeated ? bounds.repeat : bounds.name, bounds.least_slowness);
  for (int way = 0; way < 2; ++way) {
    const LinkCell cell{way == 0 ? pair.low : pair.high, way == 0 ? pair.high : pair.low,
                        share_of(evidence.ways[way].mean())};
    if (evidence.is_alone[way] && !named.is_slow[way]) found.cleared.push_back(cell);
    if (!evidence.is_alone[way] && look.is_slow[way]) repeats.push_back({cell, look.score});
  }
  if (!named.is_any()) return;
  found.parts.push_back(link_part(table, pair, named, bounds.least_slowness));
  // A direction that was not measured alone is not proven by the other.
  const int slow_way = named.is_slow[0] ? 0 : 1;
  found.parts.back().is_repeated = evidence.is_alone[slow_way] && (!named.is_slow[1] || evidence.is_alone[1]);
}

}  // namespace

void name_links(const PairTable& table, const DecodeSettings& settings, Culprits& found) {
  int open = 0;
  int repeated = 0;
  for (const Pair& pair : table.pairs) {
    if (!pair.ways[0].is_explained || !pair.ways[1].is_explained) ++open;
    const auto begin = table.readings.begin();
    const auto is_alone = [](const LinkReading& one) { return one.is_alone; };
    if (std::any_of(begin + static_cast<std::ptrdiff_t>(pair.begin), begin + static_cast<std::ptrdiff_t>(pair.end),
                    is_alone)) {
      ++repeated;
    }
  }
  if (open == 0) return;
  Bounds bounds;
  // In few pairs the bound for another look would be none at all: at most one in twenty looks bad by chance.
  bounds.screen = inverse_normal(1 - std::min(settings.false_repeats / (3.0 * open), 0.05 / 3));
  bounds.name = inverse_normal(1 - settings.false_rate / (3.0 * open));
  bounds.repeat = inverse_normal(1 - settings.false_rate / (3.0 * std::max(repeated, 1)));
  bounds.least_slowness = slowness_of(settings.least_slowdown);
  std::vector<Repeat> repeats;
  for (const Pair& pair : table.pairs) judge_pair(table, pair, bounds, found, repeats);
  std::stable_sort(repeats.begin(), repeats.end(), [](const Repeat& a, const Repeat& b) { return a.score > b.score; });
  for (const Repeat& one : repeats) {
    if (static_cast<int>(found.worth_repeating.size()) >= settings.most_repeats) break;
    const auto is_same = [&](const LinkCell& cell) { return cell.from == one.cell.from && cell.to == one.cell.to; };
    if (std::none_of(found.worth_repeating.begin(), found.worth_repeating.end(), is_same))
      found.worth_repeating.push_back(one.cell);
  }
}

}  // namespace muster::culprits
