/// Limits of this process (`ulimit`).
#pragma once

#include <cstddef>
#include <string>

namespace muster {

/// How many files this process may still open: its limit less those that are open. Without /proc the limit alone.
[[nodiscard]] std::size_t free_descriptors();

/// The first limit below which libraries end the process by a signal, or fail without a reason: fewer than `files` more
/// that may be opened, a small stack, small files, little memory. With the command that raises it; empty: none is too
/// small.
[[nodiscard]] std::string too_small_limit(std::size_t files);

/// Why this process can't have `count` more threads at the same time, with the limits on processes and threads that are
/// set (ulimit -u, pids.max of its control group and of those around it); empty: it can. Starts and ends them.
[[nodiscard]] std::string too_few_threads(int count);

/// Why memory could not be had: with the limits of this process on it, and the commands that raise them.
[[nodiscard]] std::string out_of_memory();

}  // namespace muster
