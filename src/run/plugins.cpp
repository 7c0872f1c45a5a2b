#include "run/plugins.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/files.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "muster/plugin.hpp"
#include "run/plugin_file.hpp"
#include "system/this_machine.hpp"
#include "system/try_load.hpp"

namespace muster {

namespace {

constexpr const char* entry = "muster_plugin";
constexpr std::size_t most_probes = 1000;

/// What was opened in this process, which never closes it.
struct Opened {
  std::vector<const ProbeSpec*> probes;
  std::map<std::string, fs::path, std::less<>> places;  ///< by the name of the probe
  std::vector<Error> refused;
};

Opened& opened() {
  static Opened one;
  return one;
}

tl::unexpected<Error> refuse(const fs::path& file, std::string what) {
  return fail(ErrorKind::file, file.string(), std::move(what));
}

std::string loader_words() {
  const char* why = ::dlerror();
  return why == nullptr ? "unknown" : printable_line(why);
}

/// For dlopen. The loader distinguishes libraries by their names: a descriptor must stay open as long as its library.
std::string loadable_name(const OwnedDescriptor& opened) {
  return fmt::format("/proc/self/fd/{}", opened.number());
}

/// The loader's words, about the file and not its descriptor.
std::string with_own_name(std::string words, const fs::path& file, const OwnedDescriptor& opened) {
  const auto name = loadable_name(opened);
  if (const auto at = words.find(name); at != words.npos) words.replace(at, name.size(), file.filename().string());
  return words;
}

/// Constructors may hang or crash.
Result<void> hold_loadable(const fs::path& file, const OwnedDescriptor& opened) {
  if (!this_machine().simulated.empty()) return {};
  LoadQuestion question;
  question.names = {loadable_name(opened)};
  question.kept = opened.number();
  question.wanted = {entry};
  for (const auto& tried : try_load(question)) {
    if (!tried.error.empty())
      return refuse(file,
                    fmt::format("can't be opened: {}; repair or remove it", with_own_name(tried.error, file, opened)));
    if (tried.symbols.empty()) return refuse(file, fmt::format("has no function {}; build it again", entry));
  }
  return {};
}

bool is_good_name(std::string_view name) {
  const auto is_good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), is_good);
}

Result<void> hold_probe(const ProbeSpec* probe, const fs::path& file, std::span<const ProbeSpec* const> built_in) {
  if (probe == nullptr || !is_good_name(probe->name))
    return refuse(file, "has a probe without a proper name (small letters, digits, underscores)");
  if (probe->run == nullptr || probe->summary.empty())
    return refuse(file, fmt::format("probe {} has no run or no summary", probe->name));
  if (std::any_of(built_in.begin(), built_in.end(), [&](const auto* one) { return one->name == probe->name; }))
    return refuse(file, fmt::format("probe {} is built in already; give this one another name", probe->name));
  const auto known = opened().places.find(probe->name);
  if (known != opened().places.end())
    return refuse(file, fmt::format("probe {} comes from {} already; take one of them away", probe->name,
                                    known->second.string()));
  return {};
}

