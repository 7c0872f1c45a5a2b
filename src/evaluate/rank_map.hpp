/// Where the ranks of a world are, and how sentences name them.
#pragma once

#include <string>
#include <vector>

#include "model/record.hpp"
#include "muster/verdict.hpp"

namespace muster {

/// At most so many culprits are listed in a finding; its sentence counts the others.
inline constexpr std::size_t most_culprits = 16;

class RankMap {
 public:
  explicit RankMap(const World& world);

  [[nodiscard]] int ranks() const { return static_cast<int>(node_of_rank_.size()); }
  /// Nodes that hold ranks, numbered from 0 in the order of their lowest rank.
  [[nodiscard]] int nodes() const { return static_cast<int>(names_.size()); }
  [[nodiscard]] bool has(int rank) const { return rank >= 0 && rank < ranks(); }
  [[nodiscard]] int node_of(int rank) const { return node_of_rank_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::string& name_of(int node) const { return names_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] int ranks_on(int node) const { return ranks_on_[static_cast<std::size_t>(node)]; }

  /// `rank 3 on nid002`; just `rank 12` for one that is not in the world.
  [[nodiscard]] std::string say(int rank) const;
  [[nodiscard]] Culprit culprit(int rank) const;

  /// `rank 2 on nid001, rank 3 on nid001 and 7 more <what>`, the ranks being the culprits.
  [[nodiscard]] Finding finding(Verdict verdict, const std::vector<int>& ranks, const std::string& what,
                                std::string remedy) const;

 private:
  std::vector<int> node_of_rank_;
  std::vector<int> ranks_on_;
  std::vector<std::string> names_;
};

}  // namespace muster
