#include "reporters/common/nodes.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "reporters/common/phrases.hpp"

namespace muster {

namespace {

/// Counts case by case; a node has one verdict in each.
class Counting {
 public:
  explicit Counting(const RunReport& report) {
    for (const auto& node : report.nodes) index_of(node.node);
    for (const auto& result : report.cases) count(result);
  }

  [[nodiscard]] std::vector<NodeTally> take() {
    std::sort(nodes_.begin(), nodes_.end(), [](const NodeTally& a, const NodeTally& b) { return a.name < b.name; });
    return std::move(nodes_);
  }

 private:
  std::size_t index_of(std::string_view name) {
    const auto [at, is_new] = index_.try_emplace(name, nodes_.size());
    if (is_new) nodes_.push_back({name, {}});
    return at->second;
  }

  void see(std::string_view name, Verdict verdict) {
    const auto index = index_of(name);
    seen_.resize(nodes_.size());
    if (!seen_[index]) touched_.push_back(index);
    seen_[index] = verdict;
  }

  void count(const CaseResult& result) {
    for (const auto& row : result.node_rows) see(row.node, row.verdict);
    if (needs_attention(result.verdict))
      for (const auto& culprit : result.culprits)
        if (!culprit.node.empty()) see(culprit.node, result.verdict);
    for (const auto index : touched_) {
      ++nodes_[index].tally.counts[static_cast<int>(*seen_[index])];
      seen_[index].reset();
    }
    touched_.clear();
  }

  std::vector<NodeTally> nodes_;
  std::unordered_map<std::string_view, std::size_t> index_;
  std::vector<std::optional<Verdict>> seen_;  ///< in the case that is being counted
  std::vector<std::size_t> touched_;
};

}  // namespace

Verdict NodeTally::verdict() const {
  std::vector<Verdict> found;
  for (const auto verdict : verdicts_by_urgency())
    if (tally.of(verdict) > 0) found.push_back(verdict);
  return combine(found);
}

std::vector<NodeTally> node_tallies(const RunReport& report) {
  return Counting(report).take();
}

std::vector<NodeTally> odd_nodes(const std::vector<NodeTally>& nodes) {
  std::vector<NodeTally> odd;
  for (const auto& node : nodes)
    if (node.bad() > 0) odd.push_back(node);
  std::stable_sort(odd.begin(), odd.end(), [](const NodeTally& a, const NodeTally& b) { return a.bad() > b.bad(); });
  return odd;
}

}  // namespace muster
