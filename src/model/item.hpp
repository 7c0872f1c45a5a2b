/// What a value belongs to, wherever its ranks stood: a node, a device, or the link between two of either.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/observation.hpp"

namespace muster {

enum class ItemKind : std::uint8_t { node, device, link };

[[nodiscard]] std::string_view to_string(ItemKind kind);

struct MeasuredItem {
  ItemKind kind = ItemKind::node;
  /// `nid001`; the UUID of a device (else `nid001 0000:c1:00.0`); `nid001 -> nid002` as data went, `nid001 -- nid002`
  /// where both ways are one value, `within nid001`.
  std::string name;
  std::string node;       ///< it is on; of a link, the one that reported
  std::string peer_node;  ///< of a link, the other one
  friend auto operator<=>(const MeasuredItem&, const MeasuredItem&) = default;
};

/// Names the items of one case. Facts are those that the probe's `reported_facts` names; a key may come several times,
/// or once with its values joined by `; `.
class ItemNames {
 public:
  /// Index = rank.
  void add_rank(std::string node, const std::vector<Fact>& facts);
  /// For every reading towards a peer, before any is named: a metric that no pair has in both directions is one of
  /// the pair, whichever of the two reports it.
  void add_link(const std::string& metric, int rank, int peer);
  /// `labels`: those of the reading; labels that identify devices by their place are removed.
  [[nodiscard]] MeasuredItem item(const std::string& metric, int rank, int peer, Labels& labels) const;

 private:
  struct Device {
    std::string address;
    std::string name;
  };
  struct Rank {
    std::string node;
    std::vector<Device> tested;  ///< that its readings are of
    std::string own;             ///< that it computes or keeps its data on
  };
  [[nodiscard]] std::string device_at(const std::string& node, const std::string& address) const;
  [[nodiscard]] std::string device_of(int rank, Labels& labels) const;
  [[nodiscard]] MeasuredItem link(const std::string& metric, MeasuredItem from, const MeasuredItem& to) const;
  [[nodiscard]] bool has(int rank) const { return rank >= 0 && static_cast<std::size_t>(rank) < ranks_.size(); }

  std::vector<Rank> ranks_;
  std::map<std::pair<std::string, std::string>, std::string> devices_;  ///< node, address -> name
  std::map<std::string, std::set<std::pair<int, int>>> pairs_;          ///< metric -> rank, peer
  std::set<std::string> both_ways_;
};

}  // namespace muster
