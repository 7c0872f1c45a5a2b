/// Reads the checks and profiles of a command, and reports errors in them.
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

/// What a home of site's files holds.
struct ConfigSummary {
  fs::path folder;
  std::vector<std::string> systems;
  std::vector<std::string> checks;
};

struct Loaded {
  std::vector<Check> checks;
  std::vector<SystemProfile> systems;  ///< shipped ones, those of the site, and those among the paths
  bool is_shipped = false;             ///< the checks are those that come with muster, and those of the site
  std::vector<ConfigSummary> homes;    ///< of the site's files, in rising precedence
  Diagnostics diagnostics;
};

/// Without paths, or with profiles only: the shipped checks and those of the site's homes (config_homes.hpp; `config`
/// is what --config names). Profiles of the site and among the paths are added to the shipped ones. A profile or check
/// replaces one of its name: the site's that of muster, the user's that of the site, a given one all of them. Every
/// problem is in diagnostics.
/// `is_to_run`: as root, a file that another user could change is such a problem.
[[nodiscard]] Loaded load(const std::vector<std::string>& paths, const std::vector<std::string>& config = {},
                          bool is_to_run = false);

/// Prints errors to standard error, one a line.
void print_errors(const std::vector<Error>& errors);
int usage_error(const Error& error);

}  // namespace muster
