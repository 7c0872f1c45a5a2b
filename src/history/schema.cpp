#include "history/schema.hpp"

namespace muster {

namespace {

constexpr const char* version_1 = R"(
CREATE TABLE run(
  number INTEGER PRIMARY KEY, run_id TEXT NOT NULL, started TEXT NOT NULL, host TEXT NOT NULL, head TEXT NOT NULL,
  is_skipped INTEGER NOT NULL, UNIQUE(run_id, started, host));
CREATE INDEX run_by_time ON run(started);
CREATE TABLE case_result(run INTEGER NOT NULL, place INTEGER NOT NULL, facts TEXT NOT NULL,
  PRIMARY KEY(run, place)) WITHOUT ROWID;
CREATE TABLE name(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE verdict(run INTEGER NOT NULL, case_name INTEGER NOT NULL, check_name INTEGER NOT NULL,
  item INTEGER NOT NULL, is_device INTEGER NOT NULL, verdict INTEGER NOT NULL,
  PRIMARY KEY(run, case_name, item)) WITHOUT ROWID;
CREATE TABLE configuration(id INTEGER PRIMARY KEY, facts TEXT NOT NULL UNIQUE);
CREATE TABLE run_node(run INTEGER NOT NULL, place INTEGER NOT NULL, node INTEGER NOT NULL,
  configuration INTEGER NOT NULL, PRIMARY KEY(run, node)) WITHOUT ROWID;
CREATE TABLE series(
  id INTEGER PRIMARY KEY, case_name INTEGER NOT NULL, check_name INTEGER NOT NULL, shape TEXT NOT NULL,
  simulated TEXT NOT NULL, metric TEXT NOT NULL, labels TEXT NOT NULL, kind INTEGER NOT NULL, item INTEGER NOT NULL,
  node INTEGER NOT NULL, peer_node INTEGER NOT NULL, unit TEXT NOT NULL, better INTEGER NOT NULL,
  UNIQUE(case_name, item, metric, labels, shape, simulated));
CREATE TABLE value(
  series INTEGER NOT NULL, run INTEGER NOT NULL, value REAL NOT NULL, spread REAL NOT NULL, readings INTEGER NOT NULL,
  samples INTEGER NOT NULL, noise REAL NOT NULL, use INTEGER NOT NULL,
  PRIMARY KEY(series, run)) WITHOUT ROWID;
CREATE INDEX value_by_run ON value(run);
CREATE TABLE action(number INTEGER PRIMARY KEY, time TEXT NOT NULL, facts TEXT NOT NULL);
)";

/// What was found to be the new normal.
constexpr const char* version_2 = R"(
CREATE TABLE accepted(number INTEGER PRIMARY KEY, time TEXT NOT NULL, item TEXT NOT NULL, metric TEXT NOT NULL);
)";

}  // namespace

std::span<const char* const> schema_steps() {
  static constexpr const char* steps[] = {version_1, version_2};
  return steps;
}

}  // namespace muster
