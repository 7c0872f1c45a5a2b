/// Matrices of a described network with known noise and a known fault. Written independently of src/stats and of the
/// simulator in tests/stats.
#pragma once

#include <string_view>
#include <vector>

#include "diagnosis/random.hpp"
#include "stats/culprits.hpp"

namespace muster::diagnosis {

enum class Shape {
  gaussian,
  transients,       ///< 2 % of the readings lose 30 to 70 %
  skewed,           ///< exponential overhead
  asymmetric,       ///< the direction to the higher number is 10 % slower everywhere
  collisions,       ///< 5 % of the pairs of a round share their way with another pair
  two_classes,      ///< pairs of different racks reach 80 %, without a label
  rows,             ///< racks in rows: pairs of a row reach 75 %, others 55 %, without a label
  busy_uplinks,     ///< 35 % of the pairs of different racks share an uplink in a round, and keep 60 to 90 %
  lognormal,        ///< held out from here on
  heavy_tails,      ///< Student's t with 3 degrees of freedom
  node_spread,      ///< healthy nodes differ by a standard deviation of 1 %
  drift,            ///< all get slower by 10 % in the course of the run
  pair_asymmetric,  ///< one direction of each pair, by chance, is 8 % slower
  fat_tree,         ///< flows between racks are hashed to uplinks
  dragonfly,        ///< flows between groups are hashed to few global links
  three_classes,    ///< rack, pod, core, without a label
  labelled,         ///< the same with labels
};
constexpr int shapes = 17;
[[nodiscard]] std::string_view name_of(Shape shape);
[[nodiscard]] inline bool is_held_out(Shape shape) {
  return shape >= Shape::lognormal;
}

enum class FaultKind {
  none,
  node,
  sender,
  link,
  rack,           ///< behind one slow uplink
  eighth,         ///< of the nodes
  behind_switch,  ///< slow switch in front of a fifth of the nodes, which are of any rack
  trunk,          ///< path between a fifth of the nodes and a quarter of them, which are of any rack
  receiver,       ///< held out from here on
  path,           ///< between two racks
  rail,           ///< every fourth node behind one slow switch
  two_nodes,
  five_nodes,
  quarter,         ///< of the nodes
  half_of_rounds,  ///< one node, in every round by chance
};
constexpr int fault_kinds = 15;
[[nodiscard]] std::string_view name_of(FaultKind kind);
[[nodiscard]] inline bool is_held_out(FaultKind kind) {
  return kind >= FaultKind::receiver;
}

struct Scenario {
  Shape shape = Shape::gaussian;
  FaultKind fault = FaultKind::none;
  int units = 0;
  int rounds = 0;  ///< 0: all pairs once
  double noise = 0.03;
  double slowdown = 0.15;
};

/// The network and its fault, for one seed.
class World {
 public:
  World(const Scenario& scenario, std::uint64_t seed);

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const std::vector<LinkSample>& samples() const { return samples_; }
  /// Nodes at fault; of a path or link, one side.
  [[nodiscard]] const std::vector<int>& ends() const { return ends_; }
  /// Other side of a path or link.
  [[nodiscard]] const std::vector<int>& far_ends() const { return far_ends_; }
  /// Expected value of a healthy pair that shares nothing.
  [[nodiscard]] static double nominal() { return 25; }
  /// The same pair once more, while no other pair communicates.
  LinkSample alone(int from, int to, int repetition);

 private:
  using Matching = std::vector<std::pair<int, int>>;
  void choose_fault(const Matching& first);
  [[nodiscard]] std::vector<Matching> plan();
  void measure(const Matching& matching, int round);
  [[nodiscard]] std::vector<double> sharing(const Matching& matching);
  [[nodiscard]] double noise_of_reading();
  [[nodiscard]] double static_slowness(int from, int to) const;
  [[nodiscard]] double left_by_fault(int from, int to) const;
  LinkSample reading(int from, int to, int round, double shared);
  [[nodiscard]] int rack_of(int unit) const { return unit / rack_size_; }

  Scenario scenario_;
  Random random_;
  int rack_size_ = 1;
  int rounds_ = 0;
  std::uint64_t salt_ = 0;
  bool is_active_ = true;
  std::vector<double> offsets_;  ///< of nodes
  std::vector<int> ends_;
  std::vector<int> far_ends_;
  std::vector<LinkSample> samples_;
};

}  // namespace muster::diagnosis
