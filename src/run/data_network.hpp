/// Whether nodes reach each other over their networks, which need not be the one of the remote shell.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/loop.hpp"
#include "run/lost_node.hpp"
#include "run/network_choice.hpp"
#include "run/network_place.hpp"
#include "run/remote_exec.hpp"

namespace muster {

/// One call to an address, from another. A refusal is an answer, too.
struct NetworkCall {
  std::string from;
  std::string to;
  bool is_answered = false;
  friend bool operator==(const NetworkCall&, const NetworkCall&) = default;
};

/// Of this machine's own network, those of its own (127.0.0.1) and of its links alone left out.
[[nodiscard]] std::vector<NetworkPlace> network_places();
[[nodiscard]] nlohmann::json to_json(const std::vector<NetworkPlace>& places);
/// What can't be read is left out.
[[nodiscard]] std::vector<NetworkPlace> places_from_json(const nlohmann::json& json);

/// The addresses of nodes in one network, in the order of the nodes. Networks of one node, and addresses that several
/// nodes have (a container's bridge), are left out. Several addresses of a node in a network: one list for each. Pure.
[[nodiscard]] std::vector<std::vector<std::string>> shared_networks(const std::vector<NodePlaces>& nodes);

/// What this machine, with these places, calls: of each list that has an address of its own the two neighbours on
/// either side, and of `driver` the addresses in a network of its own. Pure.
[[nodiscard]] std::vector<NetworkCall> calls_of(const std::vector<NetworkPlace>& own,
                                                const std::vector<std::vector<std::string>>& networks,
                                                const std::vector<std::string>& driver);
/// Makes these calls from this machine, all at once, in at most 1.3 s: TCP to a port at which nothing listens.
void make_calls(std::vector<NetworkCall>& calls);

/// Leaves out calls from addresses that `node` does not have: it answers for itself alone. Pure.
void keep_own_calls(const std::vector<NodePlaces>& nodes, const std::string& node, std::vector<NetworkCall>& calls);

/// A node that its neighbours reach over the remote shell's network at most.
struct CutOffNode {
  std::string node;
  std::string network;  ///< `10.78.1.0/24`
  NetworkPlace place;
  std::vector<std::string> others;  ///< nodes that reach another one there, or the driver
};

/// Nodes of which no call in a network was answered, in either direction, while another one there was; or whose
/// interface carries nothing while all others' do. One network of each node. Where no call at all was answered,
/// the nodes look alike. Pure.
[[nodiscard]] std::vector<CutOffNode> find_cut_off(const std::vector<NodePlaces>& nodes,
                                                   const std::vector<NetworkCall>& calls);
/// `can't be reached over the data network 10.78.1.0/24: interface hsn0, address 10.78.1.2 (no carrier); nid001 and
/// nid003 answer there`
[[nodiscard]] LostNode lost_to_network(const CutOffNode& cut_off);

/// Asks these nodes over the remote shell for the calls of calls_of, in the chosen networks. A few seconds; nothing for
/// a single node.
[[nodiscard]] std::vector<LostNode> look_at_networks(Loop& loop, const RemoteExec& reach, const NetworkChoice& choice,
                                                     std::vector<NodePlaces> places);

}  // namespace muster
