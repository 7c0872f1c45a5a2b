#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "history/compare_parts.hpp"
#include "stats/drift.hpp"
#include "stats/separated.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

constexpr double least_known = 0.01;    ///< least deviation from run to run where earlier runs show it
constexpr double least_unknown = 0.03;  ///< elsewhere
constexpr double least_change = 0.05;
constexpr double once_in_a_hundred = 2.576;  ///< normal deviate, both sides
constexpr std::size_t enough_alike = 6;
constexpr std::size_t enough_to_stand_apart = 12;
constexpr double most_in_tail = 0.1;  ///< of the values
constexpr double prior_freedom = 10;  ///< of the median variance of all values, to which each one's is shrunk
constexpr double often = 1.0 / 6;     ///< of the earlier runs
constexpr double least_time = 5e-8;   ///< seconds; what a clock read costs

struct Pair {
  const PastValue* before = nullptr;
  const PastValue* after = nullptr;
  double ratio = 0;        ///< logarithm of after / before
  double uncertainty = 0;  ///< of both medians together, as a share
};

/// Seconds of the unit; nullopt: it is none of time.
std::optional<double> seconds_of(const std::string& unit) {
  if (unit == "s") return 1;
  if (unit == "ms") return 1e-3;
  if (unit == "us") return 1e-6;
  return unit == "ns" ? std::optional(1e-9) : std::nullopt;
}

/// Below the cost of a clock read times differ by chance, and have no shares.
double comparable(const PastValue& value) {
  const auto seconds = seconds_of(value.unit);
  return seconds && value.value >= 0 ? std::max(value.value, least_time / *seconds) : value.value;
}

/// Of a median, as a share of it: that of n samples has 1.2533 sigma / sqrt(n), sigma being 1.4826 MAD.
double share_of_error(const PastValue& value) {
  const double size = std::fabs(comparable(value));
  if (size == 0) return 0;
  const double readings = std::max(value.readings, 1);
  const double samples = std::max<double>(static_cast<double>(value.samples), 1);
  const double of_samples = value.noise / std::sqrt(samples);
  const double of_readings = value.spread / std::sqrt(readings);
  return 1.2533 * 1.4826 * std::hypot(of_samples, of_readings) / size;
}

/// Like values: same check, metric and labels.
using GroupKey = std::tuple<std::string, std::string, std::string, Labels>;
using Groups = std::map<GroupKey, std::vector<Pair>>;

Groups pairs_of(const PastRun& before, const PastRun& after, Comparison& comparison) {
  std::map<SeriesKey, const PastValue*> earlier;
  for (const PastValue& value : before.values) earlier[without_nodes(value.key)] = &value;
  Groups groups;
  for (const PastValue& value : after.values) {
    const auto found = earlier.find(without_nodes(value.key));
    if (found == earlier.end()) continue;
    const PastValue& then = *found->second;
    if (then.use == ValueUse::untimed || value.use == ValueUse::untimed) {
      ++comparison.untimed;
      continue;
    }
    // Of what is 0 or changes its sign there is no share.
    const double was = comparable(then);
    const double is = comparable(value);
    if (!(was > 0) || !(is > 0)) {
      comparison.without_share += then.value == value.value ? 0 : 1;
      continue;
    }
    ++comparison.compared;
    groups[{value.key.case_id, value.key.shape, value.key.metric, value.key.where}].push_back(
        {&then, &value, std::log(is / was), std::hypot(share_of_error(then), share_of_error(value))});
  }
  return groups;
}

/// What one run differs from another by, as a share: of two such runs. Half of the values may have moved, as they do
/// where one of four nodes has slow links: then the smaller ratios count. All may have moved: then how far they are
/// apart does.
double scatter_of(const std::vector<Pair>& pairs) {
  if (pairs.size() < enough_alike) return std::sqrt(2.0) * least_unknown;
  std::vector<double> ratios;
  std::vector<double> sizes;
  for (const Pair& pair : pairs) {
    ratios.push_back(pair.ratio);
    sizes.push_back(std::fabs(pair.ratio));
  }
  // 40 % of a normal distribution are within 0.5244 deviations.
  const double scale = std::min(1.4826 * *mad(ratios), *quantile(sizes, 0.4) / 0.5244);
  // The smaller of two estimates from few values is too small: with this, simulated noise passes as such in 98 of 100.
  const double correction = 1.15 * (1 + 6 / static_cast<double>(pairs.size()));
  return std::max(correction * scale, std::sqrt(2.0) * least_unknown);
}

/// What is known of the spread from run to run: each variance shrunk to the median of all (Smyth 2004, limma).
class KnownSpread {
 public:
  explicit KnownSpread(const RunNoise& noise) : noise_(noise) {
    std::vector<double> variances;
    for (const auto& [key, spread] : noise)
      if (spread.runs >= 2) variances.push_back(spread.deviation * spread.deviation);
    typical_ = median(variances).value_or(0);
  }

