#include "evaluate/like_items.hpp"

#include "evaluate/possible.hpp"

namespace muster {

void LikeItems::add(const Case& item, const ProbeSpec& probe, const CaseRecord& record, const World& world) {
  const RankMap places(world);
  const Plausible kept = plausible(record, probe, world, &item);
  const Attendance attendance = attend(kept.of(record), places);
  const Readings readings(item, probe, attendance, places);
  for (const ReadingGroup& group : readings.groups()) {
    auto& values = values_[{group.key->metric, group.key->where}];
    for (const double value : values_of(readings.of(group))) values.push_back(value);
  }
}

const std::vector<double>& LikeItems::of(const ReadingGroup& group) const {
  static const std::vector<double> none;
  const auto found = values_.find({group.key->metric, group.key->where});
  return found == values_.end() ? none : found->second;
}

}  // namespace muster
