#include "stats/connected.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/stats.hpp"

namespace muster {

void NodeConnections::put(std::size_t from, std::size_t to, double value) {
  if (from == to || from >= nodes_ || to >= nodes_ || !std::isfinite(value) || value <= 0) return;
  for (double* cell : {&values_[from * nodes_ + to], &values_[to * nodes_ + from]})
    *cell = *cell == 0 ? value : std::min(*cell, value);
}

std::optional<double> NodeConnections::between(std::size_t a, std::size_t b) const {
  const double value = values_[a * nodes_ + b];
  return value == 0 ? std::nullopt : std::optional(value);
}

std::optional<double> NodeConnections::best_of(std::size_t node) const {
  const auto row = values_.begin() + static_cast<std::ptrdiff_t>(node * nodes_);
  const double best = nodes_ == 0 ? 0 : *std::max_element(row, row + static_cast<std::ptrdiff_t>(nodes_));
  return best == 0 ? std::nullopt : std::optional(best);
}

std::optional<double> usual_best(const NodeConnections& connections) {
  std::vector<double> bests;
  for (std::size_t node = 0; node < connections.nodes(); ++node)
    if (const auto best = connections.best_of(node)) bests.push_back(*best);
  return bests.size() < 3 ? std::nullopt : median(bests);
}

OutOfTouch out_of_touch(const NodeConnections& connections, double share) {
  OutOfTouch found;
  const auto usual = usual_best(connections);
  const auto is_far = [&](std::size_t node) {
    const auto best = connections.best_of(node);
    return best && *best < share * *usual;
  };
  for (std::size_t node = 0; usual && node < connections.nodes(); ++node) {
    if (!is_far(node)) continue;
    bool is_clear = false;
    for (std::size_t other = 0; other < connections.nodes() && !is_clear; ++other)
      is_clear = connections.between(node, other) && !is_far(other);
    (is_clear ? found.slow : found.unclear).push_back(node);
  }
  return found;
}

namespace {

/// The nodes that are left, and how well each is connected with them.
class Left {
 public:
  Left(const NodeConnections& connections, std::span<const std::size_t> from)
      : connections_(connections), members_(from.begin(), from.end()), sums_(members_.size()) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      for (std::size_t j = 0; j < members_.size(); ++j) count(i, j, 1);
      sums_[i].with_all = sums_[i].mean();
    }
  }

  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] const std::vector<std::size_t>& members() const { return members_; }

  /// RankMap of those that are in one of the pairs, each as often as it is.
  [[nodiscard]] std::vector<int> quarrels(std::span<const NodePair> apart) const {
    std::vector<int> counts(members_.size(), 0);
    for (const auto& [a, b] : apart) {
      const auto first = std::find(members_.begin(), members_.end(), a);
      const auto second = std::find(members_.begin(), members_.end(), b);
      if (first == members_.end() || second == members_.end() || a == b) continue;
      ++counts[static_cast<std::size_t>(first - members_.begin())];
      ++counts[static_cast<std::size_t>(second - members_.begin())];
    }
    return counts;
  }

  /// The last of those whose score is within `alike` of the lowest, among those that `counts`.
  template <class Counts>
  [[nodiscard]] std::size_t worst(double alike, const Counts& counts) const {
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < sums_.size(); ++i)
      if (counts(i)) lowest = std::min(lowest, sums_[i].score());
    std::size_t found = 0;
    for (std::size_t i = 0; i < sums_.size(); ++i)
      if (counts(i) && sums_[i].score() <= lowest + std::log1p(alike)) found = i;
    return found;
  }

  void drop(std::size_t place) {
    for (std::size_t i = 0; i < members_.size(); ++i) count(i, place, -1);
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(place));
    sums_.erase(sums_.begin() + static_cast<std::ptrdiff_t>(place));
  }

 private:
  struct Sum {
    double logarithms = 0;
    int measured = 0;
    double with_all = 0;  ///< before anybody went
    [[nodiscard]] double mean() const {
      return measured > 0 ? logarithms / measured : -std::numeric_limits<double>::infinity();
    }
    /// Of few readings none may be left, which is not a fault.
    [[nodiscard]] double score() const { return measured > 0 ? mean() : with_all; }
  };

  void count(std::size_t i, std::size_t j, int sign) {
    const auto value = connections_.between(members_[i], members_[j]);
    if (!value) return;
    sums_[i].logarithms += sign * std::log(*value);
    sums_[i].measured += sign;
  }

  const NodeConnections& connections_;
  std::vector<std::size_t> members_;
  std::vector<Sum> sums_;
};

}  // namespace

std::vector<std::size_t> well_connected(const NodeConnections& connections, std::span<const std::size_t> from,
                                        std::span<const NodePair> apart, std::size_t wanted, double alike) {
  Left left(connections, from);
  for (auto quarrels = left.quarrels(apart); left.size() > 0; quarrels = left.quarrels(apart)) {
    const int most = *std::max_element(quarrels.begin(), quarrels.end());
    if (most == 0) break;
    left.drop(left.worst(alike, [&](std::size_t i) { return quarrels[i] == most; }));
  }
  while (left.size() > wanted) left.drop(left.worst(alike, [](std::size_t) { return true; }));
  return left.members();
}

}  // namespace muster
