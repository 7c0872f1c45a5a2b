// Is a unit slow, or did it have bad luck? Outliers that any reading may be make no unit slow, whatever their size.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "stats/culprits_pairs.hpp"

namespace muster::culprits {

namespace {

/// Share of matrices in which a healthy unit may be slow more often than the others' rate explains.
constexpr double false_rate_of_counts = 0.02;
/// A unit slow in so many of its meetings is left out when the rate of the others is counted.
constexpr double persistent = 0.75;
/// With fewer meetings of others there is no rate.
constexpr std::size_t fewest_others = 4;
/// Of units to be measured again alone: so many at most, by so many readings each.
constexpr std::size_t most_suspects = 4;
constexpr std::size_t cells_of_suspect = 4;

/// Two directions of a pair in one round; of a sender or receiver each direction is one for itself.
struct RoundMeeting {
  int low = 0;
  int high = 0;
  double slowness = 0;
};

bool is_both(PartKind kind) {
  return kind == PartKind::node;
}

std::vector<RoundMeeting> round_meetings_of(const PairTable& table, const Pair& pair, bool are_both) {
  std::map<int, RunningMean> rounds;
  std::vector<RoundMeeting> meetings;
  for (const LinkReading& reading : table.readings_of(pair)) {
    if (reading.is_alone) continue;
    if (are_both)
      rounds[reading.round].add(reading.slowness);
    else
      meetings.push_back({pair.low, pair.high, reading.slowness});
  }
  for (const auto& [round, slowness] : rounds) meetings.push_back({pair.low, pair.high, slowness.mean()});
  return meetings;
}

/// By class: where units of one class have two speeds, half of its meetings are slow and accuse no unit.
using ClassCounts = std::map<int, Count>;

Count total(const ClassCounts& counts) {
  Count sum;
  for (const auto& [class_id, count] : counts) sum.slow += count.slow, sum.all += count.all;
  return sum;
}

/// How many of the unit's meetings are slow by more than half of what is usual for it.
/// Not those with `is_left_out`.
ClassCounts counts_of(const PairTable& table, const std::vector<SuspectPart>& groups, const SuspectPart& part,
                      const std::vector<bool>& is_left_out) {
  const double bound = slowness_of(part.slowdown) / 2;
  const int unit = part.ends.front();
  ClassCounts counts;
  for (const std::size_t at : table.pairs_of(unit)) {
    const Pair& pair = table.pairs[at];
    if (is_across_any(groups, pair.low, pair.high)) continue;
    if (is_left_out[static_cast<std::size_t>(pair.other(unit))]) continue;
    if (is_both(part.kind)) {
      for (const RoundMeeting& meeting : round_meetings_of(table, pair, true))
        counts[class_of(table, pair)].add(meeting.slowness > bound);
      continue;
    }
    for (const LinkReading& reading : table.readings_of(pair)) {
      if (reading.is_alone || !is_of(pair, reading.is_upward, unit, part.kind)) continue;
      counts[reading.class_id].add(reading.slowness > bound);
    }
  }
  return counts;
}

/// Slowness of all meetings of which no persistently slow unit is part, sorted.
class Others {
 public:
  Others(const PairTable& table, const Culprits& found, const std::vector<bool>& is_persistent)
      : table_(table), found_(found) {
    for (const Pair& pair : table.pairs) {
      if (is_across_any(found.groups, pair.low, pair.high)) continue;
      if (is_persistent[static_cast<std::size_t>(pair.low)] || is_persistent[static_cast<std::size_t>(pair.high)])
        continue;
      for (const bool are_both : {false, true})
        for (const RoundMeeting& meeting : round_meetings_of(table, pair, are_both))
          slowness_[are_both][class_of(table, pair)].push_back(meeting.slowness);
    }
    for (auto& classes : slowness_)
      for (auto& [class_id, one] : classes) std::sort(one.begin(), one.end());
    is_persistent_ = &is_persistent;
  }

  /// Without those of the part itself; a unit below 0 has none.
  [[nodiscard]] ClassCounts counts(const SuspectPart& part) const {
    const double bound = slowness_of(part.slowdown) / 2;
    ClassCounts counts;
    for (const auto& [class_id, all] : slowness_[is_both(part.kind)]) {
      const auto above = std::upper_bound(all.begin(), all.end(), bound);
      counts[class_id] = {static_cast<std::size_t>(all.end() - above), all.size()};
    }
    const int unit = part.ends.front();
    if (unit < 0 || (*is_persistent_)[static_cast<std::size_t>(unit)]) return counts;
    for (const std::size_t at : table_.pairs_of(unit)) {
      const Pair& pair = table_.pairs[at];
      if ((*is_persistent_)[static_cast<std::size_t>(pair.other(unit))]) continue;
      if (is_across_any(found_.groups, pair.low, pair.high)) continue;
      Count& count = counts[class_of(table_, pair)];
      for (const RoundMeeting& meeting : round_meetings_of(table_, pair, is_both(part.kind))) {
        --count.all;
        count.slow -= meeting.slowness > bound;
      }
    }
    return counts;
  }

