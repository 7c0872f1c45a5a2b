#include "stats/separated.hpp"

#include <algorithm>

namespace muster {

double separated_bound(std::vector<double> offsets, double bound, double distance) {
  const double most = most_of_tail * bound;
  std::sort(offsets.begin(), offsets.end());
  for (const double offset : offsets) {
    if (offset > bound) break;
    bound = std::min(most, std::max(bound, distance * offset));
  }
  return bound;
}

}  // namespace muster
