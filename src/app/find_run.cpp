#include "app/find_run.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "app/read_run.hpp"
#include "history/remember.hpp"
#include "history/store.hpp"

namespace muster {

namespace {

Result<PastRun> from_history(const std::string& name, const std::string& file) {
  auto history = History::open(file, HistoryUse::read);
  if (!history) return tl::unexpected(history.error());
  auto lines = history->runs();
  if (!lines) return tl::unexpected(lines.error());
  std::erase_if(*lines, [](const RunLine& line) { return !line.head.skipped.empty(); });
  const auto count = lines->size();
  if (name == "latest" || name == "previous") {
    const std::size_t back = name == "latest" ? 1 : 2;
    if (count < back)
      return fail(ErrorKind::usage, name, fmt::format("there is no such run: the history has {}", count));
    return history->run((*lines)[count - back].number);
  }
  for (auto line = lines->rbegin(); line != lines->rend(); ++line)
    if (line->head.run_id == name) return history->run(line->number);
  return fail(ErrorKind::usage, name, "no such run; muster history lists them");
}

}  // namespace

fs::path find_run(const std::string& name) {
  std::error_code ignored;
  if (fs::exists(name, ignored)) return name;
  const fs::path runs = "muster-runs";
  if (fs::exists(runs / name, ignored)) return runs / name;
  for (const auto& entry : fs::directory_iterator(runs, ignored)) {
    const auto folder = entry.path().filename().string();
    if (folder.size() > name.size() &&
        folder.compare(folder.size() - name.size() - 1, std::string::npos, "-" + name) == 0)
      return entry.path();
  }
  return {};
}

Result<PastRun> find_past_run(const std::string& name, const std::string& history_file) {
  std::error_code ignored;
  const bool is_path = fs::exists(name, ignored);
  auto kept = is_path ? Result<PastRun>(fail(ErrorKind::usage, name, "")) : from_history(name, history_file);
  if (kept || name == "previous") return kept;
  const auto path = find_run(name);
  if (path.empty()) {
    auto error = kept.error();
    error.kind = ErrorKind::usage;
    return tl::unexpected(std::move(error));
  }
  const auto report = read_run(path);
  if (!report) return tl::unexpected(report.error());
  return remember(*report);
}

}  // namespace muster
