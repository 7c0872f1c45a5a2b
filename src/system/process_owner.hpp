/// Whose a process is. Arguments and environment of a process are its memory: a reader of those of another user may
/// wait without end (FUSE), so that they are read of own processes alone.
#pragma once

#include <string_view>

namespace muster {

/// Whether the real and effective user in the text of a `/proc/PID/status` are those of this process.
[[nodiscard]] bool is_status_of_this_user(std::string_view status);

/// The same of a process of this machine; false where it is gone.
[[nodiscard]] bool is_own_process(int pid);

/// Whether it runs the program of this process as the same user, with the same value of `secret` (`NAME`) in its first
/// environment: anyone can start a program with the public tag of a launch. False where it is gone.
[[nodiscard]] bool is_agent_of_this_launch(int pid, std::string_view secret = "MUSTER_TAG_SECRET");

}  // namespace muster
