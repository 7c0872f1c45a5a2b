#include <algorithm>
#include <fmt/format.h>
#include <sqlite3.h>

#include "base/text.hpp"
#include "history/inside.hpp"

namespace muster {

namespace {

/// What was written by record() and can't be read is damage.
template <class T>
T parsed(const std::string& text, Result<T> (*read)(const nlohmann::json&)) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  auto value = json.is_discarded() ? Result<T>(fail(ErrorKind::file, "", "is not JSON")) : read(json);
  if (!value) throw SQLite::Exception("a row can't be read: " + to_string(value.error()), SQLITE_CORRUPT);
  return std::move(*value);
}

std::vector<Fact> facts_of(const std::string& text) {
  std::vector<Fact> facts;
  for (auto& [key, value] : labels_of(text)) facts.push_back({std::move(key), std::move(value)});
  return facts;
}

Verdict verdict_at(const SQLite::Column& column) {
  return static_cast<Verdict>(std::clamp(column.getInt(), 0, static_cast<int>(Verdict::skip)));
}

/// The rows of a series' query, without its points.
Series series_at(SQLite::Statement& rows) {
  Series one;
  one.number = rows.getColumn(0).getInt64();
  one.key.case_id = rows.getColumn(1).getString();
  one.check = rows.getColumn(2).getString();
  one.key.shape = rows.getColumn(3).getString();
  one.key.simulated = rows.getColumn(4).getString();
  one.key.metric = rows.getColumn(5).getString();
  one.key.where = labels_of(rows.getColumn(6).getString());
  one.key.item.kind = static_cast<ItemKind>(std::clamp(rows.getColumn(7).getInt(), 0, 2));
  one.key.item.name = rows.getColumn(8).getString();
  one.key.item.node = rows.getColumn(9).getString();
  one.key.item.peer_node = rows.getColumn(10).getString();
  one.unit = rows.getColumn(11).getString();
  one.better = rows.getColumn(12).getInt();
  return one;
}

constexpr const char* all_series =
    "SELECT series.id, c.text, k.text, shape, simulated, metric, labels, kind, i.text, n.text, p.text, unit, better "
    "FROM series JOIN name c ON c.id = case_name JOIN name k ON k.id = check_name JOIN name i ON i.id = item "
    "JOIN name n ON n.id = series.node JOIN name p ON p.id = peer_node WHERE 1";

/// The conditions of a query and what they are asked about, in one order.
struct Conditions {
  std::string text;
  std::vector<std::string> values;
  void add(const char* condition, const std::string& value) {
    if (value.empty()) return;
    text += condition;
    values.push_back(value);
  }
};

Conditions conditions_of(const SeriesQuery& query) {
  Conditions all;
  all.add(" AND metric = ?", query.metric);
  all.add(" AND i.text = ?", query.item);
  if (!query.is_of_any_machine) {
    all.text += " AND simulated = ?";
    all.values.push_back(query.simulated);
  }
  if (query.case_ids.empty()) return all;
  std::string marks;
  for (const std::string& id : query.case_ids) {
    marks += marks.empty() ? "?" : ", ?";
    all.values.push_back(id);
  }
  all.text += " AND c.text IN (" + marks + ")";
  return all;
}

std::vector<SeriesPoint> points_of(SQLite::Statement& rows, const Series& one) {
  rows.reset();
  rows.bind(1, one.number);
  std::vector<SeriesPoint> points;
  while (rows.executeStep())
    points.push_back({rows.getColumn(0).getInt64(), rows.getColumn(1).getString(), rows.getColumn(2).getString(),
                      rows.getColumn(3).getDouble(), rows.getColumn(4).getDouble(),
                      static_cast<ValueUse>(std::clamp(rows.getColumn(5).getInt(), 0, 2)),
                      rows.getColumn(6).getString()});
  std::reverse(points.begin(), points.end());
  return points;
}

void read_nodes(SQLite::Database& database, std::int64_t number, PastRun& run) {
  SQLite::Statement rows(database,
                         "SELECT text, facts FROM run_node JOIN name ON name.id = node JOIN configuration ON "
                         "configuration.id = run_node.configuration WHERE run = ? ORDER BY place");
  rows.bind(1, number);
  while (rows.executeStep())
    run.nodes.push_back({rows.getColumn(0).getString(), facts_of(rows.getColumn(1).getString())});
}

void read_values(SQLite::Database& database, std::int64_t number, PastRun& run) {
  SQLite::Statement rows(
      database,
      "SELECT series.id, c.text, '', shape, simulated, metric, labels, kind, i.text, n.text, p.text, unit, better, "
      "value.value, spread, readings, samples, noise, use FROM value JOIN series ON series.id = value.series JOIN name "
      "c ON c.id = case_name JOIN name i ON i.id = item JOIN name n ON n.id = series.node JOIN name p ON p.id = "
      "peer_node WHERE value.run = ? ORDER BY series.id");
  rows.bind(1, number);
  while (rows.executeStep()) {
    Series of = series_at(rows);
    PastValue& value = run.values.emplace_back();
    value.key = std::move(of.key);
    value.unit = std::move(of.unit);
    value.better = of.better;
    value.value = rows.getColumn(13).getDouble();
    value.spread = rows.getColumn(14).getDouble();
    value.readings = rows.getColumn(15).getInt();
    value.samples = rows.getColumn(16).getInt64();
    value.noise = rows.getColumn(17).getDouble();
    value.use = static_cast<ValueUse>(std::clamp(rows.getColumn(18).getInt(), 0, 2));
  }
}

}  // namespace

