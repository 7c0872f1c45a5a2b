/// How many ranks a case gets, and whether it can be launched at all. Part of select.
#pragma once

#include "run/select.hpp"

namespace muster {

/// Sets item.shape from item.ranks, the options and the site, or from what item.shape.line starts, and item.unable when
/// the launcher or the number of nodes does not allow it. `usual_ranks`: of a node on this partition, by its profile;
/// 0: as many as the check asks for.
void shape_case(Case& item, const SelectOptions& options, const Site& site, int usual_ranks = 0);

}  // namespace muster
