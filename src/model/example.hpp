/// What `muster selftest` shows of checks: a machine on which they pass, and one that turns them red. docs/selftest.md
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/launcher.hpp"

namespace muster {

struct Example {
  bool is_bad = false;
  std::vector<std::string> checks;
  std::string what;                 ///< what is wrong, or how it is shown
  std::string machine;              ///< name of a description, or a file beside the examples
  std::vector<std::string> faults;  ///< of the machine: `gpu_missing`, `gpu_missing@nid002`
  std::vector<std::string> driver;  ///< further lines for the stand-ins of the vendors' libraries
  std::vector<std::string> orders;  ///< what ranks do wrong; base/fault_injection.hpp
  std::vector<std::string> hosts;   ///< names of nodes; empty: one
  std::optional<int> ranks_per_node;
  std::string system;  ///< profile: NAME[:PARTITION]; empty: none
  std::vector<std::string> settings;
  Environment environment;
  std::string timeout;
  std::string module;  ///< of Python, without which this can't be shown
  /// Of a bad one: exactly these are to be named, sorted; patterns as of file names (`mpi*`).
  std::vector<std::string> culprits;
  std::string place;                          ///< file:line:column
  std::map<std::string, std::string> places;  ///< of single keys
  std::string folder;                         ///< of the file
  friend bool operator==(const Example&, const Example&) = default;
};

}  // namespace muster