  /// How many deviations of the difference of two runs it is off; `deviate` is the normal bound, of which the result is
  /// the equal in unlikeliness. nullopt: no earlier run has it.
  [[nodiscard]] std::optional<double> bound(const Pair& pair, double deviate) const {
    const auto known = noise_.find(without_nodes(pair.after->key));
    if (known == noise_.end() || known->second.runs < 2) return std::nullopt;
    const double freedom = known->second.runs - 1;
    const double own = known->second.deviation * known->second.deviation;
    const double variance = (prior_freedom * typical_ + freedom * own) / (prior_freedom + freedom);
    const double runs = std::sqrt(2.0) * std::max(std::sqrt(variance), least_known);
    return student_of(deviate, prior_freedom + freedom) * std::hypot(runs, pair.uncertainty);
  }

 private:
  /// Student's t that is as unlikely as the normal deviate (Wallace 1959, inverted).
  static double student_of(double deviate, double freedom) {
    const double scaled = deviate * (8 * freedom + 3) / (8 * freedom + 1);
    return std::sqrt(freedom * std::expm1(scaled * scaled / freedom));
  }

  const RunNoise& noise_;
  double typical_ = 0;
};

/// Levels that values of CPUs and memory had on virtual machines.
class VirtualLevels {
 public:
  VirtualLevels(const PastRun& run, const RunNoise& noise) : nodes_(virtual_nodes(run)) {
    if (nodes_.empty()) return;
    for (const auto& [key, spread] : noise)
      for (const double value : spread.values) {
        auto [at, is_new] = levels_.try_emplace(without_type(key), Level{value, value});
        at->second = {std::min(at->second.least, value), std::max(at->second.most, value)};
      }
  }

  [[nodiscard]] bool is_of(const SeriesKey& key) const { return nodes_.contains(key.item.node) && is_of_cpus(key); }

  /// Whether an earlier run had one as bad, of the same data or of another type of data.
  [[nodiscard]] bool had(const Pair& pair) const {
    const SeriesKey& key = pair.after->key;
    if (!is_of(key)) return false;
    const auto found = levels_.find(without_type(without_nodes(key)));
    if (found == levels_.end()) return false;
    const double after = comparable(*pair.after);
    return pair.after->better > 0 ? found->second.least <= after * same_level
                                  : found->second.most >= after / same_level;
  }

 private:
  struct Level {
    double least = 0;
    double most = 0;
  };

  static SeriesKey without_type(SeriesKey key) {
    std::erase_if(key.where, [](const auto& label) { return label.first == "type"; });
    return key;
  }

  std::set<std::string> nodes_;
  std::map<SeriesKey, Level> levels_;
};

/// Whether a sixth of the earlier runs or more are nearer to the worse value than to the one before, on its bad side.
bool is_often_so(const Pair& pair, const RunNoise& noise) {
  const auto known = noise.find(without_nodes(pair.after->key));
  if (known == noise.end() || known->second.values.empty()) return false;
  const double between = std::sqrt(comparable(*pair.before) * comparable(*pair.after));
  const auto runs = std::min(known->second.values.size(), static_cast<std::size_t>(known->second.runs));
  const auto values = std::span(known->second.values).last(runs);
  const auto alike = std::ranges::count_if(
      values, [&](double value) { return pair.after->better > 0 ? value <= between : value >= between; });
  return static_cast<double>(alike) >= often * static_cast<double>(values.size());
}

bool is_worse(const Pair& pair) {
  if (pair.after->better == 0) return false;
  return pair.after->better > 0 ? pair.ratio < 0 : pair.ratio > 0;
}

/// A node that all of these links have an end on; empty: none.
std::string common_node(const std::vector<const Pair*>& moved) {
  const auto& first = moved.front()->after->key.item;
  for (const std::string& node : {first.node, first.peer_node}) {
    const bool is_common = std::all_of(moved.begin(), moved.end(), [&](const Pair* pair) {
      return pair->after->key.item.node == node || pair->after->key.item.peer_node == node;
    });
    if (is_common && !node.empty()) return node;
  }
  return {};
}

