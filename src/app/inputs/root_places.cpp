#include "app/inputs/root_places.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"

namespace muster {

namespace {

std::vector<Fact>& facts_found() {
  static std::vector<Fact> facts;
  return facts;
}

/// An entry of PATH.
struct PathEntry {
  std::string danger;  ///< every user can put programs there; empty: not so
  std::string owner;   ///< `/home/a belongs to user 1000`; empty: it is root's, or of who installed muster
};

/// Whether others may put a file there, or where the next part is missing, a folder.
bool is_open_to_all(const struct stat& about, bool is_end) {
  const bool is_sticky = (about.st_mode & S_ISVTX) != 0;
  return (about.st_mode & S_IWOTH) != 0 && (is_end || !is_sticky);
}

PathEntry look_at(const std::string& entry) {
  if (entry.empty()) return {"an empty entry is the current folder", ""};
  if (entry.front() != '/') return {"it is relative", ""};
  PathEntry seen;
  std::error_code ignored;
  const auto real = fs::weakly_canonical(entry, ignored);
  const auto installer = with_installer().also;
  fs::path part;
  struct stat about {};
  for (auto name = real.begin(); name != real.end(); ++name) {
    part /= *name;
    if (::stat(part.c_str(), &about) != 0) break;
    struct stat below {};
    const auto next = std::next(name);
    const bool is_end = next == real.end() || ::stat((part / *next).c_str(), &below) != 0;
    if (is_open_to_all(about, is_end)) seen.danger = fmt::format("every user may write {}", part.string());
    if (seen.owner.empty() && is_other_user(about.st_uid) && about.st_uid != installer)
      seen.owner = fmt::format("{} belongs to user {}", part.string(), about.st_uid);
  }
  return seen;
}

/// `names_owners`: entries of other users are named, too.
void clean_list(const char* name, bool names_owners) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return;
  std::vector<std::string> kept, words;
  for (const auto& entry : split(value, ':')) {
    const auto seen = look_at(entry);
    if (seen.danger.empty()) kept.push_back(entry);
    if (!seen.danger.empty())
      words.push_back(fmt::format("\"{}\" is left out, as {}", printable_line(entry, 200), seen.danger));
    else if (names_owners && !seen.owner.empty())
      words.push_back(seen.owner);
  }
  if (words.empty()) return;
  ::setenv(name, join(kept, ":").c_str(), 1);
  facts_found().push_back({name, join(words, "; ")});
}

/// Why programs of root do not start there; empty: they may.
std::string why_not_in(const fs::path& folder) {
  struct stat about {};
  if (::stat(folder.c_str(), &about) != 0) return "it can't be read";
  const auto seen = look_at(folder.string());
  if (!seen.danger.empty() || !seen.owner.empty()) return seen.danger.empty() ? seen.owner : seen.danger;
  const bool has_group = (about.st_mode & S_IWGRP) != 0 && about.st_gid != 0;
  return has_group ? fmt::format("group {} may write it", about.st_gid) : std::string();
}

/// UCX, below MPI libraries, reads it in the current folder: it may name modules to load.
std::string whose_settings() {
  struct stat about {};
  struct stat target {};
  const bool is_there = ::lstat("ucx.conf", &about) == 0;
  if (is_there && !is_other_user(about.st_uid) && ::stat("ucx.conf", &target) == 0) about = target;
  const bool is_foreign = is_there && is_other_user(about.st_uid);
  return is_foreign ? fmt::format("ucx.conf there belongs to user {}", about.st_uid) : std::string();
}

void leave_current_folder() {
  std::error_code error;
  const auto folder = fs::current_path(error);
  if (error) return;
  std::string why = ::geteuid() == 0 ? why_not_in(folder) : std::string();
  if (why.empty()) why = whose_settings();
  if (why.empty()) return;
  start_children_in("/");
  facts_found().push_back(
      {"PWD", fmt::format("programs start in / instead of {}, as {}", printable_line(folder.string(), 200), why)});
}

void leave_home(const std::string& home) {
  struct stat about {};
  if (::stat(home.c_str(), &about) != 0 || !is_other_user(about.st_uid)) return;
  const passwd* entry = ::getpwuid(0);
  const std::string own = entry != nullptr && entry->pw_dir != nullptr ? entry->pw_dir : "/";
  ::setenv("HOME", own.c_str(), 1);
  facts_found().push_back({"HOME", fmt::format("{} instead of {}, which belongs to user {}", own,
                                               printable_line(home, 200), about.st_uid)});
}

}  // namespace

void leave_places_of_others() {
  // PMIx, below Open MPI 4, crashes where neither gives it a home.
  if (std::getenv("HOME") == nullptr && ::getpwuid(::geteuid()) == nullptr) ::setenv("HOME", "/", 1);
  leave_current_folder();
  if (::geteuid() != 0) return;
  if (const char* home = std::getenv("HOME")) leave_home(home);
  clean_list("PATH", true);
  clean_list("LD_LIBRARY_PATH", false);
  clean_list("PYTHONPATH", false);
}

const std::vector<Fact>& places_of_others() {
  return facts_found();
}

}  // namespace muster
