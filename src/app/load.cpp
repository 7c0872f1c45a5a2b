#include "app/load.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <set>

#include "app/machine_files.hpp"
#include "base/install_prefix.hpp"
#include "base/text.hpp"
#include "muster/launcher.hpp"
#include "muster/probe.hpp"

namespace muster {

namespace {

void take_system(std::string_view text, const std::string& file, Loaded& loaded) {
  const auto before = loaded.diagnostics.errors.size();
  auto system = parse_system(text, file, loaded.diagnostics);
  for (const auto& partition : system.partitions) {
    if (partition.launcher.empty() || find_launcher(partition.launcher) != nullptr) continue;
    std::vector<std::string> known;
    for (const auto* launcher : all_launchers()) known.emplace_back(launcher->name);
    loaded.diagnostics.errors.push_back(
        {ErrorKind::file, system.places["launcher of " + partition.name],
         fmt::format("unknown launcher \"{}\"{}", printable_line(partition.launcher, 60),
                     suggestion(partition.launcher, known))});
  }
  const auto machines = known_machines();
  for (const auto& partition : system.partitions)
    if (!partition.machine.empty() && std::find(machines.begin(), machines.end(), partition.machine) == machines.end())
      loaded.diagnostics.errors.push_back(
          {ErrorKind::file, system.places["machine of " + partition.name],
           fmt::format("unknown machine \"{}\"{}", printable_line(partition.machine, 60),
                       suggestion(partition.machine, machines))});
  if (loaded.diagnostics.errors.size() == before) loaded.systems.push_back(std::move(system));
}

void take_file(const fs::path& path, Loaded& loaded) {
  auto text = read_file(path, 16u << 20);
  if (!text) {
    loaded.diagnostics.errors.push_back(text.error());
    return;
  }
  const auto name = path.string();
  if (is_system_document(*text)) return take_system(*text, name, loaded);
  auto checks = parse_checks(*text, name, all_probes(), loaded.diagnostics);
  for (auto& check : checks) loaded.checks.push_back(std::move(check));
}

void take_shipped_systems(Loaded& loaded) {
  if (shipped_checks().empty()) return;
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(shipped_checks() / "systems", ignored))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files)
    if (auto text = read_file(file)) take_system(*text, file.string(), loaded);
}

void take_files(const std::vector<std::string>& paths, Loaded& loaded) {
  const auto files = find_check_files(paths);
  if (!files)
    loaded.diagnostics.errors.push_back(files.error());
  else
    for (const auto& file : *files) take_file(file, loaded);
}

void reject_duplicates(Loaded& loaded) {
  std::map<std::string, std::string> seen;
  for (const auto& check : loaded.checks) {
    const auto [at, is_new] = seen.emplace(check.name, check.place);
    if (!is_new)
      loaded.diagnostics.errors.push_back(
          {ErrorKind::file, check.place,
           fmt::format("check {} is already defined at {}; give one of them another name", check.name, at->second)});
  }
}

/// A site's own profile stands for the shipped one of its name; two of its own can't both.
void settle_systems(std::size_t shipped, Loaded& loaded) {
  std::map<std::string, std::string> seen;
  for (std::size_t i = shipped; i < loaded.systems.size(); ++i) {
    const auto& system = loaded.systems[i];
    const auto named = system.places.find("name");
    const auto place = named == system.places.end() ? system.file : named->second;
    const auto [at, is_new] = seen.emplace(system.name, place);
    if (!is_new)
      loaded.diagnostics.errors.push_back(
          {ErrorKind::file, place,
           fmt::format("profile {} is already defined at {}; give one of them another name", system.name, at->second)});
  }
  const auto end = loaded.systems.begin() + static_cast<std::ptrdiff_t>(shipped);
  loaded.systems.erase(
      std::remove_if(loaded.systems.begin(), end, [&](const auto& system) { return seen.count(system.name) > 0; }),
      end);
}

/// A reference is of a check that was given or of one that comes with muster; of any other it can match nothing.
void hold_references(Loaded& loaded) {
  const auto refers = [](const SystemProfile& system) {
    return std::any_of(system.partitions.begin(), system.partitions.end(),
                       [](const PartitionProfile& partition) { return !partition.references.empty(); });
  };
  if (std::none_of(loaded.systems.begin(), loaded.systems.end(), refers)) return;
  std::vector<Check> known = loaded.checks;
  if (!loaded.is_shipped && !shipped_checks().empty()) {
    Loaded shipped;
    take_files({shipped_checks().string()}, shipped);
    const auto is_given = [&](const Check& check) {
      return std::any_of(loaded.checks.begin(), loaded.checks.end(),
                         [&](const Check& given) { return given.name == check.name; });
    };
    for (auto& check : shipped.checks)
      if (!is_given(check)) known.push_back(std::move(check));
  }
  for (const auto& system : loaded.systems) check_references(system, known, all_probes(), loaded.diagnostics);
}

}  // namespace

fs::path shipped_folder(const char* name, const fs::path& source) {
  const auto prefix = install_prefix();
  if (prefix.empty()) return {};
  std::error_code ignored;
  // An installed program must not take files from where it was once built.
  const bool is_build = fs::exists(prefix / "CMakeCache.txt", ignored);
  return is_build && fs::is_directory(source, ignored) ? source : prefix / "share" / "muster" / name;
}

fs::path shipped_checks() {
  if (const char* folder = std::getenv("MUSTER_CHECKS"); folder != nullptr && *folder != '\0') return folder;
  return shipped_folder("checks", MUSTER_SOURCE_CHECKS);
}

Loaded load(const std::vector<std::string>& paths) {
  Loaded loaded;
  take_shipped_systems(loaded);
  const auto shipped = loaded.systems.size();
  if (!paths.empty()) take_files(paths, loaded);
  for (std::size_t i = 0; i < shipped; ++i) loaded.systems[i].is_shipped = true;
  settle_systems(shipped, loaded);
  if (loaded.checks.empty() && loaded.diagnostics.ok()) {
    loaded.is_shipped = true;
    if (const auto folder = shipped_checks(); !folder.empty())
      take_files({folder.string()}, loaded);
    else
      loaded.diagnostics.errors.push_back(
          {ErrorKind::file, "muster",
           "does not find its own checks, as /proc is not mounted here; mount it, or name check files"});
  }
  reject_duplicates(loaded);
  hold_references(loaded);
  return loaded;
}

void print_errors(const std::vector<Error>& errors) {
  for (const auto& error : errors) fmt::print(stderr, "{}\n", printable_line(to_string(error), 2000));
}

int usage_error(const Error& error) {
  fmt::print(stderr, "muster: {}\n", printable_line(to_string(error), 2000));
  return exit_usage;
}

}  // namespace muster