/// One line for items that moved the same way; links of one node are reported as the node.
MetricChange reported(std::vector<const Pair*> moved, const std::vector<Pair>& group) {
  std::sort(moved.begin(), moved.end(),
            [](const Pair* a, const Pair* b) { return std::fabs(a->ratio) > std::fabs(b->ratio); });
  MetricChange change;
  change.key = moved.front()->after->key;
  change.unit = moved.front()->after->unit;
  change.moved = static_cast<int>(moved.size());
  change.measured = static_cast<int>(group.size());
  change.is_worse = is_worse(*moved.front());
  std::vector<double> before;
  std::vector<double> after;
  for (const Pair* pair : moved) {
    before.push_back(pair->before->value);
    after.push_back(pair->after->value);
    change.items.push_back(pair->after->key.item.name);
  }
  change.before = *median(before);
  change.after = *median(after);
  std::vector<double> ratios;
  for (const Pair* pair : moved) ratios.push_back(pair->ratio);
  change.share = std::expm1(*median(ratios));
  change.subject = change.items.front();
  if (moved.size() < 2 || change.key.item.kind != ItemKind::link) return change;
  const std::string node = common_node(moved);
  if (node.empty()) return change;
  change.subject = "links of " + node;
  change.measured = static_cast<int>(std::count_if(group.begin(), group.end(), [&](const Pair& pair) {
    return pair.after->key.item.node == node || pair.after->key.item.peer_node == node;
  }));
  return change;
}

/// Beyond which share of its own bound a value has moved: few that are beyond it and do not stand apart are the tail of
/// the noise, which need not be normal.
double bound_of(std::vector<double> shares) {
  const auto beyond = std::count_if(shares.begin(), shares.end(), [](double share) { return share > 1; });
  const bool is_tail = shares.size() >= enough_to_stand_apart &&
                       static_cast<double>(beyond) <= most_in_tail * static_cast<double>(shares.size());
  return is_tail ? separated_bound(std::move(shares), 1) : 1;
}

/// From which share on a value that is worse is reported: `bounds` of logarithms, `factor` that all have in common.
void state_limits(const std::map<const Pair*, double>& bounds, double factor, Comparison& comparison) {
  std::vector<double> limits;
  for (const auto& [pair, bound] : bounds)
    if (const int better = pair->after->better; better != 0)
      limits.push_back(std::max(better > 0 ? -std::expm1(-factor * bound) : std::expm1(factor * bound), least_change));
  if (limits.empty()) return;
  comparison.half_seen_from = *median(limits);
  comparison.seen_from = *std::max_element(limits.begin(), limits.end());
}

}  // namespace

void compare_values(const PastRun& before, const PastRun& after, const RunNoise& noise, Comparison& comparison) {
  const Groups groups = pairs_of(before, after, comparison);
  // drift_z leaves 20 values free: here each one counts.
  const KnownSpread known(noise);
  const double deviate = drift_z(once_in_a_hundred, 20 * static_cast<std::size_t>(std::max(comparison.compared, 1)));
  // How far each pair is off, in shares of its bound. Changes for the better do not set the bound of those for the
  // worse.
  std::map<const Pair*, double> shares;
  std::map<const Pair*, double> bounds;
  std::vector<double> of_worse;
  std::vector<double> of_others;
  for (const auto& [key, pairs] : groups) {
    const double scatter = scatter_of(pairs);
    for (const Pair& pair : pairs) {
      const double unknown = deviate * std::hypot(scatter, pair.uncertainty);
      const auto by_past = known.bound(pair, deviate);
      comparison.with_past += by_past ? 1 : 0;
      bounds[&pair] = by_past.value_or(unknown);
      shares[&pair] = std::fabs(pair.ratio) / bounds[&pair];
      (is_worse(pair) ? of_worse : of_others).push_back(shares[&pair]);
    }
  }
  const double bound_of_worse = bound_of(std::move(of_worse));
  const double bound_of_others = bound_of(std::move(of_others));
  state_limits(bounds, bound_of_worse, comparison);
  const VirtualLevels levels(after, noise);
  std::set<std::string> moved;
  for (const auto& [key, pairs] : groups) {
    std::vector<const Pair*> worse;
    std::vector<const Pair*> other;
    for (const Pair& pair : pairs) {
      const bool got_worse = is_worse(pair);
      if (std::fabs(std::expm1(pair.ratio)) < least_change) continue;
      if (shares[&pair] <= (got_worse ? bound_of_worse : bound_of_others)) continue;
      if (got_worse && (levels.had(pair) || is_often_so(pair, noise))) {
        ++comparison.as_often;
        continue;
      }
      (got_worse ? worse : other).push_back(&pair);
      if (got_worse && levels.is_of(pair.after->key)) moved.insert(pair.after->key.item.node);
    }
    if (!worse.empty()) comparison.metrics.push_back(reported(std::move(worse), pairs));
    if (!other.empty()) comparison.metrics.push_back(reported(std::move(other), pairs));
  }
  std::stable_sort(comparison.metrics.begin(), comparison.metrics.end(),
                   [](const MetricChange& a, const MetricChange& b) {
                     return std::tuple(!a.is_worse, -std::fabs(a.share)) < std::tuple(!b.is_worse, -std::fabs(b.share));
                   });
  comparison.virtual_nodes.assign(moved.begin(), moved.end());
}

}  // namespace muster
