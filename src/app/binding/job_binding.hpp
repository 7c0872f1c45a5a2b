/// Where the ranks of launches run: what --bind, checks, the profile and the devices of the nodes make of a job's
/// shape. docs/bind.md
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/files.hpp"
#include "device/placement.hpp"
#include "model/check.hpp"
#include "muster/launcher.hpp"
#include "muster/result.hpp"
#include "run/select.hpp"

namespace muster {

using BindJob = std::function<Result<JobBinding>(const BindRequest&)>;

/// What is known of the nodes before ranks run.
struct BindableNode {
  bool is_here = false;        ///< this node is one of those that ranks run on; its devices are taken for those of all
  std::optional<int> granted;  ///< logical CPUs that the scheduler gave the job on each node
  fs::path simulated;          ///< folder of the machine that they are pretended to be; empty: they are real
  /// Asks one of the nodes, for `auto` where none of them is this one; nullopt: it has no GPU. Empty: they can't be
  /// asked.
  std::function<std::optional<NodeParts>()> ask = {};
  bool counts_reserved_cores = false;  ///< the launcher shares out reserved cores, too
};

/// `request` is that of the command line: `none`, `profile`, `auto`, `cores`, or empty: then the check's, else the
/// profile where it has a binding, else auto. Masks that a job on part of a node can't have give way to cores; the
/// binding's `source` then has the reason. Fails with kind `usage` for another word, and for `profile` where the
/// profile has none; what is returned fails so for a check that asks for `profile`. Shares of the cores become masks
/// where the launcher would also count reserved ones; where the node's cores are not known, `why_cores` names that.
[[nodiscard]] Result<BindJob> choose_binding(const std::string& request, const SystemProfile& system,
                                             const BindableNode& node);

}  // namespace muster
