#include "diagnosis/score.hpp"

#include <algorithm>

namespace muster::diagnosis {

namespace {

bool is_group(FaultKind kind) {
  return kind == FaultKind::rack || kind == FaultKind::behind_switch || kind == FaultKind::trunk ||
         kind == FaultKind::path || kind == FaultKind::rail;
}

PartKind kind_of(FaultKind kind) {
  if (kind == FaultKind::sender) return PartKind::sender;
  return kind == FaultKind::receiver ? PartKind::receiver : PartKind::node;
}

bool are_same(std::vector<int> a, std::vector<int> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

bool are_sides(const Named& named, const World& world) {
  return (are_same(named.ends, world.ends()) && are_same(named.far_ends, world.far_ends())) ||
         (are_same(named.ends, world.far_ends()) && are_same(named.far_ends, world.ends()));
}

/// The units of `ends` that met one of `others` in the rounds.
std::vector<int> seen_ends(const World& world, const std::vector<int>& ends, const std::vector<int>& others) {
  const auto is_in = [](const std::vector<int>& units, int unit) {
    return std::find(units.begin(), units.end(), unit) != units.end();
  };
  std::vector<int> seen;
  for (const LinkSample& sample : world.samples())
    for (const auto& [end, other] : {std::pair(sample.from, sample.to), std::pair(sample.to, sample.from)})
      if (is_in(ends, end) && is_in(others, other) && !is_in(seen, end)) seen.push_back(end);
  return seen;
}

/// All of `seen`, and none but of `ends`.
bool is_seen_end(std::vector<int> named, std::vector<int> seen, std::vector<int> ends) {
  for (auto* units : {&named, &seen, &ends}) std::sort(units->begin(), units->end());
  return std::includes(named.begin(), named.end(), seen.begin(), seen.end()) &&
         std::includes(ends.begin(), ends.end(), named.begin(), named.end());
}

/// Which unit is behind a path that it never crossed, no reading shows.
bool is_seen_path(const Named& named, const World& world) {
  const auto& one = world.ends();
  const auto& other = world.far_ends();
  const auto seen = seen_ends(world, one, other);
  const auto far_seen = seen_ends(world, other, one);
  return (is_seen_end(named.ends, seen, one) && is_seen_end(named.far_ends, far_seen, other)) ||
         (is_seen_end(named.ends, far_seen, other) && is_seen_end(named.far_ends, seen, one));
}

bool is_right(const Named& named, const World& world) {
  const FaultKind fault = world.scenario().fault;
  if (fault == FaultKind::none) return false;
  if (fault == FaultKind::path) return named.is_group && is_seen_path(named, world);
  if (is_group(fault)) return named.is_group && are_sides(named, world);
  if (fault == FaultKind::link) return named.kind == PartKind::link && are_sides(named, world);
  const auto& ends = world.ends();
  return named.kind == kind_of(fault) && !named.is_group && named.ends.size() == 1 &&
         std::find(ends.begin(), ends.end(), named.ends.front()) != ends.end();
}

/// `A or B`, and one of them is at fault.
bool is_tie(const Named& named, const World& world) {
  if (named.kind != PartKind::either) return false;
  return std::any_of(named.ends.begin(), named.ends.end(), [&](int end) {
    return std::count(world.ends().begin(), world.ends().end(), end) +
               std::count(world.far_ends().begin(), world.far_ends().end(), end) >
           0;
  });
}

}  // namespace

void Score::add(const World& world, const Answer& answer) {
  const FaultKind fault = world.scenario().fault;
  Score one;
  one.runs = 1;
  one.unmeasured = answer.is_unmeasured;
  if (fault != FaultKind::none)
    one.wanted = is_group(fault) || fault == FaultKind::link ? 1 : static_cast<int>(world.ends().size());
  int tied = 0;
  for (const Named& named : answer.names) {
    if (is_tie(named, world)) {
      ++tied;
      continue;
    }
    ++one.names;
    one.right += is_right(named, world);
    if (is_group(fault) && !named.is_group && named.ends.size() == 1) one.single = 1;
  }
  one.found = std::min(one.right, one.wanted);
  one.false_runs = one.names > one.right;
  one.ties = tied > 0 && one.names == 0;
  add(one);
}

void Score::add(const Score& other) {
  runs += other.runs;
  wanted += other.wanted;
  found += other.found;
  names += other.names;
  right += other.right;
  false_runs += other.false_runs;
  unmeasured += other.unmeasured;
  ties += other.ties;
  single += other.single;
}

}  // namespace muster::diagnosis
