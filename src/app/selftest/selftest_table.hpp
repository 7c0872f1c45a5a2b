/// What `muster selftest` prints.
#pragma once

#include <string>
#include <vector>

#include "app/selftest/selftest.hpp"
#include "model/check.hpp"

namespace muster {

/// A check, what its examples gave, and what is missing.
struct SelftestRow {
  const Check* check = nullptr;
  std::vector<ExampleResult> shown;
  std::string not_here;              ///< why its examples can't be carried out here; empty: they can
  std::vector<std::string> missing;  ///< sentences: no red example, ...
  [[nodiscard]] bool is_right() const;
};

[[nodiscard]] std::string selftest_table(const std::vector<SelftestRow>& rows, double seconds);
[[nodiscard]] std::string selftest_json(const std::vector<SelftestRow>& rows, double seconds, int status);
/// The page docs/checks.md: from the examples, without running them.
[[nodiscard]] std::string selftest_page(const std::vector<SelftestRow>& rows, const std::vector<Example>& examples);

}  // namespace muster
