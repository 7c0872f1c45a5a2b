#include "run/bisection.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace muster {

Bisection::Bisection(Group nodes) {
  split(nodes);
}

void Bisection::split(const Group& group) {
  if (group.size() < 2) {
    at_fault_.insert(at_fault_.end(), group.begin(), group.end());
    return;
  }
  const auto middle = group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2);
  round_.emplace_back(group.begin(), middle);
  round_.emplace_back(middle, group.end());
  parents_.push_back(group);
}

void Bisection::take(const std::vector<bool>& started) {
  const auto tried = std::exchange(round_, {});
  const auto parents = std::exchange(parents_, {});
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const bool first = started[2 * i];
    const bool second = started[2 * i + 1];
    has_started_ = has_started_ || first || second;
    if (first && second) apart_.push_back(parents[i]);
    if (!first) split(tried[2 * i]);
    if (!second) split(tried[2 * i + 1]);
  }
}

}  // namespace muster
