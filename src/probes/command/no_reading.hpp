/// Numbers that a rank can't report, for a reason that the judge gives: `no line of the output matches the pattern`
/// would be a second complaint about one mistake.
#pragma once

#include <string>

#include "muster/observation.hpp"

namespace muster::program {

/// Of one metric; `*`: of any, as the program was not started, or did not end well.
[[nodiscard]] inline Fact no_reading(const std::string& metric = "*") {
  return {"no_reading", metric};
}

}  // namespace muster::program