/// All of its probes, or none.
Result<void> open_plugin(const fs::path& file, OwnedDescriptor opened_file,
                         std::span<const ProbeSpec* const> built_in) {
  void* const library = ::dlopen(loadable_name(opened_file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return refuse(file, fmt::format("can't be opened: {}", with_own_name(loader_words(), file, opened_file)));
  (void)opened_file.release();
  const auto announce = reinterpret_cast<void (*)(Plugin*)>(::dlsym(library, entry));
  if (announce == nullptr) return refuse(file, fmt::format("has no function {}; build it again", entry));
  Plugin plugin;
  announce(&plugin);
  if (plugin.probes == nullptr || plugin.count == 0 || plugin.count > most_probes) return refuse(file, "has no probes");
  const std::span<const ProbeSpec* const> probes(plugin.probes, plugin.count);
  std::set<std::string_view> names;
  for (const auto* probe : probes) {
    if (auto held = hold_probe(probe, file, built_in); !held) return held;
    if (!names.insert(probe->name).second) return refuse(file, fmt::format("has two probes {}", probe->name));
  }
  for (const auto* probe : probes) {
    opened().probes.push_back(probe);
    opened().places[std::string(probe->name)] = file;
  }
  return {};
}

Result<void> try_plugin(const fs::path& file, std::span<const ProbeSpec* const> built_in) {
  auto held = hold_plugin(file);
  if (!held) return tl::unexpected(held.error());
  if (file.native().find(':') != std::string::npos)
    return refuse(file, "has a colon in its path, which separates paths; move it");
  if (auto loadable = hold_loadable(file, *held); !loadable) return loadable;
  return open_plugin(file, std::move(*held), built_in);
}

bool is_plugin_name(const fs::path& path) {
  return path.extension() == ".so";
}

/// Of a folder its .so files by name, so that the same ones win on every day.
std::vector<fs::path> files_in(const fs::path& place) {
  std::error_code ignored;
  if (!fs::is_directory(place, ignored)) return {place};
  std::vector<fs::path> files;
  for (const auto& one : fs::directory_iterator(place, ignored))
    if (is_plugin_name(one.path())) files.push_back(one.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> paths_of(const char* variable) {
  const char* text = std::getenv(variable);
  std::vector<fs::path> paths;
  if (text == nullptr) return paths;
  for (const auto& part : split(text, ':'))
    if (!part.empty()) paths.push_back(fs::absolute(part));
  return paths;
}

/// Also reached by another name (a link, a prefix that is a link): opened once.
bool is_new(const fs::path& file, std::vector<fs::path>& seen) {
  std::error_code ignored;
  auto real = fs::canonical(file, ignored);
  if (real.empty()) real = file;
  if (is_in(real, seen)) return false;
  seen.push_back(std::move(real));
  return true;
}

}  // namespace

std::vector<fs::path> plugin_places() {
  auto places = paths_of(env_plugins);
  std::vector<fs::path> usual;
  // Without /proc the program does not know where it is: never the current folder instead.
  if (const auto prefix = install_prefix(); !prefix.empty())
    usual = {prefix / MUSTER_PLUGIN_FOLDER, prefix / "lib/muster/plugins"};
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    usual.push_back(fs::path(home) / ".local/lib/muster/plugins");
  std::error_code ignored;
  for (auto& place : usual)
    if (fs::is_directory(place, ignored)) places.push_back(std::move(place));
  return places;
}

std::vector<const ProbeSpec*> find_plugins(std::span<const ProbeSpec* const> built_in) {
  std::vector<fs::path> seen;
  for (const auto& place : plugin_places())
    for (const auto& file : files_in(place)) {
      if (!is_new(file, seen)) continue;
      const auto held = try_plugin(file, built_in);
      if (held) continue;
      std::fprintf(stderr, "muster: %s\n", printable_line("plug-in " + to_string(held.error()), 1000).c_str());
      opened().refused.push_back(held.error());
    }
  return opened().probes;
}

std::vector<const ProbeSpec*> take_plugins(std::span<const ProbeSpec* const> built_in) {
  for (const auto& file : paths_of(env_plugin_files)) {
    auto file_of_it = hold_plugin(file);
    const auto held = file_of_it ? open_plugin(file, std::move(*file_of_it), built_in)
                                 : Result<void>(tl::unexpected(file_of_it.error()));
    if (!held) opened().refused.push_back(held.error());
  }
  return opened().probes;
}

fs::path plugin_of(std::string_view probe) {
  const auto found = opened().places.find(probe);
  return found == opened().places.end() ? fs::path() : found->second;
}

const std::vector<Error>& refused_plugins() {
  return opened().refused;
}

std::string why_not_plugged() {
  std::string all;
  for (const auto& error : opened().refused) all += "; " + to_string(error);
  return all;
}

}  // namespace muster
