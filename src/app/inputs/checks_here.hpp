/// The checks that can run on this node, for `muster doctor`. Starts only Python interpreters, to look for modules.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/inputs/load.hpp"
#include "app/inputs/site.hpp"
#include "muster/result.hpp"

namespace muster {

struct ChecksHere {
  std::vector<std::string> able;
  std::map<std::string, std::vector<std::string>> unable;  ///< why -> checks
};

/// Every check of `loaded`, tagged or not, for the nodes and the launcher of `site`. A check with several cases is able
/// when one of them is. Fails with kind `usage` as make_plan does.
[[nodiscard]] Result<ChecksHere> checks_here(const Loaded& loaded, const SystemProfile& system, const SiteFound& site);

}  // namespace muster
