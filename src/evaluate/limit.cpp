#include <cmath>
#include <fmt/format.h>

#include "base/units.hpp"
#include "evaluate/bounds.hpp"

namespace muster {

namespace {

std::string describe(const Limit& limit) {
  std::string text = "limit";
  if (limit.at_least) text += fmt::format(" at least {:.4g} %", *limit.at_least * 100);
  if (limit.at_least && limit.at_most) text += " and";
  if (limit.at_most) text += fmt::format(" at most {:.4g} %", *limit.at_most * 100);
  return text + " of what the hardware can do";
}

}  // namespace

Range limit_range(const Limit& limit, double capable) {
  if (!std::isfinite(capable) || capable <= 0) return {};
  Range range;
  if (limit.at_least) range.least = capable * *limit.at_least;
  if (limit.at_most) range.most = capable * *limit.at_most;
  return range;
}

Bound limit_bound(const Limit& limit, const ReadingGroup& group, const Readings& readings) {
  Bound bound;
  bound.kind = BoundKind::limit;
  bound.text = describe(limit);
  bound.remedy_if_missing =
      "judge it by a reference or by its peers: the probe could not determine the hardware's maximum";
  if (group.maximum && (limit.at_least || limit.at_most)) {
    bound.range = limit_range(limit, *group.maximum);
    bound.text += fmt::format(", {} as declared", format_value(*group.maximum, group.facts.unit));
    return bound;
  }
  const ReadingGroup* capable = readings.find(group.key->metric + ".capable", group.key->where);
  if (capable == nullptr) {
    bound.missing = "nothing to compare with: no capable value was measured";
    return bound;
  }
  if (!limit.at_least && !limit.at_most) {
    bound.missing = "the limit has neither at_least nor at_most";
    return bound;
  }
  // Both are sorted alike: one walk finds the partner of every reading.
  const auto partners = readings.of(*capable);
  auto partner = partners.begin();
  for (const Sample& sample : readings.of(group)) {
    while (partner != partners.end() && stands_before(*partner, sample)) ++partner;
    const bool is_partner = partner != partners.end() && !stands_before(sample, *partner);
    bound.ranges.push_back(is_partner ? limit_range(limit, partner->value) : Range{});
  }
  return bound;
}

}  // namespace muster
