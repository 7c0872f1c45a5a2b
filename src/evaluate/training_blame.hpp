/// Native training and the user's PyTorch on the same nodes distinguish a fault of the machine from one of the
/// environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/report.hpp"

namespace muster {

/// One sentence for the summary; none unless a training was judged natively (tag `training`) and with PyTorch (tags
/// `training` and `pytorch`): a check that only looks at the environment trains nothing. Both pass, and nothing that is
/// tagged `pytorch` stayed open: noted as such. Native passes and PyTorch fails: the software environment, with what
/// explains it: what a case tagged `environment` found, else what the first failed case found.
/// Native fails: machine or fabric, whatever PyTorch does. What fails through its parameters (a culprit that is a
/// setting or a file) or could not be run has no culprit. Pure.
[[nodiscard]] std::optional<std::string> blame_training(const std::vector<CaseResult>& cases);

}  // namespace muster
