/// NICs of nodes that have several, held against each other: a slow one is a small part of its node.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/rails.hpp"
#include "muster/probe.hpp"
#include "probes/p2p/links.hpp"

namespace muster::p2p {

/// Ranks of a node whose messages to other nodes one NIC carries, by what they report.
struct RailUnit {
  int node = 0;  ///< node_index
  Rail rail;
  std::vector<int> ranks;
  RailBytes bytes;  ///< of all of them

  /// By nearness, or by an address whose interface did not count the bytes: nothing shows that the NIC carried them.
  /// Interfaces count headers as well, so never less than what they carry.
  [[nodiscard]] bool is_assumed() const { return !rail.is_counted || bytes.shown < bytes.moved; }
};

struct SlowRails {
  std::vector<RailUnit> units;     ///< empty: nothing to compare
  Decoded decoded;                 ///< readings between units
  std::vector<SuspectPart> parts;  ///< slow units, but for those of a node that is slow as a whole
  std::string evidence;            ///< what was compared, where none is slow, or why nothing was; may be empty

  /// A part of the decoded nodes that `parts` explain; those of assumed NICs explain none.
  [[nodiscard]] bool explain(const SuspectPart& of_nodes) const;
};

/// `links`: of one size; `of_nodes`: what they were decoded to, node by node. Pure.
[[nodiscard]] SlowRails find_slow_rails(const CaseView& view, std::span<const RankLink> links,
                                        std::span<const Decoded> of_nodes, const std::string& size);

}  // namespace muster::p2p
