#include "run/session_folder.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_owner.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

/// Where the launcher makes its folder: the first of `variables` that is set, else /tmp.
fs::path parent_folder(std::span<const std::string_view> variables, const Environment& environment) {
  for (const std::string_view name : variables) {
    const auto added =
        std::find_if(environment.begin(), environment.end(), [&](const auto& one) { return one.first == name; });
    const char* own = std::getenv(std::string(name).c_str());
    const std::string value = added != environment.end() ? added->second : own == nullptr ? "" : own;
    if (!value.empty()) return value;
  }
  return "/tmp";
}

std::string owner_words(uid_t owner) {
  const passwd* entry = ::getpwuid(owner);
  return entry == nullptr ? fmt::format("user {}", owner)
                          : fmt::format("user {} ({})", owner, printable_line(entry->pw_name, 40));
}

}  // namespace

std::optional<Finding> foreign_session_folder(const LauncherSpec& launcher, const LauncherIdentity& identity,
                                              const Environment& environment) {
  if (launcher.session_folder == nullptr) return std::nullopt;
  const std::string name = launcher.session_folder(identity, host_name(), ::geteuid());
  if (name.empty()) return std::nullopt;
  const fs::path path = parent_folder(launcher.session_folder_variables, environment) / name;
  struct stat status {};
  if (!see_link(path.string(), status)) return std::nullopt;
  if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid()) return std::nullopt;
  const std::string shown = printable_line(path.string(), 200);
  const std::string what =
      status.st_uid != ::geteuid() ? "belongs to " + owner_words(status.st_uid) : std::string("is not a directory");
  return Finding{Verdict::error,
                 fmt::format("{} {}, and {} needs it", shown, what, identity.banner),
                 {{CulpritKind::launcher, std::string(launcher.name), "", -1}},
                 fmt::format("remove {}, or set TMPDIR", shown)};
}

}  // namespace muster
