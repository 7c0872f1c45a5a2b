/// From the command line to a plan and the site it is for; shared by run and plan.
#pragma once

#include "app/load.hpp"
#include "app/options.hpp"
#include "app/site.hpp"
#include "model/plan.hpp"

namespace muster {

struct Prepared {
  SystemProfile system;
  SiteFound found;
  Plan plan;
};

/// A run goes to one set of nodes in one way: launcher, options and references are those of one partition. Leaves that
/// of `asked` (`NAME:PARTITION`); without one there must be only one.
[[nodiscard]] Result<void> keep_one_partition(SystemProfile& system, const std::string& asked);

/// nullopt after having said on standard error what is wrong: exit status 3.
[[nodiscard]] std::optional<Prepared> prepare(const RunOptions& options);

}  // namespace muster