Result<std::vector<NodeAction>> History::actions() {
  return guarded(path(), [&] {
    std::vector<NodeAction> actions;
    auto rows = inside_->ask("SELECT facts FROM action ORDER BY time, number");
    while (rows.executeStep())
      actions.push_back(parsed<NodeAction>(rows.getColumn(0).getString(), node_action_from_json));
    return actions;
  });
}

Result<std::vector<Accepted>> History::accepted() {
  return guarded(path(), [&] {
    std::vector<Accepted> all;
    auto rows = inside_->ask("SELECT time, item, metric FROM accepted ORDER BY number");
    while (rows.executeStep())
      all.push_back({rows.getColumn(0).getString(), rows.getColumn(1).getString(), rows.getColumn(2).getString()});
    return all;
  });
}

Result<std::vector<RunLine>> History::runs(std::size_t most) {
  return guarded(path(), [&] {
    std::vector<RunLine> lines;
    auto rows = inside_->ask("SELECT number, head FROM run ORDER BY started DESC, number DESC LIMIT ?");
    rows.bind(1, most == 0 ? std::int64_t{-1} : static_cast<std::int64_t>(most));
    while (rows.executeStep())
      lines.push_back(
          {rows.getColumn(0).getInt64(), parsed<PastRun>(rows.getColumn(1).getString(), past_run_from_json)});
    std::reverse(lines.begin(), lines.end());
    return lines;
  });
}

Result<std::vector<RunCase>> History::cases() {
  return guarded(path(), [&] {
    std::vector<RunCase> all;
    auto rows = inside_->ask("SELECT run, facts FROM case_result");
    while (rows.executeStep()) {
      auto one = parsed<PastCase>(rows.getColumn(1).getString(), past_case_from_json);
      all.push_back({rows.getColumn(0).getInt64(), std::move(one.id), std::move(one.check)});
    }
    return all;
  });
}

Result<PastRun> History::run(std::int64_t number) {
  return guarded(path(), [&] {
    // One moment of the file for all of it.
    const SQLite::Transaction moment(*inside_->database);
    auto head = inside_->ask("SELECT head FROM run WHERE number = ?");
    head.bind(1, number);
    if (!head.executeStep()) throw SQLite::Exception(fmt::format("there is no run {}", number), SQLITE_ERROR);
    auto run = parsed<PastRun>(head.getColumn(0).getString(), past_run_from_json);
    auto cases = inside_->ask("SELECT facts FROM case_result WHERE run = ? ORDER BY place");
    cases.bind(1, number);
    while (cases.executeStep())
      run.cases.push_back(parsed<PastCase>(cases.getColumn(0).getString(), past_case_from_json));
    read_nodes(*inside_->database, number, run);
    read_values(*inside_->database, number, run);
    return run;
  });
}

