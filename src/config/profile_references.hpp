/// [[partition.reference]] of a profile.
#pragma once

#include <string>

#include "config/fields.hpp"
#include "model/check.hpp"

namespace muster {

/// Adds the reference in `table` to `partition`, and to `system.places` where its parts are, so that check_references
/// can point at the part that is wrong.
void read_profile_reference(const Node& table, PartitionProfile& partition, SystemProfile& system,
                            DocumentErrors& errors);

}  // namespace muster
