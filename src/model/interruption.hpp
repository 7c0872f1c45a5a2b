/// The exit status of a run that a signal ended, as shells have it: 128 and the signal's number.
#pragma once

#include <csignal>
#include <optional>
#include <string_view>

namespace muster {

/// `signal`: RunReport::interrupted. nullopt: the run was not interrupted.
[[nodiscard]] inline std::optional<int> interrupted_status(std::string_view signal) {
  if (signal == "SIGHUP") return 128 + SIGHUP;
  if (signal == "SIGINT") return 128 + SIGINT;
  if (signal == "SIGTERM") return 128 + SIGTERM;
  return std::nullopt;
}

}  // namespace muster
