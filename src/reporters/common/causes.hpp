/// Cases that are not pass, grouped by cause: many nodes that fail with the same reason are one cause.
#pragma once

#include <vector>

#include "muster/report.hpp"

namespace muster {

/// What one thing that is wrong did. Two cases share a cause when verdict, reason and remedy are the same but for
/// numbers and names of nodes that a case is about. The status with which a program ended is not such a number.
struct Cause {
  std::vector<const CaseResult*> cases;      ///< in the order of the report, at least one; the first speaks for them
  std::vector<const CaseResult*> following;  ///< cases that one of them explains

  [[nodiscard]] std::size_t size() const { return cases.size() + following.size(); }
  /// The culprits of `cases`, each once, in order; at most `most` of them.
  [[nodiscard]] std::vector<Culprit> culprits(std::size_t most) const;
};

/// The worst first, then in the order of the report. Every case that is neither pass nor skip is in one of them.
[[nodiscard]] std::vector<Cause> causes_of(const RunReport& report);

/// Why nothing was tested: of a run of which every case was skipped, put together likewise; of others none.
[[nodiscard]] std::vector<Cause> skips_of(const RunReport& report);

}  // namespace muster
