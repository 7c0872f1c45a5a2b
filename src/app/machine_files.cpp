#include "app/machine_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "app/load.hpp"
#include "base/text.hpp"
#include "config/machines.hpp"

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
  if (!is_path(name) && std::find(known.begin(), known.end(), name) == known.end())
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

}  // namespace muster
