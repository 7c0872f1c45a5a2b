/// The state of each node after one or several runs: good, at fault, or unknown. For `muster gate`. Pure.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "muster/report.hpp"
#include "stats/connected.hpp"

namespace muster {

/// A node is good when every case that applies passed on it, and one did. Never the default.
struct NodeStatus {
  std::string node;  ///< as it was asked for
  bool is_good = false;
  bool is_at_fault = false;  ///< a finding names it: others may be well without it
  std::string check;         ///< of what is wrong or missing
  std::string reason;
  std::string remedy;
};

/// A case that the user's launch line keeps from judging it: a part of the line that muster does not carry out.
struct UnjudgedLine {
  std::string check;
  std::string reason;
  std::string remedy;
};

struct NodeStatuses {
  std::vector<NodeStatus> nodes;       ///< in the order that was asked for
  std::vector<NodePair> apart;         ///< each of the two is well, what lies between them is not; indices
  std::vector<UnjudgedLine> unjudged;  ///< counted for no node
};

/// Of a case in which rank 0 alone failed its node is at fault where the case passed with rank 0 on another node.
/// `cases`: ids of all that a good node passes (or skips). `reports`: in the order of the runs; what a later one found
/// counts where an earlier one was undecided; a fault found by any remains. A failed case does not count against
/// nodes that it measured while each of its findings names others. Where findings name two nodes because data changed
/// between them, the one that is in most of them is at fault, and both where none stands out. What a case of
/// `of_the_job` (ids) finds is held against no node: the user's launch line is at fault. What it finds wrong with a
/// setting that is right elsewhere leaves no node good; what it can't judge of the line counts for none.
[[nodiscard]] NodeStatuses assess_nodes(std::span<const RunReport> reports, const std::vector<std::string>& nodes,
                                        const std::vector<std::string>& cases,
                                        const std::set<std::string>& of_the_job = {});

/// Ids of cases that some of these nodes have not passed and that no finding holds against them: worth another run
/// without those at fault.
[[nodiscard]] std::vector<std::string> open_cases(std::span<const RunReport> reports,
                                                  const std::vector<std::string>& nodes,
                                                  const std::vector<std::string>& cases);

/// Nodes on which rank 0, and no other rank, failed a case that was not tried with rank 0 on another node: without them
/// the case shows whether the node or what rank 0 does is wrong.
[[nodiscard]] std::set<std::string> nodes_of_rank_0_to_leave_out(std::span<const RunReport> reports,
                                                                 const std::vector<std::string>& nodes,
                                                                 const std::vector<std::string>& cases);

}  // namespace muster
