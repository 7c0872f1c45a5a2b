#include "diagnosis/matrices.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace muster::diagnosis {

std::string_view name_of(Shape shape) {
  constexpr std::array<std::string_view, shapes> names{"gaussian",
                                                       "transients",
                                                       "skewed overhead",
                                                       "one direction slower",
                                                       "collisions",
                                                       "two classes",
                                                       "rows of racks",
                                                       "busy uplinks",
                                                       "lognormal",
                                                       "heavy tails",
                                                       "spread of nodes",
                                                       "drift",
                                                       "direction of pairs",
                                                       "fat tree",
                                                       "dragonfly",
                                                       "three classes",
                                                       "three classes, labelled"};
  return names[static_cast<std::size_t>(shape)];
}

std::string_view name_of(FaultKind kind) {
  constexpr std::array<std::string_view, fault_kinds> names{
      "none",   "node",      "sender",     "link",     "rack",
      "eighth", "switch",    "trunk",      "receiver", "path",
      "rail",   "two nodes", "five nodes", "quarter",  "half of the rounds"};
  return names[static_cast<std::size_t>(kind)];
}

namespace {

/// A fixed sign for each pair.
bool coin(std::uint64_t salt, int a, int b) {
  std::uint64_t x =
      salt ^ (static_cast<std::uint64_t>(std::min(a, b)) << 32 | static_cast<std::uint64_t>(std::max(a, b)));
  x = (x ^ (x >> 31)) * 0x7FB5D329728EA185ULL;
  x = (x ^ (x >> 27)) * 0x81DADEF4BC2DD44DULL;
  return ((x ^ (x >> 33)) & 1) != 0;
}

bool contains(const std::vector<int>& units, int unit) {
  return std::find(units.begin(), units.end(), unit) != units.end();
}

}  // namespace

World::World(const Scenario& scenario, std::uint64_t seed)
    : scenario_(scenario), random_(seed * 7919 + 17), rack_size_(std::clamp(scenario.units / 4, 1, 16)) {
  salt_ = static_cast<std::uint64_t>(random_.below(1 << 30)) << 20 | 1;
  const double spread = scenario.shape == Shape::node_spread ? 0.01 : 0;
  for (int unit = 0; unit < scenario.units; ++unit) offsets_.push_back(spread * random_.normal());
  const auto rounds = plan();
  rounds_ = static_cast<int>(rounds.size());
  choose_fault(rounds.front());
  for (int round = 0; round < rounds_; ++round) measure(rounds[static_cast<std::size_t>(round)], round);
}

void World::choose_fault(const Matching& first) {
  const int units = scenario_.units;
  std::vector<int> order(static_cast<std::size_t>(units));
  std::iota(order.begin(), order.end(), 0);
  for (int i = units - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random_.below(i + 1))]);
  const auto take = [&](int n) { ends_.assign(order.begin(), order.begin() + std::min(n, units)); };
  const int racks = (units + rack_size_ - 1) / rack_size_;
  const auto take_if = [&](std::vector<int>& to, auto wanted) {
    for (int unit = 0; unit < units; ++unit)
      if (wanted(unit)) to.push_back(unit);
  };
  switch (scenario_.fault) {
    case FaultKind::none:
      break;
    case FaultKind::two_nodes:
      take(2);
      break;
    case FaultKind::five_nodes:
      take(5);
      break;
    case FaultKind::eighth:
      take(units / 8);
      break;
    case FaultKind::behind_switch:
      take(units / 5);
      break;
    case FaultKind::trunk:
      take(units / 5);
      far_ends_.assign(order.begin() + units / 5, order.begin() + units / 5 + units / 4);
      break;
    case FaultKind::quarter:
      take(units / 4);
      break;
    case FaultKind::link: {
      const auto& pair = first[static_cast<std::size_t>(random_.below(static_cast<int>(first.size())))];
      ends_ = {pair.first};
      far_ends_ = {pair.second};
      break;
    }
    case FaultKind::rack: {
      const int rack = random_.below(units / rack_size_);
      take_if(ends_, [&](int unit) { return rack_of(unit) == rack; });
      break;
    }
    case FaultKind::path: {
      const int rack = random_.below(units / rack_size_);
      const int other = (rack + 1 + random_.below(racks - 1)) % racks;
      take_if(ends_, [&](int unit) { return rack_of(unit) == rack; });
      take_if(far_ends_, [&](int unit) { return rack_of(unit) == other; });
      break;
    }
    case FaultKind::rail:
      take_if(ends_, [&](int unit) { return unit % 4 == 1; });
      break;
    default:
      take(1);
  }
  std::sort(ends_.begin(), ends_.end());
}