 private:
  const PairTable& table_;
  const Culprits& found_;
  const std::vector<bool>* is_persistent_ = nullptr;
  std::map<int, std::vector<double>> slowness_[2];
};

/// Of readings alone in the directions that `counts`: their mean, of three or more without the slowest; nullopt: none.
template <class Filter>
std::optional<double> mean_alone(const PairTable& table, const Pair& pair, Filter counts) {
  RunningMean alone;
  for (const LinkReading& reading : table.readings_of(pair))
    if (reading.is_alone && counts(reading)) alone.add(reading.slowness);
  if (alone.n == 0) return std::nullopt;
  return alone.without_largest();
}

/// Readings alone of pairs, by class: those of a unit, and all others. Not with partners that are slow themselves.
struct Again {
  ClassCounts own;
  ClassCounts others;
};

/// Few, as a rule: those of suspects.
std::vector<const Pair*> pairs_with_readings_alone(const PairTable& table) {
  std::vector<const Pair*> pairs;
  for (const Pair& pair : table.pairs)
    if (table.was_measured_alone(pair) && !decides_group_alone(table, pair)) pairs.push_back(&pair);
  return pairs;
}

Again measured_again(const PairTable& table, const std::vector<const Pair*>& pairs,
                     const std::vector<SuspectPart>& groups, const SuspectPart& part,
                     const std::vector<bool>& is_persistent, double least) {
  const int unit = part.ends.front();
  const double bound = std::max(least, slowness_of(part.slowdown) / 2);
  const auto is_left_out = [&](int end) { return end != unit && is_persistent[static_cast<std::size_t>(end)]; };
  Again again;
  for (const Pair* measured : pairs) {
    const Pair& pair = *measured;
    if (is_left_out(pair.low) || is_left_out(pair.high) || is_across_any(groups, pair.low, pair.high)) continue;
    const bool is_own = pair.low == unit || pair.high == unit;
    const auto mean = mean_alone(table, pair, [&](const LinkReading& reading) {
      return !is_own || is_of(pair, reading.is_upward, unit, part.kind);
    });
    if (mean) (is_own ? again.own : again.others)[class_of(table, pair)].add(*mean > bound);
  }
  return again;
}

/// Cells of the unit that would decide: those that were slowest, of different partners.
void propose(const PairTable& table, const SuspectPart& part, const std::vector<bool>& is_persistent, Culprits& found) {
  const int unit = part.ends.front();
  std::vector<std::pair<double, const Pair*>> slowest;
  for (const std::size_t at : table.pairs_of(unit)) {
    const Pair& pair = table.pairs[at];
    if (is_across_any(found.groups, pair.low, pair.high)) continue;
    if (is_persistent[static_cast<std::size_t>(pair.other(unit))]) continue;
    double most = -1e300;
    for (const LinkReading& reading : table.readings_of(pair)) {
      if (!reading.is_alone && is_of(pair, reading.is_upward, unit, part.kind)) most = std::max(most, reading.slowness);
    }
    slowest.emplace_back(most, &pair);
  }
  std::stable_sort(slowest.begin(), slowest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  // Of a node one direction with each: four partners prove more than both directions with two.
  std::vector<LinkCell> cells;
  for (const auto& [slowness, pair] : slowest) {
    const bool is_out = is_both(part.kind) ? cells.size() % 2 == 0 : part.kind == PartKind::sender;
    const int other = pair->other(unit);
    cells.push_back({is_out ? unit : other, is_out ? other : unit, share_of(slowness)});
    if (cells.size() >= cells_of_suspect) break;
  }
  found.worth_repeating.insert(found.worth_repeating.begin(), cells.begin(), cells.end());
}

}  // namespace

double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

namespace {

/// ln of the sum of the probabilities of `slow` to `all`.
template <class LogProbability>
double log_sum_from(const Count& count, LogProbability log_of) {
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t k = count.slow; k <= count.all; ++k) most = std::max(most, log_of(Count{k, count.all}));
  double sum = 0;
  for (std::size_t k = count.slow; k <= count.all; ++k) sum += std::exp(log_of(Count{k, count.all}) - most);
  return std::min(0.0, most + std::log(sum));
}

double log_beta(double a, double b) {
  return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
}

double log_binomial(const Count& count, double rate) {
  const auto n = static_cast<double>(count.all);
  const auto x = static_cast<double>(count.slow);
  return log_choose(n, x) + x * std::log(rate) + (n - x) * std::log1p(-rate);
}

double log_beta_binomial(const Count& count, const Count& others) {
  const auto n = static_cast<double>(count.all);
  const auto x = static_cast<double>(count.slow);
  const double a = static_cast<double>(others.slow) + 0.5;
  const double b = static_cast<double>(others.all - others.slow) + 0.5;
  return log_choose(n, x) + log_beta(x + a, n - x + b) - log_beta(a, b);
}

/// ln P(at least so many slow meetings, all classes together), where each class has a rate of its own.
template <class LogProbability>
double log_tail_of_classes(const ClassCounts& counts, LogProbability log_of) {
  if (counts.size() == 1) {
    const auto& [class_id, count] = *counts.begin();
    return log_sum_from(count, [&, id = class_id](const Count& one) { return log_of(id, one); });
  }
  std::vector<double> sum{1};
  for (const auto& [class_id, count] : counts) {
    std::vector<double> next(sum.size() + count.all);
    for (std::size_t k = 0; k <= count.all; ++k) {
      const double probability = std::exp(log_of(class_id, Count{k, count.all}));
      for (std::size_t i = 0; i < sum.size(); ++i) next[i + k] += sum[i] * probability;
    }
    sum = std::move(next);
  }
  double tail = 0;
  for (std::size_t k = sum.size(); k-- > total(counts).slow;) tail += sum[k];
  return std::log(std::max(tail, std::numeric_limits<double>::min()));
}

Count count_in(const ClassCounts& counts, int class_id) {
  const auto found = counts.find(class_id);
  return found == counts.end() ? Count{} : found->second;
}

/// ln of how likely a healthy unit is slow as often, at the rates of the others.
double log_chance_of(const ClassCounts& own, const ClassCounts& others) {
  return log_tail_of_classes(
      own, [&](int class_id, const Count& count) { return log_beta_binomial(count, count_in(others, class_id)); });
}

/// The same of being slow again alone: pairs that are slow in the rounds, and stay slow alone, may be a class of their
/// own.
double log_chance_of_again(const Again& again, const ClassCounts& own, const ClassCounts& others) {
  ClassCounts seen;
  for (const auto& [class_id, count] : own) seen[class_id] = {count_in(again.own, class_id).slow, count.all};
  return log_tail_of_classes(seen, [&](int class_id, const Count& count) {
    return log_binomial(count, count_in(others, class_id).rate() * count_in(again.others, class_id).rate());
  });
}

}  // namespace

double log_upper_tail(const Count& count, double rate) {
  return log_sum_from(count, [&](const Count& one) { return log_binomial(one, rate); });
}

double log_upper_tail(const Count& count, const Count& others) {
  return log_sum_from(count, [&](const Count& one) { return log_beta_binomial(one, others); });
}

bool is_of(const Pair& pair, bool is_upward, int unit, PartKind kind) {
  if (is_both(kind)) return true;
  return (is_upward == (unit == pair.low)) == (kind == PartKind::sender);
}

void explain_found(PairTable& table, const Culprits& found) {
  for (Pair& pair : table.pairs)
    for (Way& way : pair.ways) way.is_explained = is_across_any(found.groups, pair.low, pair.high);
  for (const SuspectPart& part : found.parts)
    for (const int unit : part.ends)
      for (const std::size_t at : table.pairs_of(unit)) {
        Pair& pair = table.pairs[at];
        for (const bool is_upward : {true, false})
          if (is_of(pair, is_upward, unit, part.kind)) pair.ways[is_upward ? 0 : 1].is_explained = true;
      }
}

namespace {

/// Units that are named, judged by how often they are slow. Those that are certain no longer count as others, nor do
/// their meetings accuse the rest: with each the rate of the others becomes clearer.
class Judged {
 public:
  Judged(const PairTable& table, const DecodeSettings& settings, const Culprits& found)
      : table_(table),
        found_(found),
        least_(slowness_of(settings.least_slowdown)),
        most_chance_(false_rate_of_counts / (3.0 * table.present_units)),
        most_chance_alone_(false_rate_of_counts / table.present_units),
        is_out_(static_cast<std::size_t>(table.units)),
        alone_(pairs_with_readings_alone(table)),
        all_(found.parts.size()) {
    const std::vector<bool> none(is_out_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) {
      all_[i].own = counts_of(table, found.groups, found.parts[i], none);
      all_[i].is_persistent = total(all_[i].own).share() >= persistent;
      if (all_[i].is_persistent) leave_out(i);
    }
    while (decide()) {
    }
  }

