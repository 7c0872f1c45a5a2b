/// The fields of a run report, one list per type, in the order of muster/report.hpp. reports/schema/report-1.json is
/// the public description. Rule: lists and objects are always there, texts and ranks are left out when they contain
/// nothing; units stand in the same object or in the key (`seconds`).
#pragma once

#include "model/json_io.hpp"
#include "muster/report.hpp"

namespace muster {

template <>
struct Words<Verdict> {
  static constexpr std::string_view noun = "verdict";
  static constexpr Verdict last = Verdict::skip;
};
template <>
struct Words<CulpritKind> {
  static constexpr std::string_view noun = "kind of culprit";
  static constexpr CulpritKind last = CulpritKind::program;
};
template <>
struct Words<Subject> {
  static constexpr std::string_view noun = "subject";
  static constexpr Subject last = Subject::training;
};
template <>
struct Words<BoundKind> {
  static constexpr std::string_view noun = "kind of bound";
  static constexpr BoundKind last = BoundKind::history;
};

template <class Io>
void fields(Io& io, Is<Culprit> auto& culprit) {
  io("kind", culprit.kind);
  io("name", culprit.name);
  io.optional("node", culprit.node);
  io.optional("rank", culprit.rank, -1);
}

template <class Io>
void fields(Io& io, Is<Finding> auto& finding) {
  io("verdict", finding.verdict);
  io("reason", finding.reason);
  io("culprits", finding.culprits);
  io.optional("remedy", finding.remedy);
  io.optional("subject", finding.subject, Subject::none);
  io.optional("follows", finding.follows);
}

/// Within the object of what it summarises, where the unit is. Without samples there are no values to show.
template <class Io>
void fields(Io& io, Is<Summary> auto& summary) {
  io("n", summary.n);
  if (summary.n == 0) return;
  io("min", summary.min);
  io("median", summary.median);
  io("p95", summary.p95);
  io("max", summary.max);
  io("mad", summary.mad);
}

template <class Io>
void fields(Io& io, Is<BoundOutcome> auto& bound) {
  io("kind", bound.kind);
  io("verdict", bound.verdict);
  io.optional("least", bound.least);
  io.optional("most", bound.most);
  io.optional("text", bound.text);
}

template <class Io>
void fields(Io& io, Is<Item> auto& item) {
  io("metric", item.metric);
  io("unit", item.unit);
  io("where", item.where);
  io.optional("rank", item.rank, -1);
  io.optional("peer", item.peer, -1);
  io.optional("node", item.node);
  fields(io, item.summary);
  io("verdict", item.verdict);
  io("bounds", item.bounds);
}

template <class Io>
void fields(Io& io, Is<RankReading> auto& reading) {
  io("rank", reading.rank);
  io.optional("peer", reading.peer, -1);
  fields(io, reading.summary);
  io.optional("verdict", reading.verdict, Verdict::skip);
}

template <class Io>
void fields(Io& io, Is<MetricRow> auto& row) {
  io("metric", row.metric);
  io("unit", row.unit);
  io("where", row.where);
  io.optional("node", row.node);
  fields(io, row.over);
  io.optional("worst_rank", row.worst_rank, -1);
  io("judged", row.judged);
  io("passed", row.passed);
  io.optional("bound", row.bound);
  io.optional("bounds", row.bounds);
  io.optional("readings", row.readings);
}

template <class Io>
void fields(Io& io, Is<NodeRow> auto& row) {
  io("node", row.node);
  io("ranks", row.ranks);
  io("verdict", row.verdict);
  io("metrics", row.metrics);
}

template <class Io>
void fields(Io& io, Is<RankRow> auto& row) {
  io("rank", row.rank);
  io.optional("node", row.node);
  io.optional("facts", row.facts);
}

template <class Io>
void fields(Io& io, Is<RankOutput> auto& output) {
  io("rank", output.rank);
  io.optional("node", output.node);
  io("text", output.text);
}

template <class Io>
void fields(Io& io, Is<Repetition> auto& repetition) {
  io("index", repetition.index);
  io("verdict", repetition.verdict);
  io.optional("reason", repetition.reason);
  io("seconds", repetition.seconds);
  io.optional("launch", repetition.launch, -1);
}

/// What a case is.
template <class Io>
void head_fields(Io& io, Is<CaseResult> auto& result) {
  io("id", result.id);
  io("check", result.check);
  io("probe", result.probe);
  io.optional("summary", result.summary);
  io.optional("place", result.place);
  io("tags", result.tags);
  io("params", result.params);
  io("swept", result.swept);
  io.optional("system", result.system);
  io.optional("partition", result.partition);
  io.optional("environment", result.environment);
  io("nodes", result.nodes);
  io("ranks", result.ranks);
  io.optional("node", result.node);
}

template <class Io>
void fields(Io& io, Is<MatrixFile> auto& matrix) {
  io("metric", matrix.metric);
  io("where", matrix.where);
  io("rows", matrix.rows);
  io("size", matrix.size);
  io("file", matrix.file);
}

template <class Io>
void fields(Io& io, Is<CaseResult> auto& result) {
  head_fields(io, result);
  io("verdict", result.verdict);
  io.optional("reason", result.reason);
  io("culprits", result.culprits);
  io.optional("remedy", result.remedy);
  io.optional("follows", result.follows);
  io("findings", result.findings);
  io("evidence", result.evidence);
  io("notes", result.notes);
  io("rerun", result.rerun);
  io("metrics", result.metrics);
  io("node_rows", result.node_rows);
  io.optional("rank_rows", result.rank_rows);
  io("items", result.items);
  io("outputs", result.outputs);
  io("matrices", result.matrices);
  io("repetitions", result.repetitions);
  io("seconds", result.seconds);
}

template <class Io>
void fields(Io& io, Is<NodeProvenance> auto& provenance) {
  io("node", provenance.node);
  io("facts", provenance.facts);
}

template <class Io>
void fields(Io& io, Is<LaunchRecord> auto& launch) {
  io("launcher", launch.launcher);
  io("argv", launch.argv);
  io("nodes", launch.nodes);
  io("ranks", launch.ranks);
  io("seconds", launch.seconds);
  io.optional("outcome", launch.outcome);
  io("cases", launch.cases);
}

/// Cases per verdict: follows from the cases, for those who look no further.
inline nlohmann::json tally_json(const std::vector<CaseResult>& cases) {
  const auto counted = tally(cases);
  auto object = nlohmann::json::object();
  for (int i = 0; i <= static_cast<int>(Words<Verdict>::last); ++i)
    object[std::string(to_string(static_cast<Verdict>(i)))] = counted.counts[i];
  return object;
}

/// Beside `schema_version` and `tally`, which are not members.
template <class Io>
void fields(Io& io, Is<RunReport> auto& report) {
  io.derived("schema_version", RunReport::schema_version);
  io("run_id", report.run_id);
  io("muster_version", report.muster_version);
  io("started", report.started);
  io("seconds", report.seconds);
  io("command_line", report.command_line);
  io.optional("host", report.host);
  io.optional("user", report.user);
  io.optional("system", report.system);
  io.optional("system_place", report.system_place);
  io.optional("folder", report.folder);
  io("verdict", report.verdict);
  io("exit_status", report.exit_status);
  io.optional("interrupted", report.interrupted);
  io.optional("simulated", report.simulated);
  io.optional("variables", report.variables);
  io("notes", report.notes);
  io("nodes", report.nodes);
  io("launches", report.launches);
  io("cases", report.cases);
  io.derived("tally", tally_json(report.cases));
}

}  // namespace muster
