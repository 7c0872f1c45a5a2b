#include "diagnosis/rules.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace muster::diagnosis {

namespace {

constexpr double least_slowdown = 0.1;  // as p2p has it

/// Pairs of a matrix, both directions and all meetings together.
struct PairMean {
  int a = 0;
  int b = 0;
  double value = 0;
};

std::vector<PairMean> pair_means(const World& world) {
  std::vector<PairMean> all;
  for (const LinkSample& sample : world.samples())
    all.push_back({std::min(sample.from, sample.to), std::max(sample.from, sample.to), sample.value});
  std::sort(all.begin(), all.end(),
            [](const auto& x, const auto& y) { return std::pair(x.a, x.b) < std::pair(y.a, y.b); });
  std::vector<PairMean> means;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    double sum = 0;
    for (; end < all.size() && all[end].a == all[begin].a && all[end].b == all[begin].b; ++end) sum += all[end].value;
    means.push_back({all[begin].a, all[begin].b, sum / static_cast<double>(end - begin)});
    begin = end;
  }
  return means;
}

Named node(int unit) {
  Named named;
  named.ends = {unit};
  return named;
}

/// Nodes with more than half of their pairs bad; then bad pairs between others, as links.
Answer by_bad_pairs(const World& world, double bound) {
  const auto means = pair_means(world);
  const auto units = static_cast<std::size_t>(world.scenario().units);
  std::vector<int> bad(units);
  std::vector<int> all(units);
  for (const PairMean& pair : means)
    for (const int end : {pair.a, pair.b}) {
      ++all[static_cast<std::size_t>(end)];
      bad[static_cast<std::size_t>(end)] += pair.value < bound;
    }
  const auto is_bad = [&](int unit) {
    return 2 * bad[static_cast<std::size_t>(unit)] > all[static_cast<std::size_t>(unit)];
  };
  Answer answer;
  for (int unit = 0; unit < world.scenario().units; ++unit)
    if (is_bad(unit)) answer.names.push_back(node(unit));
  for (const PairMean& pair : means) {
    if (pair.value >= bound || is_bad(pair.a) || is_bad(pair.b)) continue;
    Named link;
    link.kind = PartKind::link;
    link.ends = {pair.a};
    link.far_ends = {pair.b};
    answer.names.push_back(link);
  }
  return answer;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void bisect(const World& world, const std::vector<int>& units, Answer& answer) {
  if (units.size() == 1) {
    answer.names.push_back(node(units.front()));
    return;
  }
  const auto half = static_cast<std::ptrdiff_t>(units.size() / 2);
  std::vector<int> side(static_cast<std::size_t>(world.scenario().units), -1);
  for (std::size_t i = 0; i < units.size(); ++i)
    side[static_cast<std::size_t>(units[i])] = i < units.size() / 2 ? 0 : 1;
  double sum[2] = {0, 0};
  int n[2] = {0, 0};
  for (const LinkSample& sample : world.samples())
    for (const int end : {sample.from, sample.to}) {
      const int at = side[static_cast<std::size_t>(end)];
      if (at < 0) continue;
      sum[at] += sample.value;
      ++n[at];
    }
  if (n[0] == 0 || n[1] == 0) return;
  const double mean[2] = {sum[0] / n[0], sum[1] / n[1]};
  // One slow node of a half is diluted by the others of it.
  const double least = 0.05 / static_cast<double>(half);
  if (mean[0] < mean[1] * (1 - least)) bisect(world, {units.begin(), units.begin() + half}, answer);
  if (mean[1] < mean[0] * (1 - least)) bisect(world, {units.begin() + half, units.end()}, answer);
}

Named named_of(const SuspectPart& part) {
  Named named;
  named.kind = part.kind;
  named.ends = part.ends;
  if (part.kind == PartKind::link) {
    named.ends = {part.from};
    named.far_ends = {part.to};
  }
  return named;
}

}  // namespace

