// Is a unit slow, or did it have bad luck? Outliers that any reading may be make no unit slow, whatever their size.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

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
  std::map<int, std::pair<double, int>> rounds;
  std::vector<RoundMeeting> meetings;
  for (std::size_t i = pair.begin; i < pair.end; ++i) {
    const LinkReading& reading = table.readings[i];
    if (reading.is_alone) continue;
    if (!are_both) {
      meetings.push_back({pair.low, pair.high, reading.slowness});
      continue;
    }
    auto& [sum, n] = rounds[reading.round];
    sum += reading.slowness;
    ++n;
  }
  for (const auto& [round, sum] : rounds) meetings.push_back({pair.low, pair.high, sum.first / sum.second});
  return meetings;
}

/// How many of the unit's meetings are slow by more than half of what is usual for it.
/// Not those with `is_left_out`.
Count count_of(const PairTable& table, const std::vector<SuspectPart>& groups, const SuspectPart& part,
               const std::vector<bool>& is_left_out) {
  const double bound = slowness_of(part.slowdown) / 2;
  const int unit = part.ends.front();
  Count count;
  for (const std::size_t at : table.pairs_of(unit)) {
    const Pair& pair = table.pairs[at];
    if (is_across_any(groups, pair.low, pair.high)) continue;
    if (is_left_out[static_cast<std::size_t>(pair.other(unit))]) continue;
    if (is_both(part.kind)) {
      for (const RoundMeeting& meeting : round_meetings_of(table, pair, true)) {
        ++count.all;
        count.slow += meeting.slowness > bound;
      }
      continue;
    }
    for (std::size_t i = pair.begin; i < pair.end; ++i) {
      const LinkReading& reading = table.readings[i];
      if (reading.is_alone || !is_of(pair, reading.is_upward, unit, part.kind)) continue;
      ++count.all;
      count.slow += reading.slowness > bound;
    }
  }
  return count;
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
          slowness_[are_both].push_back(meeting.slowness);
    }
    for (auto& one : slowness_) std::sort(one.begin(), one.end());
    is_persistent_ = &is_persistent;
  }

  /// Without those of the part itself.
  [[nodiscard]] Count count(const SuspectPart& part) const {
    const double bound = slowness_of(part.slowdown) / 2;
    const auto& all = slowness_[is_both(part.kind)];
    const auto above = std::upper_bound(all.begin(), all.end(), bound);
    Count count{static_cast<std::size_t>(all.end() - above), all.size()};
    const int unit = part.ends.front();
    if ((*is_persistent_)[static_cast<std::size_t>(unit)]) return count;
    for (const std::size_t at : table_.pairs_of(unit)) {
      const Pair& pair = table_.pairs[at];
      if ((*is_persistent_)[static_cast<std::size_t>(pair.other(unit))]) continue;
      if (is_across_any(found_.groups, pair.low, pair.high)) continue;
      for (const RoundMeeting& meeting : round_meetings_of(table_, pair, is_both(part.kind))) {
        --count.all;
        count.slow -= meeting.slowness > bound;
      }
    }
    return count;
  }

 private:
  const PairTable& table_;
  const Culprits& found_;
  const std::vector<bool>* is_persistent_ = nullptr;
  std::vector<double> slowness_[2];
};

/// Readings alone of a unit, by partner; not with partners that are slow themselves.
struct Again {
  std::size_t slow = 0;
  std::size_t all = 0;
};

