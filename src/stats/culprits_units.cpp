#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "stats/culprits_pairs.hpp"
#include "stats/stats.hpp"

namespace muster::culprits {

namespace {

enum Role : std::size_t { sends, receives, both, roles };

/// With this many units their scores show how scores of healthy units spread, whatever the noise looks like.
constexpr int enough_for_a_null = 20;
/// A node is slow both ways; a direction below this is as well as any.
constexpr double least_other_way = 2;

struct Score {
  double value = 0;
  double slowness = 0;  ///< of all its readings together, as it is: z ends at 6, where many are alike
  bool is_defined = false;
};

struct Sum {
  double z = 0;
  double slowness = 0;
  int n = 0;
};

Sum sum_of(const Pair& pair, int unit, Role role) {
  Sum sum;
  for (const Way* way : {&pair.out(unit), &pair.in(unit)}) {
    const bool counts = role == both || (way == &pair.out(unit)) == (role == sends);
    if (!counts || way->left() == 0) continue;
    sum.z += role == both ? way->pair_z : way->z;
    sum.slowness += way->slowness;
    sum.n += way->n;
  }
  return sum;
}

/// Sum of z / sqrt(n) over all partners but the worst: one slow link, or one slow partner, makes no slow unit.
Score score(const PairTable& table, int unit, Role role) {
  Sum all;
  Sum worst;
  int partners = 0;
  for (const std::size_t i : table.pairs_of(unit)) {
    const Sum one = sum_of(table.pairs[i], unit, role);
    if (one.n == 0) continue;
    all.z += one.z;
    all.slowness += one.slowness;
    all.n += one.n;
    if (++partners == 1 || one.z > worst.z) worst = one;
  }
  if (partners < 2) return {};
  return {(all.z - worst.z) / std::sqrt(all.n - worst.n), all.slowness / all.n, true};
}

/// Partners with which a unit is slow beyond doubt, and the sum of their scores.
struct SlowPartners {
  int n = 0;
  double sum = 0;
};

SlowPartners slow_partners(const PairTable& table, int unit, Role role, double least) {
  SlowPartners partners;
  for (const std::size_t i : table.pairs_of(unit)) {
    const Sum one = sum_of(table.pairs[i], unit, role);
    const double score = one.n > 0 ? one.z / std::sqrt(one.n) : 0;
    if (score < least) continue;
    ++partners.n;
    partners.sum += score;
  }
  return partners;
}

/// The scores of all units in all roles, and how far a healthy one strays.
class Scores {
 public:
  /// `least_of_pair`: from which a pair is slow beyond doubt.
  explicit Scores(const PairTable& table, double least_of_pair = std::numeric_limits<double>::infinity())
      : least_of_pair_(least_of_pair),
        all_(static_cast<std::size_t>(table.units)),
        slow_partners_(static_cast<std::size_t>(table.units)),
        refused_(static_cast<std::size_t>(table.units)) {
    for (int unit = 0; unit < table.units; ++unit) update(table, unit);
    find_null();
  }

  void update(const PairTable& table, int unit) {
    for (const Role role : {sends, receives, both}) {
      all_[static_cast<std::size_t>(unit)][role] = score(table, unit, role);
      slow_partners_[static_cast<std::size_t>(unit)][role] = slow_partners(table, unit, role, least_of_pair_);
    }
  }

  /// After a unit was named. Of thousands of units one hardly changes how the others spread.
  void renew_null() {
    if (++named_ % (all_.size() / 1000 + 1) == 0) find_null();
  }

  [[nodiscard]] double standard(int unit, Role role) const {
    const Score& one = all_[static_cast<std::size_t>(unit)][role];
    return one.is_defined ? (one.value - null_[role].middle) / null_[role].spread : 0;
  }
  [[nodiscard]] const ScoreNull& null_of(Role role) const { return null_[role]; }
  [[nodiscard]] const Score& of(int unit, Role role) const { return all_[static_cast<std::size_t>(unit)][role]; }
  [[nodiscard]] const SlowPartners& slow_partners_of(int unit, Role role) const {
    return slow_partners_[static_cast<std::size_t>(unit)][role];
  }
  /// A unit that was examined and not slow enough in that role is not examined again.
  void refuse(int unit, Role role) { refused_[static_cast<std::size_t>(unit)][role] = true; }
  [[nodiscard]] bool is_refused(int unit, Role role) const { return refused_[static_cast<std::size_t>(unit)][role]; }
  [[nodiscard]] int units() const { return static_cast<int>(all_.size()); }

