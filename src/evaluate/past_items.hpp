/// What earlier runs measured, and whose readings of this one it is to be compared with.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "evaluate/attendance.hpp"
#include "evaluate/readings.hpp"
#include "model/item.hpp"
#include "model/past_run.hpp"
#include "model/plan.hpp"
#include "stats/drift.hpp"

namespace muster {

/// Plain data: the evaluation does not depend on its storage.
struct PastValues {
  /// The nodes of an item are left out of the key: a device may have moved.
  std::map<SeriesKey, std::vector<DriftPoint>> series;
  std::set<SeriesKey> of_virtual;  ///< of virtual machines, whose CPUs a hypervisor places; without nodes, too
  /// Groups of like series (same case, metric and labels) that a run judges by history.
  std::size_t groups = 1;

  void add(SeriesKey key, std::vector<DriftPoint> points, bool is_virtual = false);
  /// nullptr: there are none.
  [[nodiscard]] const std::vector<DriftPoint>* find(SeriesKey key) const;
  /// Sets `groups`: those of the plan's cases of which a series has enough values to be judged by.
  void count_groups(const Plan& plan);
};

/// One case's readings, by the items that values are kept of.
class PastItems {
 public:
  /// `past` may be nullptr: then nothing is named.
  PastItems(const Case& item, const ProbeSpec& probe, const World& world, const Attendance& attendance,
            const PastValues* past);

  /// Earlier values of the item that each reading of the group is of; index = its place in the group.
  struct Of {
    SeriesKey key;
    double value = 0;  ///< median over all of its readings here; NaN: none has a value
    const std::vector<DriftPoint>* points = nullptr;
    bool is_virtual = false;
  };
  [[nodiscard]] std::vector<Of> of(const ReadingGroup& group, std::span<const Sample> samples) const;
  [[nodiscard]] std::size_t groups() const { return past_->groups; }

 private:
  [[nodiscard]] SeriesKey key_of(const ReadingGroup& group, const Sample& sample) const;

  const Case& item_;
  const ProbeSpec& probe_;
  const PastValues* past_;
  std::string simulated_;
  bool is_by_node_ = false;
  std::vector<std::string> node_of_;  ///< index = rank
  ItemNames names_;
};

}  // namespace muster
