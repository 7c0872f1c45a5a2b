/// Whose a process is. Arguments and environment of a process are its memory: a reader of those of another user may
/// wait without end (FUSE), so that they are read of own processes alone.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// Whether the real and effective user in the text of a `/proc/PID/status` are those of this process.
[[nodiscard]] bool is_status_of_this_user(std::string_view status);

/// ` of user 1003`, its real user, who started it; empty: this user, root, or a system account (below 1000, as daemons
/// have them).
[[nodiscard]] std::string of_ordinary_user_in(std::string_view status);

/// Whether a process of this machine is of this user; false where it is gone.
[[nodiscard]] bool is_own_process(int pid);

/// As of_ordinary_user_in, of a process of this machine; empty also where it is gone.
[[nodiscard]] std::string of_ordinary_user(int pid);

/// Whether it runs the program of this process as the same user, with the same value of `secret` (`NAME`) in its first
/// environment: anyone can start a program with the public tag of a launch. False where it is gone.
[[nodiscard]] bool is_agent_of_this_launch(int pid, std::string_view secret = "MUSTER_TAG_SECRET");

}  // namespace muster