 private:
  void find_null() {
    for (const Role role : {sends, receives, both}) {
      std::vector<double> values;
      for (const auto& unit : all_) {
        if (unit[role].is_defined) values.push_back(unit[role].value);
      }
      null_[role] = {};
      if (values.size() < enough_for_a_null) continue;
      null_[role].middle = *median(values);
      null_[role].spread = std::max(1.0, 1.4826 * *mad(values));
    }
  }

  double least_of_pair_;
  std::size_t named_ = 0;
  std::vector<std::array<Score, roles>> all_;
  std::vector<std::array<SlowPartners, roles>> slow_partners_;
  std::vector<std::array<bool, roles>> refused_;
  std::array<ScoreNull, roles> null_;
};

PartKind kind_of(Role role) {
  if (role == both) return PartKind::node;
  return role == sends ? PartKind::sender : PartKind::receiver;
}

bool is_of_role(const Pair& pair, const LinkReading& reading, int unit, Role role) {
  return role == both || (reading.is_upward == (unit == pair.low)) == (role == sends);
}

/// Counts of the unit in the role; `is_enough` when it is slow with enough of its partners, and by enough.
struct Candidate {
  SuspectPart part;
  bool is_enough = false;
};

Candidate examine(const PairTable& table, const DecodeSettings& settings, int unit, Role role) {
  Candidate candidate;
  candidate.part.kind = kind_of(role);
  candidate.part.ends = {unit};
  std::vector<SeenReading> seen;
  for (const std::size_t i : table.pairs_of(unit)) {
    const Pair& pair = table.pairs[i];
    for (const LinkReading& reading : table.readings_of(pair)) {
      if (reading.is_alone || !table.is_open(pair, reading) || !is_of_role(pair, reading, unit, role)) continue;
      seen.push_back({reading.round, reading.slowness});
    }
  }
  const double least = slowness_of(settings.least_slowdown);
  count_readings(candidate.part, seen, least);
  const double slowness = slowness_of(candidate.part.slowdown);
  int partners = 0;
  int slow_partners = 0;
  for (const std::size_t i : table.pairs_of(unit)) {
    const Sum one = sum_of(table.pairs[i], unit, role);
    if (one.n == 0) continue;
    ++partners;
    if (one.slowness / one.n > slowness / 2) ++slow_partners;
  }
  candidate.is_enough = slowness >= least && slow_partners >= 2 && slow_partners >= settings.least_share * partners;
  return candidate;
}

void explain(PairTable& table, Scores& scores, int unit, Role role) {
  for (const std::size_t i : table.pairs_of(unit)) {
    Pair& pair = table.pairs[i];
    const std::size_t out = unit == pair.low ? 0 : 1;
    if (role != receives) pair.ways[out].is_explained = true;
    if (role != sends) pair.ways[1 - out].is_explained = true;
  }
  for (const std::size_t i : table.pairs_of(unit)) scores.update(table, table.pairs[i].other(unit));
  scores.update(table, unit);
}

struct Best {
  int unit = -1;
  Role role = both;
  double score = 0;
  double slowness = 0;

