/// Where the ranks of launches run: what --bind, the profile and the devices of the nodes make of a job's shape.
/// docs/bind.md
#pragma once

#include <functional>
#include <string>

#include "model/check.hpp"
#include "muster/launcher.hpp"
#include "muster/result.hpp"

namespace muster {

struct PartitionProfile;
struct SystemProfile;

using BindJob = std::function<JobBinding(const RanksSpec&, int ranks_per_node)>;

/// `wish`: `none`, `profile`, `auto`, `cores`, or empty: the profile where it has a binding, else auto. `is_here`: this
/// node is one of those that ranks run on, so its devices may be taken for all. Fails with kind `usage` for another
/// word, and for `profile` where the profile has none.
[[nodiscard]] Result<BindJob> choose_binding(const std::string& wish, const SystemProfile& system, bool is_here);

}  // namespace muster
