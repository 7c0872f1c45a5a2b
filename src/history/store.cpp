#include "history/store.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <pwd.h>
#include <set>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "history/inside.hpp"
#include "history/remember.hpp"

namespace muster {

namespace {

/// Writes one run; everything that it throws leaves the file as it was.
class Recording {
 public:
  explicit Recording(SQLite::Database& database)
      : database_(database),
        find_name_(database, "SELECT id FROM name WHERE text = ?"),
        add_name_(database, "INSERT INTO name(text) VALUES(?)") {}

  /// false: it is there already.
  bool run(const PastRun& run) {
    SQLite::Statement known(database_, "SELECT 1 FROM run WHERE run_id = ? AND started = ? AND host = ?");
    SQLite::bind(known, run.run_id, run.started, run.host);
    if (known.executeStep()) return false;
    PastRun head = run;
    head.nodes.clear();
    head.cases.clear();
    head.values.clear();
    SQLite::Statement add(database_, "INSERT INTO run(run_id, started, host, head, is_skipped) VALUES(?, ?, ?, ?, ?)");
    SQLite::bind(add, run.run_id, run.started, run.host, dump(to_json(head)), run.skipped.empty() ? 0 : 1);
    add.exec();
    run_ = database_.getLastInsertRowid();
    nodes(run.nodes);
    cases(run);
    values(run.values);
    return true;
  }

 private:
  std::int64_t name(const std::string& text) {
    if (const auto found = names_.find(text); found != names_.end()) return found->second;
    find_name_.reset();
    find_name_.bind(1, text);
    std::int64_t id = 0;
    if (find_name_.executeStep()) {
      id = find_name_.getColumn(0).getInt64();
    } else {
      add_name_.reset();
      add_name_.bind(1, text);
      add_name_.exec();
      id = database_.getLastInsertRowid();
    }
    find_name_.reset();
    names_.emplace(text, id);
    return id;
  }

  std::int64_t configuration(const std::string& facts) {
    SQLite::Statement add(database_, "INSERT INTO configuration(facts) VALUES(?) ON CONFLICT DO NOTHING");
    add.bind(1, facts);
    add.exec();
    SQLite::Statement find(database_, "SELECT id FROM configuration WHERE facts = ?");
    find.bind(1, facts);
    find.executeStep();
    return find.getColumn(0).getInt64();
  }

  void nodes(const std::vector<NodeProvenance>& nodes) {
    SQLite::Statement add(database_,
                          "INSERT OR IGNORE INTO run_node(run, place, node, configuration) VALUES(?, ?, ?, ?)");
    std::int64_t place = 0;
    for (const NodeProvenance& node : nodes) {
      auto facts = nlohmann::json::array();
      for (const Fact& fact : node.facts) facts.push_back({printable(fact.key), printable(fact.value)});
      SQLite::bind(add, run_, place++, name(printable(node.node)), configuration(dump(facts)));
      add.exec();
      add.reset();
    }
  }

  void cases(const PastRun& run) {
    std::map<std::string, std::set<std::string>> measured;
    for (const PastValue& value : run.values)
      if (value.key.item.kind == ItemKind::device) measured[value.key.case_id].insert(value.key.item.name);
    SQLite::Statement add(database_, "INSERT INTO case_result(run, place, facts) VALUES(?, ?, ?)");
    std::int64_t place = 0;
    for (const PastCase& one : run.cases) {
      SQLite::bind(add, run_, place++, dump(to_json(one)));
      add.exec();
      add.reset();
      for (const NodeVerdict& on : one.on_nodes) verdict(one, on.node, false, on.verdict);
      // A device that was measured and is not blamed passed where its case has any result.
      if (one.verdict == Verdict::pass || one.verdict == Verdict::fail)
        for (const std::string& device : measured[one.id]) verdict(one, device, true, Verdict::pass);
      for (const std::string& device : one.devices) verdict(one, device, true, Verdict::fail);
    }
  }

  void verdict(const PastCase& of, const std::string& item, bool is_device, Verdict found) {
    SQLite::Statement add(database_,
                          "INSERT OR REPLACE INTO verdict(run, case_name, check_name, item, is_device, verdict) "
                          "VALUES(?, ?, ?, ?, ?, ?)");
    SQLite::bind(add, run_, name(of.id), name(of.check), name(item), is_device ? 1 : 0, static_cast<int>(found));
    add.exec();
  }

