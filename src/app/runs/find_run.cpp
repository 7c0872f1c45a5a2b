#include "app/runs/find_run.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <set>
#include <sys/stat.h>

#include "app/runs/read_run.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "history/remember.hpp"
#include "history/store.hpp"

namespace muster {

namespace {

/// Of the default folder of runs, the run in it and the link that leads there. -1: none belongs to another user.
uid_t other_owner(const fs::path& run) {
  struct stat about {};
  for (const fs::path& path : {run.parent_path(), run}) {
    if (see_link(path.string(), about) && is_other_user(about.st_uid)) return about.st_uid;
    if (see_file(path.string(), about) && is_other_user(about.st_uid)) return about.st_uid;
  }
  return static_cast<uid_t>(-1);
}

/// Another user may have made the default folder of runs where this program was started, such as in /tmp. Each is
/// named once.
void name_other_owner(const fs::path& run) {
  static std::set<fs::path> named;
  const uid_t owner = other_owner(run);
  if (owner == static_cast<uid_t>(-1) || !named.insert(run).second) return;
  fmt::print(stderr, "muster: the run {} belongs to user {}\n", printable_line(run.string(), 300), owner);
}

/// The id of the last run of this folder; empty: there is none.
std::string latest_here() {
  std::error_code ignored;
  const fs::path latest = "muster-runs/latest";
  const auto folder = fs::canonical(latest, ignored).filename().string();
  if (!folder.empty()) name_other_owner(latest);
  return folder.substr(folder.find_last_of('-') + 1);
}

/// The place of `latest` among the runs of the history: that of this folder, so that it is the same run for every
/// command; else, with `file` and where the history does not have that run, the last one.
std::size_t place_of_latest(const std::vector<RunLine>& lines, const std::string& file) {
  const auto id = file.empty() ? latest_here() : "";
  for (std::size_t i = lines.size(); i-- > 0 && !id.empty();)
    if (lines[i].head.run_id == id) return i;
  return lines.size() - 1;
}

/// The run of that id, `latest` or `previous`, as it is listed.
Result<RunLine> line_of(History& history, const std::string& name, const std::string& file) {
  auto lines = history.runs();
  if (!lines) return tl::unexpected(lines.error());
  std::erase_if(*lines, [](const RunLine& line) { return !line.head.skipped.empty(); });
  const auto count = lines->size();
  if (name == "latest" || name == "previous") {
    const std::size_t back = name == "latest" ? 0 : 1;
    if (count == 0) return fail(ErrorKind::usage, name, "no such run: the history is empty");
    const auto place = place_of_latest(*lines, file);
    if (place >= back) return std::move((*lines)[place - back]);
    return fail(
        ErrorKind::usage, name,
        fmt::format("no such run: {} is the first of the history", printable_line((*lines)[place].head.run_id)));
  }
  const auto found =
      std::find_if(lines->rbegin(), lines->rend(), [&](const RunLine& line) { return line.head.run_id == name; });
  if (found == lines->rend()) return fail(ErrorKind::usage, name, "no such run; muster history lists them");
  return std::move(*found);
}

Result<PastRun> from_history(const std::string& name, const std::string& file) {
  auto history = History::open(file, HistoryUse::read);
  if (!history) return tl::unexpected(history.error());
  const auto line = line_of(*history, name, file);
  if (!line) return tl::unexpected(line.error());
  return history->run(line->number);
}

}  // namespace

fs::path find_run(const std::string& name) {
  std::error_code ignored;
  if (fs::exists(name, ignored)) {
    name_other_owner(name);
    return name;
  }
  const fs::path runs = "muster-runs";
  if (fs::exists(runs / name, ignored)) {
    name_other_owner(runs / name);
    return runs / name;
  }
  for (const auto& entry : fs::directory_iterator(runs, ignored)) {
    const auto folder = entry.path().filename().string();
    if (folder.size() > name.size() &&
        folder.compare(folder.size() - name.size() - 1, std::string::npos, "-" + name) == 0) {
      name_other_owner(entry.path());
      return entry.path();
    }
  }
  return {};
}

Result<fs::path> find_run_anywhere(const std::string& name, const std::string& history_file) {
  if (auto path = find_run(name); !path.empty()) return path;
  const auto none =
      fail(ErrorKind::usage, name,
           "no such run; give a folder of muster-runs, a report.json, or the id of a run that muster history lists");
  std::error_code ignored;
  if (history_file.empty() && !fs::exists(default_history(), ignored)) return none;
  auto history = History::open(history_file, HistoryUse::read);
  if (!history) return tl::unexpected(history.error());
  const auto line = line_of(*history, name, history_file);
  if (!line) return none;
  const fs::path folder = line->head.folder;
  if (!folder.empty() && fs::exists(folder, ignored)) return folder;
  return fail(ErrorKind::usage, name,
              fmt::format("its folder {} is not there any more; muster compare and muster history --metric NAME use "
                          "what the history keeps of it",
                          folder.empty() ? "is unknown, and" : folder.string()));
}

Result<PastRun> find_past_run(const std::string& name, const std::string& history_file) {
  std::error_code ignored;
  const bool is_path = fs::exists(name, ignored);
  auto kept = is_path ? Result<PastRun>(fail(ErrorKind::usage, name, "")) : from_history(name, history_file);
  if (kept || name == "previous") return kept;
  const auto path = find_run(name);
  if (path.empty()) return kept;
  const auto report = read_run(path);
  if (!report) return tl::unexpected(report.error());
  return remember(*report);
}

}  // namespace muster
