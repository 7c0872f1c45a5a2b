#include "model/item.hpp"

#include <algorithm>

#include "base/names.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// `a; b` -> a, b.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (const std::string& part : split(text, ';'))
    if (const auto kept = trim(part); !kept.empty()) parts.emplace_back(kept);
  return parts;
}

/// `GPU 0000:c1:00.0 (GPU-1234)` -> GPU-1234; empty: none.
std::string in_brackets(std::string_view label) {
  const auto open = label.rfind('(');
  const auto close = label.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return std::string(label.substr(open + 1, close - open - 1));
}

std::string taken(Labels& labels, std::string_view key) {
  const auto found = std::find_if(labels.begin(), labels.end(), [&](const auto& one) { return one.first == key; });
  if (found == labels.end()) return {};
  std::string value = std::move(found->second);
  labels.erase(found);
  return value;
}

}  // namespace

constexpr std::string_view item_kind_names[] = {"node", "device", "link"};

std::string_view to_string(ItemKind kind) {
  return enum_name(item_kind_names, kind);
}

void ItemNames::add_rank(std::string node, const std::vector<Fact>& facts) {
  Rank rank{std::move(node), {}, {}};
  for (const Fact& fact : facts) {
    const std::string value = printable_line(fact.value, 800);
    if (fact.key == "device.uuid" && rank.own.empty()) rank.own = value;
    if (fact.key == "data.device" && rank.own.empty()) {
      rank.own = in_brackets(value);
      if (rank.own.empty()) rank.own = rank.node + " " + value;
    }
    if (fact.key != "tested") continue;
    for (const std::string& part : parts_of(value)) {
      const auto words = split(part, ' ');
      if (words.size() < 2) continue;
      const std::string name = words[1] == "-" ? rank.node + " " + words[0] : words[1];
      rank.tested.push_back({words[0], name});
      devices_[{rank.node, words[0]}] = name;
    }
  }
  ranks_.push_back(std::move(rank));
}

void ItemNames::add_link(const std::string& metric, int rank, int peer) {
  auto& pairs = pairs_[metric];
  pairs.emplace(rank, peer);
  if (rank != peer && pairs.count({peer, rank}) != 0) both_ways_.insert(metric);
}

std::string ItemNames::device_at(const std::string& node, const std::string& address) const {
  const auto found = devices_.find({node, address});
  return found == devices_.end() ? std::string() : found->second;
}

/// Empty: its readings are those of the node.
std::string ItemNames::device_of(int rank, Labels& labels) const {
  const Rank& of = ranks_[static_cast<std::size_t>(rank)];
  if (const std::string* address = find_label(labels, "device")) {
    std::string device = device_at(of.node, *address);
    if (!device.empty()) taken(labels, "device");
    return device;
  }
  if (of.tested.size() == 1) return of.tested.front().name;
  return of.tested.empty() ? of.own : std::string();
}

MeasuredItem ItemNames::link(const std::string& metric, MeasuredItem from, const MeasuredItem& to) const {
  from.kind = ItemKind::link;
  from.peer_node = to.node;
  if (from.name == to.name) {
    from.name = "within " + from.name;
  } else if (both_ways_.count(metric) != 0) {
    from.name += " -> " + to.name;
  } else {
    from.name = std::min(from.name, to.name) + " -- " + std::max(from.name, to.name);
  }
  return from;
}

MeasuredItem ItemNames::item(const std::string& metric, int rank, int peer, Labels& labels) const {
  if (!has(rank)) return {};
  const auto named = [&](int which, const std::string& device) {
    const std::string& node = ranks_[static_cast<std::size_t>(which)].node;
    return device.empty() ? MeasuredItem{ItemKind::node, node, node, {}}
                          : MeasuredItem{ItemKind::device, device, node, {}};
  };
  MeasuredItem mine = named(rank, device_of(rank, labels));
  if (const std::string* to = find_label(labels, "to")) {
    const std::string device = device_at(mine.node, *to);
    if (device.empty()) return mine;
    taken(labels, "to");
    // Pairs of one rank's devices have no ranks to be paired by: they are copies from the one to the other.
    return {ItemKind::link, mine.name + " -> " + device, mine.node, mine.node};
  }
  if (!has(peer)) return mine;
  Labels of_peer;
  return link(metric, mine, named(peer, device_of(peer, of_peer)));
}

}  // namespace muster
