#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/text.hpp"
#include "config/config.hpp"

namespace muster {

namespace {

bool is_hidden(const fs::path& path) {
  const auto name = path.filename().string();
  return name.empty() || name.front() == '.';
}

/// Files below `folder`, sorted, apart from those in folders named in `left_out`.
Result<std::vector<fs::path>> search_folder(const fs::path& folder, const std::set<std::string>& left_out) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const auto& path = at->path();
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      if (left_out.count(path.filename().string()) > 0 || is_hidden(path)) at.disable_recursion_pending();
    } else if (path.extension() == ".toml" && !is_hidden(path)) {
      found.push_back(path);
    }
  }
  if (error) return fail(ErrorKind::usage, folder.string(), "can't be searched: " + error.message());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Result<std::vector<fs::path>> find_check_files(std::span<const std::string> paths) {
  std::vector<fs::path> files;
  std::set<fs::path> seen;
  const auto take = [&](const fs::path& path) {
    std::error_code ignored;
    auto canonical = fs::canonical(path, ignored);
    if (seen.insert(canonical.empty() ? path : canonical).second) files.push_back(path);
  };
  for (const auto& name : paths) {
    const fs::path path(name);
    std::error_code error;
    const auto status = fs::status(path, error);
    if (!fs::exists(status))
      return fail(ErrorKind::usage, name.empty() ? "\"\"" : name,
                  fs::status_known(status) ? "no such file or folder" : "can't be read: " + error.message());
    if (!fs::is_directory(status)) {
      take(path);
      continue;
    }
    // What lies in a folder `systems` are profiles, in `selftest` examples.
    const auto found = search_folder(path, {"systems", "selftest"});
    if (!found) return tl::unexpected(found.error());
    if (found->empty()) return fail(ErrorKind::usage, path.string(), "there is no check file (*.toml) in this folder");
    for (const auto& file : *found) take(file);
  }
  return files;
}

Result<std::vector<fs::path>> find_config_files(const fs::path& folder) {
  return search_folder(folder, {"selftest"});
}

}  // namespace muster
