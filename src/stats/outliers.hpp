/// Outliers: the items among several that differ although they should be alike.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/verdict.hpp"

namespace muster {

/// One voter; empty values are not asked.
struct Vote {
  std::string who;  ///< `on nid001`, `of GPU 0000:c1:00.0 on nid001`
  std::string value;
  Culprit culprit;
};

struct Question {
  std::string what;    ///< `kernel`
  std::string others;  ///< what follows the number of the others: `other nodes`
  std::string remedy;
  std::vector<Vote> votes;
};

/// nullopt: all are alike. Else those that differ from the largest group are the culprits; without a largest group
/// none is an outlier, and all are named.
[[nodiscard]] std::optional<Finding> outlier_finding(const Question& question);
/// Whether one value has more votes than each other.
[[nodiscard]] bool has_majority(const Question& question);

}  // namespace muster
