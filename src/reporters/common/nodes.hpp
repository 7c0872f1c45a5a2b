/// The nodes of a run, each with what its cases came to.
#pragma once

#include <string_view>
#include <vector>

#include "muster/report.hpp"

namespace muster {

struct NodeTally {
  std::string_view name;  ///< within the report; untrusted text
  Tally tally;            ///< of the cases with a result for the node
  /// Neither pass nor skip.
  [[nodiscard]] int bad() const {
    return tally.of(Verdict::fail) + tally.of(Verdict::error) + tally.of(Verdict::unmeasured);
  }
  /// The worst, as verdicts are combined; `unmeasured` without a case.
  [[nodiscard]] Verdict verdict() const;
};

/// Every node that the report knows, by name. A case counts for a node by the node's own row in it, or as bad where one
/// of its culprits is on the node. The names live as long as the report.
[[nodiscard]] std::vector<NodeTally> node_tallies(const RunReport& report);
/// Those in trouble, the worst first: most bad cases, then by name.
[[nodiscard]] std::vector<NodeTally> odd_nodes(const std::vector<NodeTally>& nodes);

}  // namespace muster
