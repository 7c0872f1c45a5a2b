// A history as lines of JSON, and back.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/commands/history.hpp"
#include "app/inputs/load.hpp"
#include "app/runs/read_run.hpp"
#include "base/clock.hpp"
#include "base/lists.hpp"
#include "base/moment.hpp"
#include "base/text.hpp"
#include "history/remember.hpp"
#include "history/store.hpp"
#include "model/consistency.hpp"
#include "model/json.hpp"

namespace muster {

namespace {

constexpr int lines_version = 1;

struct Imported {
  std::vector<PastRun> runs;
  std::vector<NodeAction> actions;
};

/// `2026-01-31T02:00:00.000Z`: runs are put in order by it, as text.
Result<void> check_moment(const char* field, const std::string& text) {
  if (!is_moment(text))
    return fail(ErrorKind::file, field,
                fmt::format("\"{}\" is not a time; write for example 2026-01-31T02:00:00.000Z", printable_line(text)));
  // Clocks of other machines may be ahead.
  constexpr std::int64_t day = 86'400'000'000'000;
  const auto latest = rfc3339(realtime_nanoseconds() + day);
  if (text <= latest) return {};
  return fail(ErrorKind::file, field,
              fmt::format("{} is in the future; see the clock of the node that wrote it", printable_line(text)));
}

Result<void> take_line(const nlohmann::json& json, Imported& imported) {
  if (json.is_object() && json.size() == 1) {
    if (const auto head = json.find("muster_history"); head != json.end()) {
      if (head->is_number_integer() && *head <= lines_version) return {};
      return fail(ErrorKind::file, "", "is an export of a newer muster");
    }
    if (const auto run = json.find("run"); run != json.end()) {
      auto read = past_run_from_json(*run);
      if (!read) return tl::unexpected(read.error());
      if (auto checked = check_moment("started", read->started); !checked) return checked;
      if (auto checked = check_consistency(*read); !checked) return checked;
      imported.runs.push_back(std::move(*read));
      return {};
    }
    if (const auto action = json.find("action"); action != json.end()) {
      auto read = node_action_from_json(*action);
      if (!read) return tl::unexpected(read.error());
      if (auto checked = check_moment("time", read->time); !checked) return checked;
      imported.actions.push_back(std::move(*read));
      return {};
    }
  }
  return fail(ErrorKind::file, "", "is not a line of muster history export");
}

/// An export, or a run: its folder or its report.json.
Result<void> read_import(const std::string& from, Imported& imported) {
  std::error_code ignored;
  const auto run = fs::is_directory(from, ignored) || fs::path(from).extension() == ".json"
                       ? read_run(from)
                       : Result<RunReport>(fail(ErrorKind::usage, from, ""));
  if (run) {
    if (auto checked = check_moment("started", run->started); !checked)
      return fail(ErrorKind::file, from, to_string(checked.error()));
    if (auto checked = check_consistency(*run); !checked)
      return fail(ErrorKind::file, from, to_string(checked.error()));
    imported.runs.push_back(remember(*run));
    return {};
  }
  if (run.error().kind != ErrorKind::usage) return tl::unexpected(run.error());
  const auto text = read_file(from, std::size_t{4} << 30);
  if (!text) return fail(ErrorKind::usage, from, text.error().what);
  std::size_t number = 0;
  for (const std::string_view line : lines(*text)) {
    ++number;
    if (trim(line).empty()) continue;
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const auto taken =
        json.is_discarded() ? Result<void>(fail(ErrorKind::file, "", "is not JSON")) : take_line(json, imported);
    if (!taken) return fail(ErrorKind::file, fmt::format("{}:{}:1", from, number), to_string(taken.error()));
  }
  return {};
}

}  // namespace

int history_export_command(const std::string& file, const std::string& to) {
  const auto into = fs::path(to).parent_path();
  std::error_code ignored;
  if (!into.empty() && !fs::is_directory(into, ignored))
    return usage_error({ErrorKind::usage, to, "can't be written: there is no such folder; make it first"});
  auto history = History::open(file, HistoryUse::read);
  if (!history) return history_trouble(history.error());
  const auto runs = history->runs();
  if (!runs) return history_trouble(runs.error());
  std::string text = dump({{"muster_history", lines_version}}) + "\n";
  for (const RunLine& line : *runs) {
    const auto run = history->run(line.number);
    if (!run) return history_trouble(run.error());
    text += dump({{"run", to_json(*run)}}) + "\n";
  }
  const auto actions = history->actions();
  if (!actions) return history_trouble(actions.error());
  for (const NodeAction& one : *actions) text += dump({{"action", to_json(one)}}) + "\n";
  if (to.empty() || to == "-") {
    fmt::print("{}", text);
    return 0;
  }
  if (auto written = write_file(to, text); !written) return history_trouble(written.error());
  return 0;
}

int history_import_command(const std::string& file, const std::vector<std::string>& from) {
  // All is read before anything is stored: a bad line leaves the history as it was.
  Imported imported;
  for (const std::string& one : from)
    if (auto read = read_import(one, imported); !read) return history_trouble(read.error());
  auto history = History::open(file, HistoryUse::write);
  if (!history) return history_trouble(history.error());
  std::size_t added = 0;
  for (const PastRun& run : imported.runs) {
    const auto is_new = history->record(run);
    if (!is_new) return history_trouble(is_new.error());
    added += *is_new ? 1 : 0;
  }
  const auto known = history->actions();
  if (!known) return history_trouble(known.error());
  for (const NodeAction& one : imported.actions)
    if (!is_in(one, *known))
      if (auto stored = history->record_action(one); !stored) return history_trouble(stored.error());
  fmt::print("{} added, {} there already\n", counted(added, "run"), imported.runs.size() - added);
  return 0;
}

}  // namespace muster
