#include "app/inputs/machine_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "app/inputs/load.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "config/machines.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || fs::path(name).extension() == ".toml";
}

}  // namespace

fs::path shipped_machines() {
  if (const char* folder = std::getenv("MUSTER_MACHINES"); folder != nullptr && *folder != '\0') return folder;
  return shipped_folder("machines", MUSTER_SOURCE_MACHINES);
}

fs::path shipped_stand_ins() {
  const auto prefix = own_executable().parent_path().parent_path();
  std::error_code ignored;
  const auto installed = prefix / "lib" / "muster" / "selftest";
  // An installed program must not load libraries from where it was once built.
  const bool is_build = !prefix.empty() && fs::exists(prefix / "CMakeCache.txt", ignored);
  return is_build && !fs::is_directory(installed, ignored) ? fs::path(MUSTER_BUILT_STAND_INS) : installed;
}

std::vector<std::string> known_machines() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(shipped_machines(), ignored))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Result<MachineDescription> load_machine(const std::string& name) {
  const auto known = known_machines();
  if (!is_path(name) && !is_in(name, known))
    return fail(ErrorKind::usage, printable_line(name, 60), "unknown machine" + suggestion(name, known));
  const fs::path path = is_path(name) ? fs::path(name) : shipped_machines() / (name + ".toml");
  const auto text = read_file(path, 4u << 20);
  if (!text) return tl::unexpected(text.error());
  Diagnostics diagnostics;
  auto machine = parse_machine(*text, path.string(), diagnostics);
  if (diagnostics.ok()) return machine;
  print_errors({diagnostics.errors.begin() + 1, diagnostics.errors.end()});
  return tl::unexpected(diagnostics.errors.front());
}

Result<NodeFaults> faults_of(const std::vector<std::string>& words, const std::vector<std::string>& nodes) {
  NodeFaults faults;
  for (const std::string& text : words) {
    const auto at = text.find('@');
    if (at == text.npos) {
      faults.everywhere.push_back(text);
      continue;
    }
    const std::string node = text.substr(at + 1);
    if (!is_in(node, nodes))
      return fail(ErrorKind::usage, "--fault",
                  fmt::format("\"{}\" is of a node that is not written; name all of them: --nodes 'nid[001-004]'",
                              printable_line(text, 60)));
    faults.on_node[node].push_back(text.substr(0, at));
  }
  return faults;
}

Result<MachineDescription> write_node(const MachineDescription& machine, const NodeFaults& faults,
                                      const std::string& node, const fs::path& folder) {
  std::vector<std::string> names = faults.everywhere;
  if (const auto own = faults.on_node.find(node); own != faults.on_node.end())
    names.insert(names.end(), own->second.begin(), own->second.end());
  auto one = with_faults(machine, names);
  if (!one) return one;
  if (auto written = write_machine(*one, node, folder); !written) return tl::unexpected(written.error());
  return one;
}

}  // namespace muster
