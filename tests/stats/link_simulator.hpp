/// A machine whose pairs are measured in rounds, with faults that are known: for tests and for bench/culprit_simulator.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "stats/culprits.hpp"

namespace muster::simulated {

/// SplitMix64 and Box-Muller: the same numbers on every system.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double r = std::sqrt(-2 * std::log(uniform()));
    const double angle = 2 * 3.14159265358979323846 * uniform();
    has_spare_ = true;
    spare_ = r * std::sin(angle);
    return r * std::cos(angle);
  }

 private:
  std::uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

struct Fault {
  PartKind kind = PartKind::node;
  int unit = 0;                  ///< a link: from
  int partner = -1;              ///< a link: to
  double slowdown = 0;           ///< 0.2: 80 % of the speed is left
  bool is_intermittent = false;  ///< in each round with a probability of one half
  bool is_one_way = false;       ///< a link: only unit -> partner
};

struct Machine {
  int units = 0;
  double noise = 0.03;
  double speed = 25;
  /// Units per node; pairs within a node are class 1, three times as fast.
  int units_per_node = 1;
  std::vector<Fault> faults;
};

using Matching = std::vector<std::pair<int, int>>;

/// Disjoint pairs of all units (of all but one, if odd), at random.
inline Matching random_matching(int units, Random& random) {
  std::vector<int> order(static_cast<std::size_t>(units));
  std::iota(order.begin(), order.end(), 0);
  for (int i = units - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.below(i + 1))]);
  }
  Matching pairs;
  for (std::size_t i = 0; i + 1 < order.size(); i += 2) pairs.emplace_back(order[i], order[i + 1]);
  return pairs;
}

/// Round `round` of the circle method: after units - 1 rounds (units, if odd) every pair has met once.
inline Matching circle_matching(int units, int round) {
  const int seats = units + units % 2;
  Matching pairs;
  for (int i = 0; i < seats / 2; ++i) {
    const int a = i == 0 ? seats - 1 : (round + i) % (seats - 1);
    const int b = (round + seats - 1 - i) % (seats - 1);
    if (a < units && b < units) pairs.emplace_back(a, b);
  }
  return pairs;
}

/// What is left of the speed from -> to while the faults of `is_active` are present.
inline double left_of_speed(const Machine& machine, const std::vector<bool>& is_active, int from, int to) {
  double left = 1;
  for (std::size_t i = 0; i < machine.faults.size(); ++i) {
    const Fault& fault = machine.faults[i];
    if (!is_active[i]) continue;
    bool is_hit = false;
    if (fault.kind == PartKind::node) is_hit = fault.unit == from || fault.unit == to;
    if (fault.kind == PartKind::sender) is_hit = fault.unit == from;
    if (fault.kind == PartKind::receiver) is_hit = fault.unit == to;
    if (fault.kind == PartKind::link) {
      is_hit = (fault.unit == from && fault.partner == to) ||
               (!fault.is_one_way && fault.unit == to && fault.partner == from);
    }
    // The slowest part sets the speed; slow parts in a row don't multiply.
    if (is_hit) left = std::min(left, 1 - fault.slowdown);
  }
  return left;
}

inline std::vector<bool> active_faults(const Machine& machine, Random& random) {
  std::vector<bool> is_active;
  for (const Fault& fault : machine.faults) is_active.push_back(!fault.is_intermittent || random.next() % 2 == 0);
  return is_active;
}

inline LinkSample measure(const Machine& machine, const std::vector<bool>& is_active, Random& random, int from, int to,
                          int round) {
  LinkSample sample;
  sample.from = from;
  sample.to = to;
  sample.round = round;
  const bool is_inside = from / machine.units_per_node == to / machine.units_per_node;
  sample.class_id = is_inside && machine.units_per_node > 1 ? 1 : 0;
  // A link of the network doesn't touch what happens within a node.
  const double left = sample.class_id == 1 ? 1 : left_of_speed(machine, is_active, from, to);
  sample.value =
      machine.speed * (sample.class_id == 1 ? 3 : 1) * left * std::max(1 + machine.noise * random.normal(), 0.01);
  return sample;
}

inline void measure_round(const Machine& machine, const Matching& pairs, int round, Random& random,
                          std::vector<LinkSample>& samples) {
  const auto is_active = active_faults(machine, random);
  for (const auto& [a, b] : pairs) {
    samples.push_back(measure(machine, is_active, random, a, b, round));
    samples.push_back(measure(machine, is_active, random, b, a, round));
  }
}

inline std::vector<LinkSample> random_rounds(const Machine& machine, int rounds, Random& random) {
  std::vector<LinkSample> samples;
  for (int round = 0; round < rounds; ++round) {
    measure_round(machine, random_matching(machine.units, random), round, random, samples);
  }
  return samples;
}

inline std::vector<LinkSample> all_rounds(const Machine& machine, Random& random) {
  std::vector<LinkSample> samples;
  for (int round = 0; round < machine.units - 1 + machine.units % 2; ++round) {
    measure_round(machine, circle_matching(machine.units, round), round, random, samples);
  }
  return samples;
}

/// What a careful judge does: cells that look bad are measured again alone, `times` times, and all is decoded again.
inline Culprits decode_with_repeats(const Machine& machine, std::vector<LinkSample> samples, Random& random,
                                    const DecodeSettings& settings = {}, int times = 3) {
  Culprits found = decode_culprits(samples, settings);
  if (found.worth_repeating.empty()) return found;
  for (const LinkCell& cell : found.worth_repeating) {
    for (int i = 0; i < times; ++i) {
      samples.push_back(measure(machine, active_faults(machine, random), random, cell.from, cell.to, 1000000 + i));
      samples.back().is_alone = true;
    }
  }
  return decode_culprits(samples, settings);
}

inline bool is_the_fault(const SuspectPart& part, const Fault& fault) {
  if (part.kind != fault.kind) return false;
  if (part.kind != PartKind::link) return part.ends == std::vector<int>{fault.unit};
  const bool is_forward = part.from == fault.unit && part.to == fault.partner;
  const bool is_backward = part.to == fault.unit && part.from == fault.partner;
  return fault.is_one_way ? is_forward && !part.is_both_ways : (is_forward || is_backward) && part.is_both_ways;
}

}  // namespace muster::simulated