  /// Scores that are equal but for rounding are ordered by how slow the readings are, never by the number of the
  /// unit.
  void take_if_clearer(const Best& other) {
    const double margin = 1e-9 * std::max(std::fabs(score), std::fabs(other.score));
    const bool is_level = std::fabs(other.score - score) <= margin && unit >= 0;
    if (is_level ? other.slowness > slowness * (1 + 1e-9) : other.score > score) *this = other;
  }
};

Best clearest(const Scores& scores) {
  Best best;
  for (int unit = 0; unit < scores.units(); ++unit) {
    for (const Role role : {both, sends, receives}) {
      if (scores.is_refused(unit, role)) continue;
      const double value = scores.standard(unit, role);
      if (value > 0) best.take_if_clearer({unit, role, value, scores.of(unit, role).slowness});
    }
  }
  // A sender slow enough lifts the score of its node above the bound of what is slow both ways.
  if (best.unit >= 0 && best.role == both) {
    const double out = scores.standard(best.unit, sends);
    const double in = scores.standard(best.unit, receives);
    const Role stronger = out > in ? sends : receives;
    const bool is_known = scores.of(best.unit, sends).is_defined && scores.of(best.unit, receives).is_defined;
    if (is_known && std::min(out, in) < least_other_way && !scores.is_refused(best.unit, stronger)) {
      best.role = stronger;
      best.score = std::max(out, in);
    }
  }
  return best;
}

/// The unit with most partners that are each slow beyond doubt: a fault that is seldom there leaves its sum
/// unremarkable, but two bad pairs that share an end are one bad end. At least two.
Best most_slow_partners(const Scores& scores) {
  Best best;
  for (int unit = 0; unit < scores.units(); ++unit) {
    for (const Role role : {both, sends, receives}) {
      if (scores.is_refused(unit, role)) continue;
      const SlowPartners& partners = scores.slow_partners_of(unit, role);
      if (partners.n >= 2) best.take_if_clearer({unit, role, partners.sum, scores.of(unit, role).slowness});
    }
  }
  return best;
}

double median_slowness(const PairTable& table, int unit, Role role) {
  std::vector<double> slowness;
  for (const std::size_t i : table.pairs_of(unit)) {
    const Pair& pair = table.pairs[i];
    for (const LinkReading& reading : table.readings_of(pair)) {
      if (!reading.is_alone && table.is_open(pair, reading) && is_of_role(pair, reading, unit, role))
        slowness.push_back(reading.slowness);
    }
  }
  return median(slowness).value_or(0);
}

/// Collisions slow both directions of a pair and lift both scores of a sender: the medians show that one is healthy.
Role narrowed(const PairTable& table, const Scores& scores, const Best& best, double least_slowness) {
  if (best.role != both || table.present_units < enough_for_rates) return best.role;
  const double out = median_slowness(table, best.unit, sends);
  const double in = median_slowness(table, best.unit, receives);
  const Role stronger = out > in ? sends : receives;
  const bool is_one_way = std::max(out, in) >= least_slowness && std::min(out, in) < std::max(out, in) / 3;
  return is_one_way && !scores.is_refused(best.unit, stronger) ? stronger : both;
}

/// A unit that was named as a sender can only be a receiver, too.
Role what_is_left(const std::vector<SuspectPart>& parts, int unit) {
  for (const SuspectPart& part : parts) {
    if (part.ends.front() != unit) continue;
    if (part.kind == PartKind::sender) return receives;
    if (part.kind == PartKind::receiver) return sends;
  }
  return both;
}

}  // namespace

void join_roles(std::vector<SuspectPart>& parts) {
  std::sort(parts.begin(), parts.end(), [](const SuspectPart& a, const SuspectPart& b) {
    return a.ends != b.ends ? a.ends < b.ends : a.kind < b.kind;
  });
  std::vector<SuspectPart> joined;
  for (SuspectPart& part : parts) {
    if (joined.empty() || joined.back().ends != part.ends) {
      joined.push_back(std::move(part));
      continue;
    }
    SuspectPart& node = joined.back();
    node.kind = PartKind::node;
    node.slowdown = std::max(node.slowdown, part.slowdown);
    node.slow += part.slow;
    node.readings += part.readings;
    node.slow_rounds = std::max(node.slow_rounds, part.slow_rounds);
    node.rounds = std::max(node.rounds, part.rounds);
    node.score = std::max(node.score, part.score);
  }
  parts = std::move(joined);
}

std::vector<SuspectPart> name_units(PairTable& table, const DecodeSettings& settings) {
  std::vector<SuspectPart> parts;
  if (table.present_units < 3) return parts;
  const double least = inverse_normal(1 - settings.false_rate / (3.0 * table.present_units));
  Scores scores(table, inverse_normal(1 - settings.false_rate / (3.0 * static_cast<double>(table.pairs.size()))));
  while (true) {
    Best best = clearest(scores);
    if (best.unit < 0 || best.score < least) best = most_slow_partners(scores);
    if (best.unit < 0) break;
    best.role = narrowed(table, scores, best, slowness_of(settings.least_slowdown));
    const Role asked = best.role;
    if (best.role == both) best.role = what_is_left(parts, best.unit);
    Candidate candidate = examine(table, settings, best.unit, best.role);
    if (!candidate.is_enough) {
      scores.refuse(best.unit, best.role);
      scores.refuse(best.unit, asked);
      continue;
    }
    candidate.part.score = best.score;
    parts.push_back(std::move(candidate.part));
    explain(table, scores, best.unit, best.role);
    scores.renew_null();
  }
  return parts;
}

ScoreNull null_of_scores(const PairTable& table) {
  return Scores(table).null_of(both);
}

}  // namespace muster::culprits
