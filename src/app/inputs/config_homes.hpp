/// Homes of profiles and checks that a site or a user adds to the shipped ones: docs/site.md.
#pragma once

#include <string>
#include <vector>

#include "base/files.hpp"
#include "muster/result.hpp"

namespace muster {

/// As the option --config takes it: only the folders that are named, and not /etc/muster and that of the user.
inline constexpr const char* no_usual_homes = "none";

struct ConfigFile {
  fs::path path;
  std::string text;
};

struct ConfigHome {
  fs::path folder;
  std::vector<ConfigFile> files;  ///< sorted by path
  std::vector<Error> errors;      ///< files that can't be read, or that another user could change
};

/// /etc/muster and $XDG_CONFIG_HOME/muster (else ~/.config/muster) where they exist, then the folders of `chosen`, each
/// with all *.toml files below it. Later homes take precedence. Files are read as plug-ins are: each part of the path
/// belongs to root, the caller or the owner of the program, and no other user may write it.
[[nodiscard]] std::vector<ConfigHome> read_config_homes(const std::vector<std::string>& chosen);

/// The homes that are looked at without --config, whether they exist or not.
[[nodiscard]] std::vector<fs::path> usual_config_homes();

}  // namespace muster