Result<std::vector<Series>> History::series(const SeriesQuery& query) {
  return guarded(path(), [&] {
    const SQLite::Transaction moment(*inside_->database);
    const Conditions conditions = conditions_of(query);
    SQLite::Statement rows(*inside_->database, all_series + conditions.text + " ORDER BY series.id");
    int at = 0;
    for (const std::string& value : conditions.values) rows.bind(++at, value);
    auto points = inside_->ask(
        "SELECT value.run, run_id, started, value.value, spread, use, coalesce(configuration, '') FROM value JOIN run "
        "ON run.number = value.run JOIN series ON series.id = value.series LEFT JOIN run_node ON run_node.run = "
        "value.run AND run_node.node = series.node WHERE value.series = ? ORDER BY started DESC, value.run DESC LIMIT "
        "?");
    points.bind(2, query.most_points == 0 ? std::int64_t{-1} : static_cast<std::int64_t>(query.most_points));
    std::vector<Series> all;
    while (rows.executeStep()) {
      Series& one = all.emplace_back(series_at(rows));
      one.points = points_of(points, one);
    }
    return all;
  });
}

Result<std::set<std::string>> History::configurations_with(const std::string& fact) {
  return guarded(path(), [&] {
    std::set<std::string> all;
    auto rows = inside_->ask("SELECT id FROM configuration WHERE instr(facts, ?) > 0");
    rows.bind(1, fmt::format("[\"{}\",", fact));
    while (rows.executeStep()) all.insert(rows.getColumn(0).getString());
    return all;
  });
}

Result<std::vector<ItemVerdict>> History::verdicts(std::size_t most_runs) {
  return guarded(path(), [&] {
    std::vector<ItemVerdict> all;
    auto rows = inside_->ask(
        "SELECT i.text, is_device, c.text, k.text, started, run_id, verdict, coalesce(configuration, '') FROM verdict "
        "JOIN run ON number = verdict.run JOIN name i ON i.id = item JOIN name c ON c.id = case_name JOIN name k ON "
        "k.id = check_name LEFT JOIN run_node ON run_node.run = verdict.run AND run_node.node = item WHERE verdict.run "
        "IN (SELECT number FROM run WHERE is_skipped = 0 ORDER BY started DESC, number DESC LIMIT ?) ORDER BY started, "
        "number, case_name, item");
    rows.bind(1, most_runs == 0 ? std::int64_t{-1} : static_cast<std::int64_t>(most_runs));
    while (rows.executeStep())
      all.push_back({rows.getColumn(0).getString(), rows.getColumn(1).getInt() != 0, rows.getColumn(2).getString(),
                     rows.getColumn(3).getString(), rows.getColumn(4).getString(), rows.getColumn(5).getString(),
                     verdict_at(rows.getColumn(6)), rows.getColumn(7).getString()});
    return all;
  });
}

Result<std::int64_t> History::prune(const std::string& before) {
  return guarded(path(), [&] {
    SQLite::Database& database = *inside_->database;
    SQLite::Transaction change(database, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement gone(database, "DELETE FROM run WHERE started < ?");
    gone.bind(1, before);
    const std::int64_t count = gone.exec();
    SQLite::Statement actions(database, "DELETE FROM action WHERE time < ?");
    actions.bind(1, before);
    actions.exec();
    for (const char* table : {"case_result", "verdict", "run_node", "value"})
      database.exec(fmt::format("DELETE FROM {} WHERE run NOT IN (SELECT number FROM run)", table));
    database.exec("DELETE FROM series WHERE id NOT IN (SELECT series FROM value)");
    database.exec("DELETE FROM configuration WHERE id NOT IN (SELECT configuration FROM run_node)");
    database.exec(
        "DELETE FROM name WHERE id NOT IN (SELECT case_name FROM verdict UNION SELECT check_name FROM verdict UNION "
        "SELECT item FROM verdict UNION SELECT node FROM run_node UNION SELECT case_name FROM series UNION SELECT "
        "check_name FROM series UNION SELECT item FROM series UNION SELECT node FROM series UNION SELECT peer_node "
        "FROM series)");
    change.commit();
    return count;
  });
}

Result<std::int64_t> History::compact() {
  return guarded(path(), [&] {
    const auto size = [&] {
      std::error_code ignored;
      const auto bytes = fs::file_size(path(), ignored);
      return ignored ? std::int64_t{0} : static_cast<std::int64_t>(bytes);
    };
    const auto checkpoint = [&] { (void)inside_->database->execAndGet("PRAGMA wal_checkpoint(TRUNCATE)"); };
    checkpoint();
    const auto before = size();
    inside_->database->exec("VACUUM");
    checkpoint();
    return std::max(before - size(), std::int64_t{0});
  });
}

}  // namespace muster
