/// A child process for what may crash or hang: foreign libraries, files that make a library crash.
#pragma once

#include <functional>
#include <sys/types.h>

#include "muster/result.hpp"

namespace muster {

/// The first call in a child after fork: it gets a session of its own, ends with its parent, has no handlers of ours,
/// and leaves no core file; its standard streams are /dev/null, and it has no other descriptor of ours but `out`, which
/// may get another number, and `kept` (-1: none).
void become_harmless(pid_t parent, int& out, int kept);

/// Kills the child and all of its group. Its exit status as wait gives it; -1: it does not end.
[[nodiscard]] int end_harmless(pid_t child);

/// Carries out `act` in such a child, which forgets what it did. Fails with kind `system`, where `act` crashes, ends
/// the process or takes longer than `deadline_s`, and where no child can be made: what happened, as `crashes (signal
/// 11)`.
[[nodiscard]] Result<void> survives(const std::function<void()>& act, double deadline_s);

}  // namespace muster
