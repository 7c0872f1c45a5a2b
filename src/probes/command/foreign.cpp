#include "probes/command/foreign.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "probes/command/words.hpp"

namespace muster::program {

namespace {

/// A path in a line for a shell may end before one of these.
constexpr std::string_view ends = " \t\n\"'`;|&<>(){}:,=";
/// What a shell makes another name of.
constexpr std::string_view shell_letters = " \t\n\"'`$*?[{~\\";
constexpr std::size_t longest_path = 4096;

bool is_of_a_name(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '_' || letter == '-' || letter == '.' || letter == '/';
}

/// Where the folder begins in a word: for each placeholder, and where the check has it written out.
std::vector<std::size_t> places_of(const Word& word, const std::string& folder) {
  std::vector<std::size_t> places = word.folders;
  const std::string& text = word.text;
  for (auto at = text.find(folder); at != text.npos && folder.size() > 1; at = text.find(folder, at + 1))
    if ((at == 0 || !is_of_a_name(text[at - 1])) && !is_in(at, places)) places.push_back(at);
  return places;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

Lack foreign(const fs::path& path, const std::string& what) {
  const std::string shown = printable_line(path.string(), 300);
  return {path.string(), fmt::format("{} {}", shown, what),
          fmt::format("let root alone change {}: chown root, chmod go-w", shown)};
}

std::optional<Lack> find_foreign_path(const fs::path& path) {
  const auto own = open_trusted(path, with_installer());
  return own ? std::nullopt : std::optional(foreign(path, own.error().what));
}

/// Most are; the others are looked at with their way.
bool is_plainly_own(const fs::path& path) {
  struct stat about {};
  return see_link(path.string(), about) && !S_ISLNK(about.st_mode) && !is_other_user(about.st_uid) &&
         (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// What lies directly in a folder in which a program may look for names that the check does not have.
std::optional<Lack> find_foreign_in(const fs::path& folder) {
  struct stat about {};
  // Also one with the sticky bit: what is not there yet may be put there.
  if (::stat(folder.c_str(), &about) == 0 && (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return foreign(folder, "is not used: other users may put files into it");
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    // A link that leads nowhere names nothing.
    if (is_plainly_own(at->path()) || !fs::exists(at->path(), ignored)) continue;
    if (auto lack = find_foreign_path(at->path())) return lack;
  }
  return std::nullopt;
}

std::optional<Lack> find_foreign_at(const fs::path& path) {
  auto lack = find_foreign_path(path);
  if (!lack && is_folder(path)) lack = find_foreign_in(path);
  return lack;
}

/// Where each of the paths ends that `text`, which begins with the folder, may name.
std::vector<std::size_t> ends_of(const std::string& text, std::size_t folder) {
  std::vector<std::size_t> all;
  const std::size_t most = std::min(text.size(), longest_path);
  for (auto end = text.find_first_of(ends, folder); end < most; end = text.find_first_of(ends, end + 1))
    all.push_back(end);
  all.push_back(most);
  return all;
}

/// Of the paths that `text` may name, those that exist; where there is none and a shell may make one of it, what is in
/// the folder in which that would be.
std::optional<Lack> find_foreign_from(const std::string& text, std::size_t folder) {
  std::error_code ignored;
  bool is_any = false;
  const auto all = ends_of(text, folder);
  for (const std::size_t end : all) {
    const fs::path path = text.substr(0, end);
    if (!fs::exists(path, ignored)) continue;
    is_any = true;
    if (auto lack = find_foreign_at(path)) return lack;
  }
  if (is_any || text.find_first_of(shell_letters, folder) == text.npos) return std::nullopt;
  fs::path found = text.substr(0, all.front());
  while (!is_folder(found) && found.has_relative_path()) found = found.parent_path();
  return find_foreign_in(found);
}

}  // namespace

std::optional<Lack> find_foreign(const std::string& given, const std::string& folder) {
  if (::geteuid() != 0 || folder.empty()) return std::nullopt;
  const Word word = filled_in(given, folder);
  for (const std::size_t place : places_of(word, folder))
    if (auto lack = find_foreign_from(word.text.substr(place), folder.size())) return lack;
  return std::nullopt;
}

}  // namespace muster::program