Again measured_again(const PairTable& table, const std::vector<SuspectPart>& groups, const SuspectPart& part,
                     const std::vector<bool>& is_persistent, double least) {
  const int unit = part.ends.front();
  const double bound = std::max(least, slowness_of(part.slowdown) / 2);
  Again again;
  for (const std::size_t at : table.pairs_of(unit)) {
    const Pair& pair = table.pairs[at];
    if (is_across_any(groups, pair.low, pair.high)) continue;
    if (is_persistent[static_cast<std::size_t>(pair.other(unit))]) continue;
    double sum = 0;
    double worst = -1e300;
    int n = 0;
    for (std::size_t i = pair.begin; i < pair.end; ++i) {
      const LinkReading& reading = table.readings[i];
      if (!reading.is_alone || !is_of(pair, reading.is_upward, unit, part.kind)) continue;
      sum += reading.slowness;
      worst = std::max(worst, reading.slowness);
      ++n;
    }
    if (n == 0) continue;
    ++again.all;
    again.slow += (n >= 3 ? (sum - worst) / (n - 1) : sum / n) > bound;
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
    for (std::size_t i = pair.begin; i < pair.end; ++i) {
      const LinkReading& reading = table.readings[i];
      if (!reading.is_alone && is_of(pair, reading.is_upward, unit, part.kind)) most = std::max(most, reading.slowness);
    }
    slowest.emplace_back(most, &pair);
  }
  std::stable_sort(slowest.begin(), slowest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::size_t added = 0;
  for (const auto& [slowness, pair] : slowest) {
    for (const bool is_out : {true, false}) {
      if (part.kind == (is_out ? PartKind::receiver : PartKind::sender)) continue;
      const int other = pair->other(unit);
      found.worth_repeating.push_back({is_out ? unit : other, is_out ? other : unit, share_of(slowness)});
      ++added;
    }
    if (added >= cells_of_suspect) break;
  }
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
  for (std::size_t k = count.slow; k <= count.all; ++k) most = std::max(most, log_of(k));
  double sum = 0;
  for (std::size_t k = count.slow; k <= count.all; ++k) sum += std::exp(log_of(k) - most);
  return std::min(0.0, most + std::log(sum));
}

double log_beta(double a, double b) {
  return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
}

}  // namespace

double log_upper_tail(const Count& count, double rate) {
  const auto n = static_cast<double>(count.all);
  return log_sum_from(count, [&](std::size_t slow) {
    const auto x = static_cast<double>(slow);
    return log_choose(n, x) + x * std::log(rate) + (n - x) * std::log1p(-rate);
  });
}

double log_upper_tail(const Count& count, const Count& others) {
  const auto n = static_cast<double>(count.all);
  const double a = static_cast<double>(others.slow) + 0.5;
  const double b = static_cast<double>(others.all - others.slow) + 0.5;
  return log_sum_from(count, [&](std::size_t slow) {
    const auto x = static_cast<double>(slow);
    return log_choose(n, x) + log_beta(x + a, n - x + b) - log_beta(a, b);
  });
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

void leave_out_chance(PairTable& table, const DecodeSettings& settings, Culprits& found) {
  std::vector<SuspectPart>& parts = found.parts;
  if (parts.empty()) return;
  std::vector<Count> counts;
  std::vector<bool> is_persistent(static_cast<std::size_t>(table.units));
  const std::vector<bool> none(is_persistent.size());
  for (const SuspectPart& part : parts) {
    counts.push_back(count_of(table, found.groups, part, none));
    if (counts.back().share() >= persistent) is_persistent[static_cast<std::size_t>(part.ends.front())] = true;
  }
  // Meetings with those accuse none of the others.
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!is_persistent[static_cast<std::size_t>(parts[i].ends.front())])
      counts[i] = count_of(table, found.groups, parts[i], is_persistent);
  const Others others(table, found, is_persistent);
  const double most_chance = false_rate_of_counts / (3.0 * table.present_units);
  const double least = slowness_of(settings.least_slowdown);
  std::vector<SuspectPart> kept;
  std::vector<const SuspectPart*> suspects;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Count rest = others.count(parts[i]);
    const bool is_beyond = rest.all < fewest_others || log_upper_tail(counts[i], rest) <= std::log(most_chance);
    const Again again = measured_again(table, found.groups, parts[i], is_persistent, least);
    const bool is_again = again.slow >= 2;
    const bool is_cleared = again.all >= 2 && again.slow == 0 && counts[i].share() >= persistent;
    if ((is_beyond && !is_cleared) || is_again) {
      kept.push_back(parts[i]);
      kept.back().is_repeated = is_again;
    } else if (again.all < 2) {
      suspects.push_back(&parts[i]);
    }
  }
  std::stable_sort(suspects.begin(), suspects.end(),
                   [](const SuspectPart* a, const SuspectPart* b) { return a->score > b->score; });
  for (std::size_t i = 0; i < std::min(suspects.size(), most_suspects); ++i)
    propose(table, *suspects[i], is_persistent, found);
  const bool has_changed = kept.size() < parts.size();
  parts = std::move(kept);
  if (has_changed) explain_found(table, found);
}

}  // namespace muster::culprits
