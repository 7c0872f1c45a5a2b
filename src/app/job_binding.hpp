/// Where the ranks of launches run: what --bind, the profile and the devices of the nodes make of a job's shape.
/// docs/bind.md
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "model/check.hpp"
#include "muster/launcher.hpp"
#include "muster/result.hpp"

namespace muster {

struct PartitionProfile;
struct SystemProfile;

using BindJob = std::function<JobBinding(const RanksSpec&, int ranks_per_node)>;

/// What is known of the nodes before ranks run.
struct BindableNode {
  bool is_here = false;        ///< this node is one of those that ranks run on; its devices are taken for those of all
  std::optional<int> granted;  ///< logical CPUs that the scheduler gave the job on each node
};

/// `wish`: `none`, `profile`, `auto`, `cores`, or empty: the profile where it has a binding, else auto. Masks that a
/// job on part of a node can't have give way to cores; the binding's `source` then has the reason. Fails with kind
/// `usage` for another word, and for `profile` where the profile has none.
[[nodiscard]] Result<BindJob> choose_binding(const std::string& wish, const SystemProfile& system,
                                             const BindableNode& node);

}  // namespace muster
