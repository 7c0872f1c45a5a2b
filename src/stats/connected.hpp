/// How well nodes are connected with each other: who is out of touch with all, and which of them go together best.
/// Pure; equal input, equal answer. docs/gate.md describes its use.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace muster {

/// What pairs of nodes reach, in any unit of which more is better. Both ways of a pair are one: the slower counts.
class NodeConnections {
 public:
  explicit NodeConnections(std::size_t nodes) : nodes_(nodes), values_(nodes * nodes, 0) {}

  /// A reading from one node to another; what can't be a speed (not finite, not above 0, a node with itself) is left
  /// out. Of several of one pair the slowest counts.
  void put(std::size_t from, std::size_t to, double value);
  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  /// nullopt: not measured.
  [[nodiscard]] std::optional<double> between(std::size_t a, std::size_t b) const;
  /// What a node reaches with the partner that it gets on with best; nullopt: it has none.
  [[nodiscard]] std::optional<double> best_of(std::size_t node) const;

 private:
  std::size_t nodes_;
  std::vector<double> values_;  ///< row-major, symmetric; 0: not measured
};

/// The typical node's best_of(): the median; nullopt when fewer than three nodes were measured.
[[nodiscard]] std::optional<double> usual_best(const NodeConnections& connections);
struct OutOfTouch {
  std::vector<std::size_t> slow;
  /// Tried with one another or with slow ones alone: that may be their partners' doing.
  std::vector<std::size_t> unclear;
};
/// Nodes that reach less than `share` of that with every partner they had. One bad partner does not make a node slow,
/// nor does a reading that something held up, where there was another one.
[[nodiscard]] OutOfTouch out_of_touch(const NodeConnections& connections, double share);

using NodePair = std::pair<std::size_t, std::size_t>;

/// `wanted` of the nodes `from`, in their order, so that they are well connected: while there are too many, the one
/// goes whose connections to those left are slowest (the mean of their logarithms). Of those within `alike` of the
/// slowest, a share, the last in order goes, so that noise does not scatter what is chosen. Before that, of every pair
/// in `apart` one goes, those that are in most of them first. Fewer than `wanted` when there are no more.
[[nodiscard]] std::vector<std::size_t> well_connected(const NodeConnections& connections,
                                                      std::span<const std::size_t> from,
                                                      std::span<const NodePair> apart, std::size_t wanted,
                                                      double alike = 0.05);

}  // namespace muster
