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

/// nullopt after having said on standard error what is wrong: exit status 3.
[[nodiscard]] std::optional<Prepared> prepare(const RunOptions& options);

}  // namespace muster
