#include "app/inputs/root_places.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lists.hpp"
#include "base/loop.hpp"
#include "base/path_writers.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"

namespace muster {

namespace {

std::vector<Fact>& facts_found() {
  static std::vector<Fact> facts;
  return facts;
}

void note_place(const char* name, std::string text) {
  facts_found().push_back({name, std::move(text)});
}

std::string shown_place(std::string_view path) {
  return printable_line(path, 200);
}

/// Why a place is not used as it is named. What concerns its end is about `it`.
std::string reason_against(const std::string& place, const std::string& why) {
  const auto shown = shown_place(place);
  if (why.starts_with(shown + " ")) return "it" + why.substr(shown.size());
  if (why.ends_with(" " + shown)) return why.substr(0, why.size() - shown.size()) + "it";
  return why;
}

/// The dynamic linker separates folders by `;`, too, and replaces `$LIB`, `$ORIGIN` and `$PLATFORM` in them.
bool is_for_linker(std::string_view variable) {
  return variable == "LD_LIBRARY_PATH";
}

PathWriters look_at_entry(const std::string& entry, std::string_view variable) {
  if (entry.empty()) return {"an empty entry is the current folder", "", ""};
  if (is_for_linker(variable) && entry.find('$') != entry.npos)
    return {"the dynamic linker replaces a name behind \"$\" in it", "", ""};
  return find_path_writers(entry, {.trusted = with_installer().also});
}

std::vector<std::string> entries_of(const char* variable) {
  const char* value = std::getenv(variable);
  std::string text = value == nullptr ? "" : value;
  if (is_for_linker(variable)) std::replace(text.begin(), text.end(), ';', ':');
  // Programs are looked for in the current folder then.
  if (text.empty() && value != nullptr && variable == std::string_view("PATH")) return {""};
  return split(text, ':');
}

void clean_list(const char* variable) {
  std::vector<std::string> kept, words;
  const auto add = [&](std::string text) {
    if (!is_in(text, words)) words.push_back(std::move(text));
  };
  for (const auto& entry : entries_of(variable)) {
    const auto writers = look_at_entry(entry, variable);
    if (writers.anyone.empty()) kept.push_back(entry);
    const auto& named = writers.anyone.empty() ? writers.owner : writers.anyone;
    if (!named.empty())
      add(writers.anyone.empty()
              ? writers.owner
              : fmt::format("\"{}\" is left out, as {}", shown_place(entry), reason_against(entry, writers.anyone)));
  }
  if (words.empty()) return;
  // An empty one would be the current folder.
  if (kept.empty() && variable == std::string_view("PATH")) kept = {"/usr/bin", "/bin"};
  ::setenv(variable, join(kept, ":").c_str(), 1);
  note_place(variable, join(words, "; "));
}

/// UCX, below MPI libraries, reads it in the current folder: it may name modules to load.
std::string whose_settings() {
  struct stat about {};
  struct stat target {};
  const bool is_there = see_link("ucx.conf", about);
  if (is_there && !is_other_user(about.st_uid) && see_file("ucx.conf", target)) about = target;
  const bool is_foreign = is_there && is_other_user(about.st_uid);
  return is_foreign ? fmt::format("ucx.conf there belongs to user {}", about.st_uid) : std::string();
}

void leave_current_folder() {
  std::error_code error;
  const auto folder = fs::current_path(error);
  if (error) {
    start_children_in("/");
    return note_place("PWD", fmt::format("programs start in / instead of the current folder, which can't be read: {}",
                                         error.message()));
  }
  std::string why;
  if (::geteuid() == 0)
    why = reason_against(folder, find_path_writers(folder, {.trusted = with_installer().also}).any());
  if (why.empty()) why = whose_settings();
  if (why.empty()) return;
  start_children_in("/");
  note_place("PWD", fmt::format("programs start in / instead of {}, as {}", shown_place(folder.string()), why));
}

/// `instead` replaces the value of the variable if others could change what it leads to.
void replace_place(const char* variable, const std::string& instead, const PathRules& rules) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0' || value == instead) return;
  const std::string former = value;
  const auto why = find_path_writers(former, rules).any();
  if (why.empty()) return;
  ::setenv(variable, instead.c_str(), 1);
  note_place(variable,
             fmt::format("{} instead of {}, as {}", instead, shown_place(former), reason_against(former, why)));
}

void leave_home() {
  const passwd* entry = ::getpwuid(0);
  replace_place("HOME", entry != nullptr && entry->pw_dir != nullptr ? entry->pw_dir : "/", {});
}

}  // namespace

void leave_places_of_others() {
  // PMIx, below Open MPI 4, crashes where neither gives it a home.
  if (std::getenv("HOME") == nullptr && ::getpwuid(::geteuid()) == nullptr) ::setenv("HOME", "/", 1);
  leave_current_folder();
  if (::geteuid() != 0) return;
  leave_home();
  // Files are made there by names. std::filesystem reads all of these variables.
  for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"})
    replace_place(variable, "/tmp", {.is_shared_end = true});
  for (const char* variable : {"PATH", "LD_LIBRARY_PATH", "PYTHONPATH"}) clean_list(variable);
}

const std::vector<Fact>& places_of_others() {
  return facts_found();
}

}  // namespace muster
