/// `muster init`: a first profile of a cluster, from its batch system and one of its nodes. docs/site.md
#pragma once

#include <string>

namespace muster {

struct InitOptions {
  std::string system;  ///< name of the profile
  std::string output;  ///< file; empty: standard output
};

/// Returns the exit status: 0, or 3 for a name that a profile can't have, a file that is there already or that can't be
/// written.
int init_command(const InitOptions& options);

}  // namespace muster
