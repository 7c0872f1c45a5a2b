#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/units.hpp"
#include "evaluate/bounds.hpp"
#include "stats/stats.hpp"

namespace muster {

Range peers_range(const Peers& peers, Better better, std::span<const double> values) {
  const Summary summary = summarize(values);
  if (summary.n == 0) return {};
  // |z| <= max_z solved for x, so that the bound that is printed is the bound that judges (see modified_z).
  const double scale = std::max(summary.mad, peers.mad_floor * std::fabs(summary.median));
  const double reach = peers.max_z * scale / 0.6745;
  Range range;
  if (better != Better::lower) range.least = summary.median - reach;
  if (better != Better::higher) range.most = summary.median + reach;
  return range;
}

Bound peers_bound(const Peers& peers, const ReadingGroup& group, const Readings& readings) {
  const auto values = readings.peers_of(group);
  Bound bound;
  bound.kind = BoundKind::peers;
  const auto enough = static_cast<std::size_t>(std::max(peers.min_items, 1));
  if (values.size() < enough) {
    bound.missing = fmt::format("{}{} has {} {}, its peers judge from {}", group.metric, where_clause(group.where),
                                values.size(), values.size() == 1 ? "value" : "values", enough);
    bound.remedy_if_missing = "use more ranks, or judge it by a reference or a limit";
    bound.is_optional = true;
    return bound;
  }
  bound.range = peers_range(peers, group.facts.better, values);
  bound.text = fmt::format("peers: median {} of {} readings, z at most {:.4g}",
                           format_value(*median(values), group.facts.unit), values.size(), peers.max_z);
  return bound;
}

}  // namespace muster
