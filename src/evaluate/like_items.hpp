/// Where each node is judged by itself, its peers are on the others.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "evaluate/readings.hpp"

namespace muster {

/// The values of equal metric and labels on all nodes that did the same case in the same launch.
class LikeItems {
 public:
  /// What the ranks of one node saw.
  void add(const Case& item, const ProbeSpec& probe, const CaseRecord& record, const World& world);
  /// Empty when no node has any.
  [[nodiscard]] const std::vector<double>& of(const ReadingGroup& group) const;

 private:
  std::map<std::pair<std::string, Labels>, std::vector<double>> values_;
};

}  // namespace muster