  struct One {
    ClassCounts own;
    bool is_persistent = false;
    bool is_certain = false;
    bool is_again = false;
    std::size_t alone = 0;  ///< pairs that were measured alone
  };
  [[nodiscard]] const One& of(std::size_t part) const { return all_[part]; }
  /// Neither are meetings with these.
  [[nodiscard]] const std::vector<bool>& left_out() const { return is_out_; }

 private:
  void leave_out(std::size_t part) { is_out_[static_cast<std::size_t>(found_.parts[part].ends.front())] = true; }

  /// True: one more is certain, and was not left out before.
  bool decide() {
    const Others others(table_, found_, is_out_);
    std::vector<std::size_t> more;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].is_certain) continue;
      judge(found_.parts[i], others, all_[i]);
      if (all_[i].is_certain && !all_[i].is_persistent) more.push_back(i);
    }
    for (const std::size_t i : more) leave_out(i);
    return !more.empty();
  }

  void judge(const SuspectPart& part, const Others& others, One& one) const {
    if (!one.is_persistent) one.own = counts_of(table_, found_.groups, part, is_out_);
    const ClassCounts rest = others.counts(part);
    const bool is_beyond = total(rest).all < fewest_others || log_chance_of(one.own, rest) <= std::log(most_chance_);
    const Again again = measured_again(table_, alone_, found_.groups, part, is_out_, least_);
    const Count alone = total(again.own);
    one.alone = alone.all;
    one.is_again = alone.slow >= 2 && log_chance_of_again(again, one.own, rest) <= std::log(most_chance_alone_);
    const bool is_cleared = alone.all >= 2 && alone.slow == 0 && one.is_persistent;
    one.is_certain = (is_beyond && !is_cleared) || one.is_again;
  }

  const PairTable& table_;
  const Culprits& found_;
  double least_;
  double most_chance_;
  double most_chance_alone_;
  std::vector<bool> is_out_;
  std::vector<const Pair*> alone_;
  std::vector<One> all_;
};

}  // namespace