Answer ask_muster(World& world) {
  DecodeSettings settings;
  settings.least_slowdown = least_slowdown;
  std::vector<LinkSample> samples = world.samples();
  Culprits found = decode_culprits(samples, settings);
  // As p2p: where pairs share a part of the network, what is left without that may need another look.
  for (int look = 0; look < (found.contention.slow > 0 ? 2 : 1) && !found.worth_repeating.empty(); ++look) {
    for (const LinkCell& cell : found.worth_repeating)
      for (int i = 0; i < 3; ++i) samples.push_back(world.alone(cell.from, cell.to, i));
    found = decode_culprits(samples, settings);
  }
  Answer answer;
  for (const SuspectPart& group : found.groups) {
    Named named = named_of(group);
    named.is_group = true;
    named.far_ends = group.far_ends;
    answer.names.push_back(named);
  }
  for (const SuspectPart& part : found.parts) {
    const bool is_pair = part.kind == PartKind::link || part.kind == PartKind::either;
    if (!is_pair || part.is_repeated) answer.names.push_back(named_of(part));
  }
  answer.is_unmeasured = answer.names.empty() && !is_limit_useful(found, least_slowdown);
  answer.seen_from = found.seen_from;
  return answer;
}

Answer share_of_best(World& world) {
  double best = 0;
  for (const PairMean& pair : pair_means(world)) best = std::max(best, pair.value);
  return by_bad_pairs(world, 0.93 * best);
}

Answer fixed_threshold(World& world) {
  return by_bad_pairs(world, 0.8 * World::nominal());
}

Answer row_means(World& world) {
  const auto units = static_cast<std::size_t>(world.scenario().units);
  std::vector<double> sum(units);
  std::vector<int> n(units);
  for (const LinkSample& sample : world.samples())
    for (const int end : {sample.from, sample.to}) {
      sum[static_cast<std::size_t>(end)] += sample.value;
      ++n[static_cast<std::size_t>(end)];
    }
  for (std::size_t i = 0; i < units; ++i) sum[i] /= std::max(n[i], 1);
  const double mean = std::accumulate(sum.begin(), sum.end(), 0.0) / static_cast<double>(units);
  double squares = 0;
  for (const double one : sum) squares += (one - mean) * (one - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(units - 1));
  Answer answer;
  for (std::size_t i = 0; i < units; ++i)
    if (sum[i] < mean - 3 * deviation) answer.names.push_back(node(static_cast<int>(i)));
  return answer;
}

Answer halves(World& world) {
  std::vector<int> units(static_cast<std::size_t>(world.scenario().units));
  std::iota(units.begin(), units.end(), 0);
  Answer answer;
  bisect(world, units, answer);
  return answer;
}

Answer good_set(World& world) {
  const auto means = pair_means(world);
  std::vector<double> values;
  for (const PairMean& pair : means) values.push_back(pair.value);
  const double bound = 0.93 * median_of(values);
  const auto units = static_cast<std::size_t>(world.scenario().units);
  std::vector<std::vector<int>> bad(units);
  for (const PairMean& pair : means) {
    if (pair.value >= bound) continue;
    bad[static_cast<std::size_t>(pair.a)].push_back(pair.b);
    bad[static_cast<std::size_t>(pair.b)].push_back(pair.a);
  }
  std::vector<int> left(units);
  for (std::size_t i = 0; i < units; ++i) left[i] = static_cast<int>(bad[i].size());
  Answer answer;
  while (true) {
    const auto worst = std::max_element(left.begin(), left.end());
    if (*worst == 0) break;
    const auto unit = static_cast<std::size_t>(worst - left.begin());
    answer.names.push_back(node(static_cast<int>(unit)));
    left[unit] = 0;
    for (const int other : bad[unit])
      if (left[static_cast<std::size_t>(other)] > 0) --left[static_cast<std::size_t>(other)];
  }
  return answer;
}

}  // namespace muster::diagnosis
