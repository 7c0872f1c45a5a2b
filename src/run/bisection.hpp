/// Which nodes keep a launch from starting, found by starting groups of them. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace muster {

class Bisection {
 public:
  using Group = std::vector<std::string>;

  /// A launch on all of `nodes` does not start.
  explicit Bisection(Group nodes);

  /// Groups to start next, all of them side by side: the halves of those that did not start. Empty: nothing is left to
  /// find out, after at most as many rounds as the number of nodes has binary digits.
  [[nodiscard]] const std::vector<Group>& round() const { return round_; }
  /// Which groups of the round started.
  void take(const std::vector<bool>& started);

  /// On which ranks do not start where the node is alone.
  [[nodiscard]] const Group& nodes_at_fault() const { return at_fault_; }
  /// Of which each half starts by itself.
  [[nodiscard]] const std::vector<Group>& apart() const { return apart_; }
  /// Nothing has started so far: more likely the launch is at fault than each node.
  [[nodiscard]] bool has_started_none() const { return !has_started_; }

 private:
  void split(const Group& group);

  std::vector<Group> round_;  ///< two for each group that did not start
  std::vector<Group> parents_;
  Group at_fault_;
  std::vector<Group> apart_;
  bool has_started_ = false;
};

}  // namespace muster
