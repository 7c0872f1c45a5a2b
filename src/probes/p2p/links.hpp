/// Readings between ranks, held against each other: within nodes rank by rank, between nodes node by node.
#pragma once

#include <span>
#include <vector>

#include "measure/link_class.hpp"
#include "stats/culprits.hpp"

namespace muster::p2p {

/// Bandwidth of one size from one rank to another.
struct RankLink {
  int from = 0;
  int to = 0;
  int round = 0;
  double value = 0;  ///< GB/s
  LinkClass link = LinkClass::node;
  bool is_alone = false;
  double spread = 0;  ///< of its samples: 1.4826 MAD / median, an estimate of the standard deviation's share
};

/// `node_of[rank]`.
[[nodiscard]] std::vector<int> nodes_of(const std::vector<Spot>& spots);

struct RankPair {
  int from = -1;
  int to = -1;
  int group = 0;  ///< those of one group are read at the same time
  friend bool operator==(const RankPair&, const RankPair&) = default;
};

struct Decoded {
  bool is_between_nodes = false;  ///< units are nodes; else ranks
  Culprits culprits;
};

/// Links of both kinds, each decoded for itself; a kind without links gives nothing. Between nodes a reading is the
/// mean over the pairs of ranks of two nodes that met in one round. `node_of[rank]` numbers nodes. The noise of a kind
/// is at least the median spread of its links, and the median spread of links read alone.
[[nodiscard]] std::vector<Decoded> decode_links(std::span<const RankLink> links, std::span<const int> node_of,
                                                const DecodeSettings& settings);

/// Links between nodes that are not alone, NIC by NIC: `unit_of[rank]` numbers the units (a NIC of a node and the ranks
/// that use it), `name_of[unit]` their names, as those of one name reach each other in another way. A reading is the
/// mean over the pairs of ranks of two units that met in one round.
[[nodiscard]] Decoded decode_rails(std::span<const RankLink> links, std::span<const int> unit_of,
                                   std::span<const int> name_of, const DecodeSettings& settings);

enum class Look {
  first,
  without_contention,  ///< what looks bad after pairs that share a part of the network were measured alone
};
/// Collective. What looks bad when all are compared, in at most 64 groups, or four for each node where pairs share a
/// part of the network: every rank gets the same list. A group is a pair of ranks within a node, or those pairs of two
/// nodes that met in a round. `mine` are those that this rank measured, alone ones included.
[[nodiscard]] Result<std::vector<RankPair>> choose_links(Comm& comm, const std::vector<Spot>& spots,
                                                         std::span<const RankLink> mine, const DecodeSettings& settings,
                                                         Look look = Look::first);

}  // namespace muster::p2p
