#include "measure/settings_files.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "system/system.hpp"

namespace muster::environment {

namespace {

constexpr std::size_t most_bytes = 1u << 20;
constexpr std::size_t most_settings = 500;  // of a file
constexpr std::string_view mca_prefix = "OMPI_MCA_";

std::string value_of(const Variables& all, std::string_view name) {
  const auto found = all.find(name);
  return found == all.end() ? std::string() : found->second;
}

using InForce = std::map<std::string, FileSetting>;

void read_settings(const fs::path& root, const fs::path& file, std::string_view prefix, InForce& settings) {
  std::error_code problem;
  const fs::path path = root / file.relative_path();
  if (!fs::is_regular_file(path, problem)) return;
  if (const auto text = read_file(path, most_bytes))
    for (FileSetting& one : parse_settings(*text, file.string(), prefix)) settings[one.name] = std::move(one);
}

/// Spaces instead of comments between `/*` at the beginning of a line and `*/`, which Open MPI's files can have; lines
/// keep their numbers. One that nothing ends is none.
std::string without_block_comments(std::string text) {
  for (std::size_t at = text.find("/*"); at != text.npos; at = text.find("/*", at + 1)) {
    const std::size_t before = at == 0 ? text.npos : text.find_last_not_of(" \t", at - 1);
    const std::size_t end = text.find("*/", at + 2);
    if (end == text.npos) break;
    if (before != text.npos && text[before] != '\n') continue;
    std::replace_if(
        text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end) + 2,
        [](char c) { return c != '\n'; }, ' ');
  }
  return text;
}

}  // namespace

std::vector<FileSetting> parse_settings(std::string_view text, const std::string& file, std::string_view prefix) {
  std::vector<FileSetting> found;
  std::size_t number = 0;
  const std::string settings = prefix.empty() ? std::string(text) : without_block_comments(std::string(text));
  for (const std::string_view whole : lines(settings)) {
    ++number;
    constexpr std::string_view mark_of_utf8 = "\xef\xbb\xbf";
    const std::string_view line = trim(number == 1 && whole.starts_with(mark_of_utf8) ? whole.substr(3) : whole);
    if (line.starts_with('[')) break;
    const std::size_t equals = prefix.empty() ? line.find_first_of("=:") : line.find('=');
    if (line.empty() || line[0] == '#' || line[0] == ';' || line.starts_with("//") || equals == line.npos) continue;
    const std::string_view name = trim(line.substr(0, equals));
    if (name.empty() || name.find_first_of(" \t") != name.npos) continue;
    // UCX ends a value at a semicolon after a blank.
    const std::string_view rest = line.substr(equals + 1);
    const std::string_view value = prefix.empty() ? rest.substr(0, std::min(rest.find(" ;"), rest.find("\t;"))) : rest;
    if (found.size() == most_settings) break;
    found.push_back({std::string(prefix) + printable_line(name, 100), printable_line(trim(value), 300),
                     fmt::format("{}:{}", printable_line(file, 300), number)});
  }
  return found;
}

std::vector<fs::path> ucx_files(std::string_view maps, const Variables& all) {
  std::string library;
  for (const std::string_view line : lines(maps))
    if (const std::size_t at = line.find('/'); at != line.npos && line.find("/libucs.so") != line.npos)
      library = line.substr(at);
  if (library.empty()) return {};
  std::vector<fs::path> files{"/etc/ucx/ucx.conf",
                              (fs::path(library).parent_path() / "../etc/ucx/ucx.conf").lexically_normal()};
  for (const char* name : {"HOME", "UCX_CONFIG_DIR"})
    if (const std::string folder = value_of(all, name); folder.starts_with('/'))
      files.push_back(fs::path(folder) / "ucx.conf");
  std::error_code problem;
  if (const fs::path here = fs::current_path(problem); !problem) files.push_back(here / "ucx.conf");
  return files;
}

std::vector<FileSetting> settings_in_files(const fs::path& root, const Variables& all) {
  InForce settings;
  // Of Open MPI's files the first one counts.
  std::vector<std::string> of_mpi = split(value_of(all, env_mpi_files), ',');
  std::reverse(of_mpi.begin(), of_mpi.end());
  for (const std::string& file : of_mpi)
    if (file.starts_with('/')) read_settings(root, file, mca_prefix, settings);
  const auto maps = read_file("/proc/self/maps");
  for (const fs::path& file : ucx_files(maps ? *maps : "", all)) read_settings(root, file, "", settings);
  std::vector<FileSetting> in_force;
  for (auto& [name, setting] : settings)
    if (all.find(name) == all.end() &&
        (!looks_secret(name) || name.find("PKEY") != name.npos || name.find("pkey") != name.npos))
      in_force.push_back(std::move(setting));
  return in_force;
}

std::vector<Fact> to_facts(const std::vector<FileSetting>& settings) {
  std::vector<Fact> facts{{"settings", std::to_string(settings.size())}};
  for (const FileSetting& one : settings) {
    facts.push_back({"setting." + one.name, one.value});
    facts.push_back({"setting_place." + one.name, one.place});
  }
  return facts;
}

}  // namespace muster::environment
