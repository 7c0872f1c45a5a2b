#include "evaluate/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace muster {

bool Range::judges() const {
  return (least || most) && !(least && std::isnan(*least)) && !(most && std::isnan(*most));
}

double Range::excess(double value) const {
  const auto share = [](double distance, double end) {
    return distance / std::max(std::fabs(end), std::numeric_limits<double>::min());
  };
  if (least && value < *least) return share(*least - value, *least);
  if (most && value > *most) return share(value - *most, *most);
  return 0;
}

std::vector<Bound> bounds_of(const Expectation& asked, const ReadingGroup& group, const Readings& readings,
                             const CaseFacts& facts) {
  std::vector<Bound> bounds;
  if (asked.reference || asked.profile_reference) bounds.push_back(reference_bound(asked, group, facts));
  if (asked.limit) {
    bounds.push_back(limit_bound(*asked.limit, group, readings));
    if (group.maximum) bounds.back().place = asked.place;
  }
  if (asked.peers) bounds.push_back(peers_bound(*asked.peers, group, readings));
  if (asked.history) bounds.push_back(history_bound(*asked.history, group, readings, facts));
  for (Bound& bound : bounds)
    if (bound.missing.empty() && bound.ranges.empty() && !bound.range.judges()) {
      bound.missing = bound.text + " is not a number";
      bound.range = {};
    }
  const bool has_other = std::any_of(bounds.begin(), bounds.end(), [](const Bound& b) { return !b.is_optional; });
  // Only history is never missed.
  for (Bound& bound : bounds) bound.is_optional = bound.is_optional && (has_other || bound.kind == BoundKind::history);
  return bounds;
}

std::string_view remedy_for(BoundKind kind) {
  switch (kind) {
    case BoundKind::reference:
      return "compare with an earlier report of the node: clocks, cables, firmware and settings; if the hardware was "
             "changed on purpose, change the reference";
    case BoundKind::limit:
      return "check that the link or memory runs at its full width and rate, and what else runs on the node";
    case BoundKind::peers:
      return "compare with the ranks that are not named: clocks, temperature, cables, other processes";
    case BoundKind::history:
      return "find what changed since the earlier runs: drivers, firmware, settings, parts";
  }
  return "";
}

}  // namespace muster
