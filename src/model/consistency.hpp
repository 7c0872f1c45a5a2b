/// Whether a report or an export contradicts itself: files that were edited, or mixed up.
#pragma once

#include "model/past_run.hpp"
#include "muster/report.hpp"
#include "muster/result.hpp"

namespace muster {

/// Verdict and exit status follow from the cases, no case is there twice, and no time is negative. Fails with kind
/// `file`; the place is the field.
[[nodiscard]] Result<void> check_consistency(const RunReport& report);
[[nodiscard]] Result<void> check_consistency(const PastRun& run);

}  // namespace muster
