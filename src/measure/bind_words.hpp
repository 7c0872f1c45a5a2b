/// Bindings in the words of the launcher that started the ranks, for the remedies of cpu_affinity and gpu_mapping.
/// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/placement.hpp"
#include "muster/launcher.hpp"

namespace muster {

/// Those of the launcher of that name; srun's where it is unknown.
[[nodiscard]] const BindWords& bind_words(std::string_view launcher);

/// `mpirun --bind-to core`; where the launcher is unknown, what the common ones have. `what` chooses the words.
[[nodiscard]] std::string option_in_words(std::string_view launcher, std::string_view BindWords::*what);

/// As above: the words for `cores` of each rank.
[[nodiscard]] std::string width_in_words(std::string_view launcher, long cores);

/// The ranks of `placement` on their CPUs, in the launcher's words: `srun --cpu-bind=mask_cpu:...`. `ranks` are their
/// numbers in the job, `host` is their node.
[[nodiscard]] std::string launch_line(std::string_view launcher, const NodeParts& node, const Placement& placement,
                                      const std::vector<int>& ranks, std::string_view host);

}  // namespace muster
