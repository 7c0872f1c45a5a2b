/// Names of cases that stay the same from run to run.
#pragma once

#include <string>

#include "model/plan.hpp"

namespace muster {

/// `<check>%<8 hex>`: FNV-1a with 64 bits over check, system, partition, environment and every parameter (name and the
/// text form of its items), each ended by a byte that text does not contain; upper and lower half combined by
/// exclusive or. `salt` above 0 distinguishes cases that would otherwise have the same id.
[[nodiscard]] std::string case_id(const Case& item, int salt = 0);

}  // namespace muster
