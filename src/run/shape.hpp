/// How many ranks a case gets, and whether it can be launched at all. Part of select.
#pragma once

#include "run/select.hpp"

namespace muster {

/// Sets item.shape from item.ranks, the options and the site, and item.unable when the launcher or the number of nodes
/// does not allow it.
void shape_case(Case& item, const SelectOptions& options, const Site& site);

}  // namespace muster
