/// Reads the checks and profiles that a command works on, and says what is wrong with them.
#pragma once

#include <string>
#include <vector>

#include "base/files.hpp"
#include "config/config.hpp"
#include "model/check.hpp"

namespace muster {

/// Exit statuses of the driver; see docs/runner.md.
inline constexpr int exit_usage = 3;

/// <prefix>/share/muster/<name>; of a program that still lies where it was built, the folder of its sources. Empty
/// where the program does not know where it is.
[[nodiscard]] fs::path shipped_folder(const char* name, const fs::path& source);
/// Folder of the checks that come with muster, or $MUSTER_CHECKS.
[[nodiscard]] fs::path shipped_checks();

struct Loaded {
  std::vector<Check> checks;
  std::vector<SystemProfile> systems;  ///< shipped ones and those among the paths
  bool is_shipped = false;             ///< the checks are those that come with muster
  Diagnostics diagnostics;
};

/// Without paths, or with profiles only: the shipped checks. Files that are profiles are taken as such; one with the
/// name of a shipped profile stands in its place. Every problem is in diagnostics.
[[nodiscard]] Loaded load(const std::vector<std::string>& paths);

/// Prints errors to standard error, one a line.
void print_errors(const std::vector<Error>& errors);
int usage_error(const Error& error);

}  // namespace muster
