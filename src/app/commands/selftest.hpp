/// `muster selftest`: every check is seen to pass on a good machine and to fail on a bad one. docs/selftest.md
#pragma once

#include <string>
#include <vector>

namespace muster {

struct SelftestOptions {
  std::vector<std::string> paths;
  std::vector<std::string> names;  ///< checks; empty: all
  std::string launcher;
  std::string agent;
  std::string keep;       ///< folder for what the runs leave; empty: nothing is kept
  bool markdown = false;  ///< the page of all checks; nothing is run
  bool json = false;
};

/// The exit status.
int selftest_command(const SelftestOptions& options);

}  // namespace muster
