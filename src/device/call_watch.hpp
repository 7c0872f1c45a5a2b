/// Who wants to know which call of a vendor's library comes next, so that one that never returns is named.
#pragma once

#include <functional>
#include <string_view>

namespace muster {

/// Called before every call; may be empty. A flight recorder's step, as a rule.
using CallWatch = std::function<void(std::string_view call)>;

}  // namespace muster
