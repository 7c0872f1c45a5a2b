/// Numbers that patterns find in what a program prints: `[[check.NAME.params.metric]]` of probe `command`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/pattern.hpp"

namespace muster {

struct ProgramMetric {
  std::string name;
  std::string unit;
  std::string pattern;  ///< RE2, looked for in each line
  std::string file;     ///< that the program writes; empty: its output
  friend bool operator==(const ProgramMetric&, const ProgramMetric&) = default;
};

/// One item of the parameter `metric`, and back. Reading fails with kind `usage`.
[[nodiscard]] std::string to_text(const ProgramMetric& metric);
[[nodiscard]] Result<ProgramMetric> program_metric_from_text(std::string_view text);

/// Which group of a pattern is the number, and which are labels. Indices as in Pattern::matches.
struct PatternGroups {
  std::size_t value = 0;
  std::vector<std::pair<std::size_t, std::string>> labels;
};
/// The number is the group called `value`, or the only one without a name. Fails with kind `usage`, in words that
/// follow the pattern: `has no group for the number: write ([0-9.]+)`.
[[nodiscard]] Result<PatternGroups> groups_of(const Pattern& pattern);

}  // namespace muster