std::vector<World::Matching> World::plan() {
  const int units = scenario_.units;
  std::vector<Matching> rounds;
  std::vector<int> seats(static_cast<std::size_t>(units + units % 2));
  std::iota(seats.begin(), seats.end(), 0);
  const int wanted = scenario_.rounds > 0 ? scenario_.rounds : static_cast<int>(seats.size()) - 1;
  for (int round = 0; round < wanted; ++round) {
    if (scenario_.rounds > 0)
      for (std::size_t i = seats.size() - 1; i > 0; --i)
        std::swap(seats[i], seats[static_cast<std::size_t>(random_.below(static_cast<int>(i) + 1))]);
    Matching matching;
    for (std::size_t i = 0; i < seats.size() / 2; ++i) {
      const int a = seats[i];
      const int b = seats[seats.size() - 1 - i];
      if (a < units && b < units) matching.emplace_back(a, b);
    }
    rounds.push_back(std::move(matching));
    std::rotate(seats.begin() + 1, seats.begin() + 2, seats.end());
  }
  return rounds;
}

/// By pair of the round: the share of its speed that others leave it.
std::vector<double> World::sharing(const Matching& matching) {
  std::vector<double> left(matching.size(), 1);
  const Shape shape = scenario_.shape;
  if (shape == Shape::collisions)
    for (double& one : left)
      if (random_.uniform() < 0.05) one = 0.5;
  if (shape == Shape::busy_uplinks)
    for (std::size_t i = 0; i < matching.size(); ++i)
      if (rack_of(matching[i].first) != rack_of(matching[i].second) && random_.uniform() < 0.35)
        left[i] = 0.6 + 0.3 * random_.uniform();
  if (shape != Shape::fat_tree && shape != Shape::dragonfly) return left;
  // Uplinks hold two flows each at full speed; a dragonfly has fewer links, of which any two groups use their own.
  const int group_size = shape == Shape::fat_tree ? rack_size_ : 2 * rack_size_;
  const int links = std::max(2, group_size / 2);
  std::map<std::pair<int, int>, int> flows;
  std::vector<std::array<std::pair<int, int>, 2>> ways(matching.size());
  for (std::size_t i = 0; i < matching.size(); ++i) {
    const int a = matching[i].first / group_size;
    const int b = matching[i].second / group_size;
    if (a == b) continue;
    const int link = random_.below(links);
    ways[i] = shape == Shape::fat_tree ? std::array{std::pair{a + 1, link}, std::pair{b + 1, random_.below(links)}}
                                       : std::array{std::pair{a + 1, link}, std::pair{b + 1, link}};
    for (const auto& way : ways[i]) ++flows[way];
  }
  constexpr double flows_at_full_speed = 3;
  for (std::size_t i = 0; i < matching.size(); ++i)
    for (const auto& way : ways[i])
      if (way.first > 0) left[i] = std::min(left[i], flows_at_full_speed / flows[way]);
  return left;
}