double seen_by_counts(const PairTable& table, const DecodeSettings& settings, const Culprits& found) {
  constexpr double never = std::numeric_limits<double>::infinity();
  constexpr double step = 0.005;
  constexpr double largest = 0.6;
  std::vector<bool> is_out(static_cast<std::size_t>(table.units));
  for (const SuspectPart& part : found.parts) is_out[static_cast<std::size_t>(part.ends.front())] = true;
  // Units with as many meetings of each class are alike.
  std::set<std::map<int, std::size_t>> kinds;
  for (int unit = 0; unit < table.units; ++unit) {
    if (is_out[static_cast<std::size_t>(unit)]) continue;
    SuspectPart whole;
    whole.ends = {unit};
    std::map<int, std::size_t> kind;
    for (const auto& [class_id, count] : counts_of(table, found.groups, whole, is_out)) kind[class_id] = count.all;
    if (!kind.empty()) kinds.insert(std::move(kind));
  }
  double noise = 0;
  for (const ClassLevel& level : found.levels) noise = std::max(noise, level.pair_noise);
  const double least_of_pair = inverse_normal(
      1 - settings.false_rate / (3.0 * static_cast<double>(std::max<std::size_t>(1, table.pairs.size()))));
  // Two partners have to be slow beyond doubt, by both directions; a standard deviation for luck.
  const double least = (least_of_pair + 1) * noise / std::sqrt(2.0);
  const double most_chance = std::log(false_rate_of_counts / (3.0 * table.present_units));
  const Others others(table, found, is_out);
  for (double share = std::max(least, step); share <= largest; share += step) {
    SuspectPart part;
    part.ends = {-1};
    part.slowdown = share;
    const ClassCounts rest = others.counts(part);
    const bool is_seen = std::all_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
      // One meeting in ten may look well by noise.
      ClassCounts own;
      for (const auto& [class_id, all] : kind) own[class_id] = {all - all / 10, all};
      return log_chance_of(own, rest) <= most_chance;
    });
    if (is_seen) return share;
  }
  return never;
}

void leave_out_chance(PairTable& table, const DecodeSettings& settings, Culprits& found) {
  std::vector<SuspectPart>& parts = found.parts;
  if (parts.empty()) return;
  const Judged judged(table, settings, found);
  std::vector<SuspectPart> kept;
  std::vector<const SuspectPart*> suspects;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (judged.of(i).is_certain) {
      kept.push_back(parts[i]);
      kept.back().is_repeated = judged.of(i).is_again;
    } else if (judged.of(i).alone < 2) {
      suspects.push_back(&parts[i]);
    }
  }
  std::stable_sort(suspects.begin(), suspects.end(),
                   [](const SuspectPart* a, const SuspectPart* b) { return a->score > b->score; });
  for (std::size_t i = 0; i < std::min(suspects.size(), most_suspects); ++i)
    propose(table, *suspects[i], judged.left_out(), found);
  const bool has_changed = kept.size() < parts.size();
  parts = std::move(kept);
  if (has_changed) explain_found(table, found);
}

}  // namespace muster::culprits
