/// Where machine descriptions are found, by name or path.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "model/machine_description.hpp"

namespace muster {

/// Folder of the descriptions that come with muster: $MUSTER_MACHINES, <prefix>/share/muster/machines, or the source
/// tree.
[[nodiscard]] fs::path shipped_machines();
/// Folder of the libraries that stand in for those of a node: <prefix>/lib/muster/selftest, or the build tree.
[[nodiscard]] fs::path shipped_stand_ins();
/// Names of those descriptions, sorted.
[[nodiscard]] std::vector<std::string> known_machines();
/// `lumi-g`: one that comes with muster; else the path of a file. Every mistake in the file is printed to standard
/// error; the error that is returned is the first.
[[nodiscard]] Result<MachineDescription> load_machine(const std::string& name);

/// Faults of all nodes, and of single ones: `gpu_missing`, `gpu_missing@nid003`.
struct NodeFaults {
  std::vector<std::string> everywhere;
  std::map<std::string, std::vector<std::string>> on_node;
};
/// Fails with kind `usage` for one of a node that is not among `nodes`.
[[nodiscard]] Result<NodeFaults> faults_of(const std::vector<std::string>& words,
                                           const std::vector<std::string>& nodes);
/// Writes the machine, with the faults of that node, into `folder`; the machine as it was written.
[[nodiscard]] Result<MachineDescription> write_node(const MachineDescription& machine, const NodeFaults& faults,
                                                    const std::string& node, const fs::path& folder);

}  // namespace muster