/// Of ln(time); its robust standard deviation is scenario.noise.
double World::noise_of_reading() {
  const double noise = scenario_.noise;
  switch (scenario_.shape) {
    case Shape::lognormal:
      return 1.35 * noise * (std::exp(0.75 * random_.normal()) - 1);
    case Shape::skewed:
      return noise / 0.713 * random_.exponential();
    case Shape::heavy_tails:
      return noise / 1.134 * random_.student3();
    case Shape::transients: {
      const double usual = noise * random_.normal();
      return random_.uniform() < 0.02 ? usual - std::log(0.3 + 0.4 * random_.uniform()) : usual;
    }
    default:
      return noise * random_.normal();
  }
}

double World::static_slowness(int from, int to) const {
  const bool is_upward = from < to;
  double slowness = offsets_[static_cast<std::size_t>(from)] + offsets_[static_cast<std::size_t>(to)];
  if (scenario_.shape == Shape::asymmetric && is_upward) slowness -= std::log(0.9);
  if (scenario_.shape == Shape::pair_asymmetric && is_upward == coin(salt_, from, to)) slowness -= std::log(0.92);
  const bool is_rack = rack_of(from) == rack_of(to);
  if (scenario_.shape == Shape::two_classes && !is_rack) slowness -= std::log(0.8);
  if (scenario_.shape == Shape::rows && !is_rack) {
    // Neighbouring racks are of different rows.
    const int rows = std::max(2, scenario_.units / rack_size_ / 4);
    slowness -= std::log(rack_of(from) % rows == rack_of(to) % rows ? 0.75 : 0.55);
  }
  if (scenario_.shape == Shape::three_classes || scenario_.shape == Shape::labelled)
    if (!is_rack) slowness -= std::log(rack_of(from) / 2 == rack_of(to) / 2 ? 0.8 : 0.6);
  return slowness;
}

double World::left_by_fault(int from, int to) const {
  const bool is_from = contains(ends_, from);
  const bool is_to = contains(ends_, to);
  bool is_hit = is_from || is_to;
  switch (scenario_.fault) {
    case FaultKind::none:
      return 1;
    case FaultKind::sender:
      is_hit = is_from;
      break;
    case FaultKind::receiver:
      is_hit = is_to;
      break;
    case FaultKind::link:
    case FaultKind::trunk:
    case FaultKind::path:
      is_hit = (is_from && contains(far_ends_, to)) || (is_to && contains(far_ends_, from));
      break;
    case FaultKind::rack:
    case FaultKind::behind_switch:
    case FaultKind::rail:
      is_hit = is_from != is_to;
      break;
    case FaultKind::half_of_rounds:
      is_hit = is_hit && is_active_;
      break;
    default:
      break;
  }
  return is_hit ? 1 - scenario_.slowdown : 1;
}

LinkSample World::reading(int from, int to, int round, double shared) {
  double slowness = noise_of_reading() + static_slowness(from, to);
  if (scenario_.shape == Shape::drift) slowness += 0.1 * std::min(1.0, static_cast<double>(round) / rounds_);
  LinkSample sample;
  sample.from = from;
  sample.to = to;
  sample.round = round;
  sample.value = nominal() * std::exp(-slowness) * std::min(shared, left_by_fault(from, to));
  if (scenario_.shape == Shape::labelled && rack_of(from) != rack_of(to))
    sample.class_id = rack_of(from) / 2 == rack_of(to) / 2 ? 1 : 2;
  return sample;
}

void World::measure(const Matching& matching, int round) {
  const auto left = sharing(matching);
  is_active_ = random_.uniform() < 0.5;
  for (std::size_t i = 0; i < matching.size(); ++i) {
    const auto& [a, b] = matching[i];
    samples_.push_back(reading(a, b, round, left[i]));
    samples_.push_back(reading(b, a, round, left[i]));
  }
}

LinkSample World::alone(int from, int to, int repetition) {
  is_active_ = random_.uniform() < 0.5;
  LinkSample sample = reading(from, to, rounds_ + repetition, 1);
  sample.is_alone = true;
  return sample;
}

}  // namespace muster::diagnosis
