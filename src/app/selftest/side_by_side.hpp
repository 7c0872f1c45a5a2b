/// Pieces of work in processes of their own, several at once: what they leave lies in files.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace muster {

/// Does `work(0)` to `work(count - 1)`, begun in this order, up to `at_once` of them at the same time: each in a
/// process that is forked for it and ends with it, so that what it changes or breaks stays there. To be called from the
/// only thread. A signal in the list is passed on to those at work, nothing further is begun, and it is returned once
/// they have ended; 0: all was begun, successfully or not.
[[nodiscard]] int side_by_side(std::size_t count, std::size_t at_once, std::span<const int> heeded,
                               const std::function<void(std::size_t)>& work);

/// How many processors this process may use; at least one.
[[nodiscard]] std::size_t processors_here();

}  // namespace muster
