/// What a run takes from the history, and leaves there. docs/history.md
#pragma once

#include <optional>

#include "app/inputs/options.hpp"
#include "evaluate/past_items.hpp"
#include "model/plan.hpp"
#include "muster/report.hpp"

namespace muster {

/// Earlier values of the cases that are judged by them; nullopt: nothing shall be read (--no-history), or nothing can,
/// which is reported on standard error.
[[nodiscard]] std::optional<PastValues> past_of(const RunOptions& options, const Plan& plan);

/// Stores the run unless --no-history. Errors are reported on standard error and change nothing else.
void keep_in_history(const RunOptions& options, const RunReport& report);

}  // namespace muster