  std::int64_t series(const PastValue& value) {
    const SeriesKey& key = value.key;
    const auto labels = text_of(key.where);
    SQLite::Statement find(
        database_,
        "SELECT id, better FROM series WHERE case_name = ? AND item = ? AND metric = ? AND labels = ? AND "
        "shape = ? AND simulated = ?");
    const auto of_case = name(key.case_id);
    const auto item = name(key.item.name);
    SQLite::bind(find, of_case, item, key.metric, labels, key.shape, key.simulated);
    if (find.executeStep()) {
      const std::int64_t id = find.getColumn(0).getInt64();
      // Not every run has the metric's direction.
      if (value.better != 0 && find.getColumn(1).getInt() != value.better) {
        SQLite::Statement learn(database_, "UPDATE series SET better = ? WHERE id = ?");
        SQLite::bind(learn, value.better, id);
        learn.exec();
      }
      return id;
    }
    SQLite::Statement add(database_,
                          "INSERT INTO series(case_name, check_name, shape, simulated, metric, labels, kind, item, "
                          "node, peer_node, unit, better) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    SQLite::bind(add, of_case, name(key.case_id.substr(0, key.case_id.find('%'))), key.shape, key.simulated, key.metric,
                 labels, static_cast<int>(key.item.kind), item, name(key.item.node), name(key.item.peer_node),
                 value.unit, value.better);
    add.exec();
    return database_.getLastInsertRowid();
  }

  void values(const std::vector<PastValue>& values) {
    SQLite::Statement add(database_,
                          "INSERT OR IGNORE INTO value(series, run, value, spread, readings, samples, noise, use) "
                          "VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    for (const PastValue& value : values) {
      SQLite::bind(add, series(value), run_, value.value, value.spread, value.readings, value.samples, value.noise,
                   static_cast<int>(value.use));
      add.exec();
      add.reset();
    }
  }

  SQLite::Database& database_;
  SQLite::Statement find_name_;
  SQLite::Statement add_name_;
  std::unordered_map<std::string, std::int64_t> names_;
  std::int64_t run_ = 0;
};

}  // namespace

fs::path default_history() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return fs::path(state) / "muster" / "history.db";
  const char* home = std::getenv("HOME");
  // cron and batch systems may leave it out.
  const passwd* user = home != nullptr && *home == '/' ? nullptr : getpwuid(geteuid());
  if (user != nullptr) home = user->pw_dir;
  return fs::path(home == nullptr ? "/" : home) / ".local" / "state" / "muster" / "history.db";
}

History::History(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
History::History(History&&) noexcept = default;
History& History::operator=(History&&) noexcept = default;
History::~History() = default;

const fs::path& History::path() const {
  return inside_->path;
}

Result<History> History::open(fs::path file, HistoryUse use) {
  if (file.empty()) file = default_history();
  auto opened = guarded(file, [&] { return open_database(file, use); });
  if (!opened) return tl::unexpected(opened.error());
  if (!*opened) return tl::unexpected(opened->error());
  return History(std::make_unique<Inside>(Inside{file, std::move(**opened)}));
}

Result<bool> History::record(const PastRun& run) {
  return guarded(path(), [&] {
    SQLite::Transaction change(*inside_->database, SQLite::TransactionBehavior::IMMEDIATE);
    const bool is_new = Recording(*inside_->database).run(run);
    change.commit();
    return is_new;
  });
}

Result<bool> History::record(const RunReport& report) {
  return record(remember(report));
}

Result<void> History::record_skipped(const std::string& started, const std::string& reason, const Argv& command_line) {
  PastRun run;
  run.run_id = random_hex(3);
  run.started = started;
  run.command_line = command_line;
  run.skipped = reason.empty() ? "for a reason that was not given" : reason;
  if (auto done = record(run); !done) return tl::unexpected(done.error());
  return {};
}

Result<void> History::record_action(const NodeAction& action) {
  return guarded(path(), [&] {
    SQLite::Statement add(*inside_->database, "INSERT INTO action(time, facts) VALUES(?, ?)");
    SQLite::bind(add, action.time, dump(to_json(action)));
    add.exec();
  });
}

Result<void> History::record_accepted(const Accepted& accepted) {
  return guarded(path(), [&] {
    SQLite::Statement add(*inside_->database, "INSERT INTO accepted(time, item, metric) VALUES(?, ?, ?)");
    SQLite::bind(add, accepted.time, accepted.item, accepted.metric);
    add.exec();
  });
}

}  // namespace muster
