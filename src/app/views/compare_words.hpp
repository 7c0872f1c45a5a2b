/// What `muster compare` found, for people and for programs. Pure. docs/history.md
#pragma once

#include <string>

#include "history/compare.hpp"

namespace muster {

/// Runs without a case in common are not comparable.
[[nodiscard]] bool has_nothing_in_common(const PastRun& before, const Comparison& found);

/// `11 values compared; 5 not: times mean nothing there`: how many, and why not others.
[[nodiscard]] std::string compared_line(const PastRun& before, const PastRun& after, const Comparison& found);
/// `a value that is worse by 13 % is reported, half of them by 5 %`; empty: none has a bad side.
[[nodiscard]] std::string limit_line(const Comparison& found);
/// `something got worse`, `no difference`, ...
[[nodiscard]] std::string outcome_of(const PastRun& before, const Comparison& found);

/// All of it, with the newline at its end.
[[nodiscard]] std::string comparison_text(const PastRun& before, const PastRun& after, const Comparison& found);
/// The same as one JSON object.
[[nodiscard]] std::string comparison_json(const PastRun& before, const PastRun& after, const Comparison& found);

}  // namespace muster
