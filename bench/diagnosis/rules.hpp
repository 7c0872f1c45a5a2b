/// Rules that name who is slow in a matrix: muster's own decoder, and those of other tools by their public
/// descriptions.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnosis/matrices.hpp"

namespace muster::diagnosis {

struct Named {
  PartKind kind = PartKind::node;
  bool is_group = false;      ///< `ends` as a whole, behind a way that they share
  std::vector<int> ends;      ///< of a link or path: one side
  std::vector<int> far_ends;  ///< the other side; empty: everybody else
};

struct Answer {
  std::vector<Named> names;
  bool is_unmeasured = false;
  double seen_from = 0;  ///< the slowdown from which a node would have been named, as muster states it
};

/// decode_culprits as the p2p probe uses it: pairs that look bad are measured three times alone, then all is decoded
/// again; a pair that was not measured alone is not blamed.
[[nodiscard]] Answer ask_muster(World& world);

/// ClusterKit: a pair below 93 % of the best pair is bad; a node with more than half of its pairs bad.
[[nodiscard]] Answer share_of_best(World& world);
/// A pair below 80 % of the nominal bandwidth, as above.
[[nodiscard]] Answer fixed_threshold(World& world);
/// The mean of a node's readings lies 3 standard deviations below that of all nodes.
[[nodiscard]] Answer row_means(World& world);
/// CHS, Primus: halves of the nodes, and their halves, while one is slower than the other by 5 % or more.
[[nodiscard]] Answer halves(World& world);
/// cvs: the nodes outside of the largest set whose pairs all reach 93 % of the median (greedily).
[[nodiscard]] Answer good_set(World& world);

struct Rule {
  std::string_view name;
  Answer (*ask)(World&);
};
constexpr std::array<Rule, 6> rules{{{"muster", ask_muster},
                                     {"share of the best", share_of_best},
                                     {"fixed threshold", fixed_threshold},
                                     {"row means", row_means},
                                     {"halves", halves},
                                     {"good set", good_set}}};

}  // namespace muster::diagnosis
