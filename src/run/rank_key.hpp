/// How rank 0 proves to the driver that it is rank 0: with a second key, which it reads on its standard input.
///
/// Every rank has the launch's key in its environment, so a program on any node of the launch could answer in the name
/// of rank 0, for all nodes. Launchers hand their standard input to rank 0 alone (LauncherSpec::gives_input_to_rank_0).
#pragma once

#include <vector>

#include "run/sealed_frames.hpp"

namespace muster {

/// The frame by which the driver gives it, sealed with the launch's key.
[[nodiscard]] std::vector<std::byte> key_frame(const LaunchKey& of_launch, const LaunchKey& of_rank_0);

/// Reads that frame, and nothing behind it, from `descriptor`; waits up to `patience_s`. Empty: something else came,
/// or nothing did.
[[nodiscard]] LaunchKey take_key_of_rank_0(int descriptor, const LaunchKey& of_launch, double patience_s);

}  // namespace muster
