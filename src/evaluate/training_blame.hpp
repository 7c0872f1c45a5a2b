/// Native training and the user's PyTorch on the same nodes tell the machine's fault from the environment's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/report.hpp"

namespace muster {

/// One sentence for the summary; none unless cases of probe `training` and cases tagged `pytorch` were both judged
/// (pass or fail). Both pass: so it says. Native passes and PyTorch fails: the software environment, with what explains
/// it: what case `torch_environment` found, else what the first failed case found. Native fails: machine or fabric,
/// whatever PyTorch does. Pure.
[[nodiscard]] std::optional<std::string> blame_training(const std::vector<CaseResult>& cases);

}  // namespace muster
