#include "app/inputs/load.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <unistd.h>

#include "app/inputs/config_homes.hpp"
#include "app/inputs/machine_files.hpp"
#include "base/files.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
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
    if (!partition.machine.empty() && !is_in(partition.machine, machines))
      loaded.diagnostics.errors.push_back(
          {ErrorKind::file, system.places["machine of " + partition.name],
           fmt::format("unknown machine \"{}\"{}", printable_line(partition.machine, 60),
                       suggestion(partition.machine, machines))});
  if (loaded.diagnostics.errors.size() == before) loaded.systems.push_back(std::move(system));
}

void take_text(std::string_view text, const std::string& name, Loaded& loaded) {
  const bool is_system = is_system_document(text);
  if (is_system) take_system(text, name, loaded);
  if (is_system && !is_check_document(text)) return;
  auto checks = parse_checks(text, name, all_probes(), loaded.diagnostics);
  for (auto& check : checks) loaded.checks.push_back(std::move(check));
}

constexpr std::size_t most_config_bytes = 16u << 20;

/// What checks start is started with our rights.
Result<std::string> read_config(const fs::path& file, bool is_to_run) {
  return is_to_run && ::geteuid() == 0 ? read_trusted(file, most_config_bytes, with_installer())
                                       : read_file(file, most_config_bytes);
}

void take_files(const std::vector<fs::path>& files, Loaded& loaded, bool is_to_run) {
  for (const auto& file : files) {
    if (const auto text = read_config(file, is_to_run))
      take_text(*text, file.string(), loaded);
    else
      loaded.diagnostics.errors.push_back(text.error());
  }
}

std::vector<fs::path> files_among(const std::vector<std::string>& paths, Loaded& loaded) {
  if (paths.empty()) return {};
  auto files = find_check_files(paths);
  if (files) return std::move(*files);
  loaded.diagnostics.errors.push_back(files.error());
  return {};
}

/// Those of $MUSTER_CHECKS; those that come with the program are trusted as it is.
bool has_other_checks() {
  const char* folder = std::getenv("MUSTER_CHECKS");
  return folder != nullptr && *folder != '\0';
}

Loaded shipped_profiles(bool is_to_run) {
  Loaded shipped;
  if (shipped_checks().empty()) return shipped;
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(shipped_checks() / "systems", ignored))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files)
    if (auto text = read_config(file, is_to_run && has_other_checks()))
      take_system(*text, file.string(), shipped);
    else if (is_to_run)
      shipped.diagnostics.errors.push_back(text.error());
  for (auto& system : shipped.systems) system.is_shipped = true;
  return shipped;
}

Loaded shipped_check_files(bool is_to_run) {
  Loaded shipped;
  if (const auto folder = shipped_checks(); !folder.empty())
    take_files(files_among({folder.string()}, shipped), shipped, is_to_run && has_other_checks());
  else
    shipped.diagnostics.errors.push_back(
        {ErrorKind::file, "muster",
         "does not find its own checks, as /proc is not mounted here; mount it, or name check files"});
  return shipped;
}

std::string place_of(const Check& check) {
  return check.place;
}

std::string place_of(const SystemProfile& system) {
  const auto named = system.places.find("name");
  return named == system.places.end() ? system.file : named->second;
}

template <class One>
void reject_duplicates(const std::vector<One>& all, const char* what, Diagnostics& diagnostics) {
  std::map<std::string, std::string> seen;
  for (const auto& one : all) {
    const auto [at, is_new] = seen.emplace(one.name, place_of(one));
    if (!is_new)
      diagnostics.errors.push_back(
          {ErrorKind::file, place_of(one),
           fmt::format("{} {} is already defined at {}; give one of them another name", what, one.name, at->second)});
  }
}

template <class One>
void put_over(std::vector<One> above, std::vector<One>& below) {
  const auto is_replaced = [&](const One& one) {
    return std::any_of(above.begin(), above.end(), [&](const One& other) { return other.name == one.name; });
  };
  std::erase_if(below, is_replaced);
  std::move(above.begin(), above.end(), std::back_inserter(below));
}

/// Files of one home, or those that were given. A profile or check of `above` replaces the one of its name; two of
/// `above` with one name are an error.
void put_over(Loaded above, Loaded& below) {
  auto& errors = below.diagnostics.errors;
  std::move(above.diagnostics.errors.begin(), above.diagnostics.errors.end(), std::back_inserter(errors));
  reject_duplicates(above.systems, "profile", below.diagnostics);
  reject_duplicates(above.checks, "check", below.diagnostics);
  put_over(std::move(above.systems), below.systems);
  put_over(std::move(above.checks), below.checks);
}

/// Of a home without what is given by name, which is read as that.
Loaded read_layer(const ConfigHome& home, const std::vector<fs::path>& given) {
  Loaded layer;
  layer.diagnostics.errors = home.errors;
  const auto is_given = [&](const fs::path& path) {
    std::error_code ignored;
    return std::any_of(given.begin(), given.end(),
                       [&](const fs::path& other) { return fs::equivalent(path, other, ignored); });
  };
  for (const auto& file : home.files)
    if (!is_given(file.path)) take_text(file.text, file.path.string(), layer);
  return layer;
}

ConfigSummary summary_of(const ConfigHome& home, const Loaded& layer) {
  ConfigSummary summary{home.folder, {}, {}};
  for (const auto& system : layer.systems) summary.systems.push_back(system.name);
  for (const auto& check : layer.checks) summary.checks.push_back(check.name);
  return summary;
}

/// Profiles and checks of all homes.
Loaded read_homes(const std::vector<std::string>& config, const std::vector<fs::path>& given) {
  Loaded all;
  for (const auto& home : read_config_homes(config)) {
    auto layer = read_layer(home, given);
    all.homes.push_back(summary_of(home, layer));
    put_over(std::move(layer), all);
  }
  return all;
}

bool has_references(const Loaded& loaded) {
  return std::any_of(loaded.systems.begin(), loaded.systems.end(), [](const SystemProfile& system) {
    return std::any_of(system.partitions.begin(), system.partitions.end(),
                       [](const PartitionProfile& partition) { return !partition.references.empty(); });
  });
}

/// A reference is of a check that was given, of the site's or of one that comes with muster; of any other it can match
/// nothing.
void hold_references(const std::vector<Check>& of_site, Loaded& loaded) {
  if (!has_references(loaded)) return;
  std::vector<Check> known;
  if (!loaded.is_shipped && !shipped_checks().empty()) known = shipped_check_files(false).checks;
  put_over(of_site, known);
  put_over(loaded.checks, known);
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

Loaded load(const std::vector<std::string>& paths, const std::vector<std::string>& config, bool is_to_run) {
  Loaded given;
  const auto files = files_among(paths, given);
  take_files(files, given, is_to_run);
  Loaded loaded = shipped_profiles(is_to_run);
  auto site = read_homes(config, files);
  loaded.homes = site.homes;
  const auto of_site = site.checks;
  loaded.is_shipped = given.checks.empty() && given.diagnostics.ok() && site.diagnostics.ok();
  if (loaded.is_shipped)
    put_over(shipped_check_files(is_to_run), loaded);
  else
    site.checks.clear();
  put_over(std::move(site), loaded);
  put_over(std::move(given), loaded);
  hold_references(of_site, loaded);
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
