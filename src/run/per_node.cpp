#include "run/per_node.hpp"

#include "system/system.hpp"

namespace muster {

namespace {

bool is_loopback(const std::string& name) {
  return name == "localhost" || name == "127.0.0.1";
}

}  // namespace

bool is_same_node(const std::string& name, const std::string& host) {
  if (name == host) return true;
  const auto dot = name.find('.');
  const auto host_dot = host.find('.');
  // Two domains are two answers; an address is not a name with a domain.
  if ((dot == std::string::npos) == (host_dot == std::string::npos)) return false;
  return !name.empty() && name.substr(0, dot) == host.substr(0, host_dot);
}

std::optional<int> node_named(const World& world, const std::string& name) {
  if (world.nodes.size() == 1) return 0;
  for (std::size_t i = 0; i < world.nodes.size(); ++i)
    if (world.nodes[i].node == name) return static_cast<int>(i);
  for (std::size_t i = 0; i < world.nodes.size(); ++i) {
    const auto& host = world.nodes[i].node;
    if (is_same_node(name, host) || (is_loopback(name) && host == host_name())) return static_cast<int>(i);
  }
  return std::nullopt;
}

RankPlace place_on_node(const RankPlace& in_launch) {
  RankPlace place = in_launch;
  place.launch_rank = in_launch.rank;
  place.launch_size = in_launch.world_size;
  place.rank = in_launch.local_rank;
  place.world_size = in_launch.local_size;
  place.node_index = 0;
  place.node_count = 1;
  return place;
}

World world_of_node(const World& world, int node) {
  World of_node;
  of_node.library = world.library;
  const auto at = static_cast<std::size_t>(node);
  if (at < world.nodes.size()) of_node.nodes = {world.nodes[at]};
  if (at < world.node_doubts.size()) of_node.timing_doubt = world.node_doubts[at];
  for (std::size_t rank = 0; rank < world.ranks.size(); ++rank) {
    if (world.ranks[rank].node_index != node) continue;
    of_node.ranks.push_back(place_on_node(world.ranks[rank]));
    of_node.ranks.back().rank = static_cast<int>(of_node.ranks.size()) - 1;
    if (rank < world.pids.size()) of_node.pids.push_back(world.pids[rank]);
  }
  for (RankPlace& place : of_node.ranks) place.world_size = static_cast<int>(of_node.ranks.size());
  return of_node;
}

std::vector<Observation> seen_on_node(const std::vector<Observation>& seen, const World& world, int node) {
  std::vector<Observation> found;
  for (const Observation& one : seen) {
    if (one.rank < 0 || static_cast<std::size_t>(one.rank) >= world.ranks.size()) continue;
    const RankPlace& place = world.ranks[static_cast<std::size_t>(one.rank)];
    if (place.node_index != node) continue;
    found.push_back(one);
    found.back().rank = place.local_rank;
  }
  return found;
}

}  // namespace muster
