/// From the command line to a plan and the site it is for; shared by run and plan.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/inputs/load.hpp"
#include "app/inputs/options.hpp"
#include "app/inputs/site.hpp"
#include "model/plan.hpp"

namespace muster {

struct Prepared {
  SystemProfile system;
  SiteFound found;
  Plan plan;
};

/// What is asked for, before anybody looks at where it will run.
struct Chosen {
  Loaded loaded;
  SelectOptions select;
  SystemProfile system;  ///< with one partition
};

/// `muster run`, the paths and where: what every rerun command starts with.
[[nodiscard]] Argv rerun_prefix(const RunOptions& options);
/// nullopt after printing on standard error what is wrong: exit status 3.
[[nodiscard]] std::optional<Chosen> choose(const RunOptions& options);
/// Whether a run on this system and these nodes (none: this machine) may begin; prints the reason on standard error if
/// not.
using MayBegin = std::function<bool(const SystemProfile&, const std::vector<std::string>& nodes)>;
/// As choose(). `may_begin` is asked before anything is started on nodes.
[[nodiscard]] std::optional<Prepared> prepare(const RunOptions& options, const MayBegin& may_begin = {});

}  // namespace muster
