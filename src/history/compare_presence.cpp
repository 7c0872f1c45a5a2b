// What one run measured and the other did not.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "history/compare_parts.hpp"

namespace muster {

namespace {

/// `p2p%00000002`, also of `p2p%00000002@nid001`: values have the id without the node.
std::string common_part(const std::string& case_id) {
  return case_id.substr(0, case_id.find('@'));
}

/// One run, as far as the other one is held against it.
struct Side {
  /// Cases that were not skipped, by id; one of each node (--per-node) also by what is common to theirs.
  std::map<std::string, const PastCase*> asked;
  std::set<std::string> nodes;
  std::set<std::string> devices;  ///< of which it has values
};

Side side_of(const PastRun& run) {
  Side side;
  for (const PastCase& one : run.cases)
    if (one.verdict != Verdict::skip) {
      side.asked.emplace(one.id, &one);
      side.asked.emplace(common_part(one.id), &one);
    }
  for (const NodeProvenance& node : run.nodes) side.nodes.insert(node.node);
  for (const PastValue& value : run.values)
    if (value.key.item.kind == ItemKind::device) side.devices.insert(value.key.item.name);
  return side;
}

/// The case that the item was measured in; nullptr: it was not asked.
const PastCase* case_of(const Side& side, const std::string& id, const MeasuredItem& item) {
  auto found = side.asked.find(id + "@" + item.node);
  if (found == side.asked.end()) found = side.asked.find(id);
  return found == side.asked.end() ? nullptr : found->second;
}

/// Whether this side could have had a value of the item: its nodes were there, and its disappearance is not reported
/// elsewhere.
bool could_have(const Side& side, const MeasuredItem& item) {
  const bool has_nodes = (item.node.empty() || side.nodes.count(item.node) > 0) &&
                         (item.peer_node.empty() || side.nodes.count(item.peer_node) > 0);
  const bool is_lost_device =
      item.kind == ItemKind::device && !side.devices.empty() && side.devices.count(item.name) == 0;
  return has_nodes && !is_lost_device;
}

/// A job that never began has no shape.
bool has_other_ranks(const PastCase& a, const PastCase& b) {
  if (a.ranks <= 0 || b.ranks <= 0 || a.nodes <= 0 || b.nodes <= 0) return false;
  return static_cast<std::int64_t>(a.ranks) * b.nodes != static_cast<std::int64_t>(b.ranks) * a.nodes;
}

std::string shape_of(const PastCase& one) {
  return fmt::format("{} on {}", counted(static_cast<std::size_t>(std::max(one.ranks, 0)), "rank"),
                     counted(static_cast<std::size_t>(std::max(one.nodes, 0)), "node"));
}

using Values = std::vector<const PastValue*>;

bool has_like(const Values& values, const PastValue& one) {
  return std::any_of(values.begin(), values.end(), [&](const PastValue* other) {
    return other->key.shape == one.key.shape && other->key.where == one.key.where;
  });
}

bool has_shape_of(const Values& values, const PastValue& one) {
  return std::any_of(values.begin(), values.end(),
                     [&](const PastValue* other) { return other->key.shape == one.key.shape; });
}

class Presence {
 public:
  Presence(const PastRun& before, const PastRun& after, Comparison& comparison)
      : before_(side_of(before)), after_(side_of(after)), comparison_(comparison) {
    for (const PastValue& value : before.values) things_[key_of(value)].before.push_back(&value);
    for (const PastValue& value : after.values) things_[key_of(value)].after.push_back(&value);
  }

  void fill() {
    for (const auto& [key, thing] : things_) {
      const auto& item = (thing.after.empty() ? thing.before : thing.after).front()->key.item;
      const PastCase* then = case_of(before_, std::get<0>(key), item);
      const PastCase* now = case_of(after_, std::get<0>(key), item);
      if (then != nullptr && now != nullptr) take(key, thing, *then, *now);
    }
    add(gone_, comparison_.values_gone);
    add(new_, comparison_.values_new);
    for (auto& [key, items] : relabelled_) {
      auto& [id, metric, then, now] = key;
      comparison_.relabelled.push_back({id, metric, then, now, std::move(items)});
    }
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;   ///< case, metric, item
  using Group = std::tuple<std::string, std::string, bool, bool>;  ///< case, metric, is_worse, is_less_known
  using Items = std::vector<std::string>;
  struct Thing {
    Values before;
    Values after;
  };

  static Key key_of(const PastValue& value) { return {value.key.case_id, value.key.metric, value.key.item.name}; }
  static void add(std::map<Group, Items>& groups, std::vector<OneSided>& to) {
    for (auto& [group, items] : groups)
      to.push_back({std::get<0>(group), std::get<1>(group), std::move(items), std::get<2>(group), std::get<3>(group)});
  }

  void take(const Key& key, const Thing& thing, const PastCase& then, const PastCase& now) {
    const auto& [id, metric, item] = key;
    if (!thing.before.empty() && !thing.after.empty()) return take_both(key, thing, then, now);
    const bool is_gone = thing.after.empty();
    const PastValue& value = is_gone ? *thing.before.front() : *thing.after.front();
    if (has_other_ranks(then, now)) return count_other_shape(thing.before.size(), then, now);
    if (!could_have(is_gone ? after_ : before_, value.key.item)) return;
    const bool is_less_known = is_gone && is_in(DisturbedItem{metric, item}, now.disturbed);
    const bool is_worse = is_gone && !is_less_known && now.verdict == Verdict::pass;
    (is_gone ? gone_ : new_)[{id, metric, is_worse, is_less_known}].push_back(item);
  }

  void take_both(const Key& key, const Thing& thing, const PastCase& then, const PastCase& now) {
    const auto& [id, metric, item] = key;
    const auto lone = [](const Values& of, const Values& others) {
      return std::count_if(of.begin(), of.end(), [&](const PastValue* one) { return !has_like(others, *one); });
    };
    const auto lone_before = static_cast<std::size_t>(lone(thing.before, thing.after));
    const auto lone_after = lone(thing.after, thing.before);
    if (lone_before < thing.before.size()) {
      comparison_.one_sided += static_cast<int>(lone_before) + static_cast<int>(lone_after);
      return;
    }
    const bool is_same_shape = std::any_of(thing.before.begin(), thing.before.end(),
                                           [&](const PastValue* one) { return has_shape_of(thing.after, *one); });
    if (!is_same_shape) return count_other_shape(thing.before.size(), then, now);
    relabelled_[{id, metric, thing.before.front()->key.where, thing.after.front()->key.where}].push_back(item);
  }

  void count_other_shape(std::size_t values, const PastCase& then, const PastCase& now) {
    comparison_.other_shape += static_cast<int>(values);
    if (!comparison_.shape_before.empty()) return;
    comparison_.shape_before = shape_of(then);
    comparison_.shape_after = shape_of(now);
  }

  Side before_;
  Side after_;
  Comparison& comparison_;
  std::map<Key, Thing> things_;
  std::map<Group, Items> gone_;
  std::map<Group, Items> new_;
  std::map<std::tuple<std::string, std::string, Labels, Labels>, Items> relabelled_;
};

}  // namespace

void compare_presence(const PastRun& before, const PastRun& after, Comparison& comparison) {
  // Another machine is another thing in all that it has.
  if (before.simulated != after.simulated) {
    comparison.other_machine = static_cast<int>(before.values.size());
    return;
  }
  Presence(before, after, comparison).fill();
}

}  // namespace muster
