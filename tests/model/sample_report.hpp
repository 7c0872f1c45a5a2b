/// Reports and plans made by hand or by chance, for tests of what is written and read back.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "model/plan.hpp"
#include "model/record.hpp"
#include "muster/report.hpp"

namespace muster::test {

/// Every field of every type says something.
inline CaseResult sample_failure() {
  CaseResult result;
  result.id = "allreduce%3f2a9c1d";
  result.check = "allreduce";
  result.probe = "allreduce";
  result.summary = "Every rank sums correctly, at the bandwidth the links allow.";
  result.place = "checks/network/allreduce.toml:2";
  result.tags = {"network", "default"};
  result.params = {{"sizes", "8B,16MiB"}, {"type", "float"}};
  result.swept = {"type"};
  result.system = "lumi";
  result.partition = "standard-g";
  result.environment = "container";
  result.nodes = 2;
  result.ranks = 4;
  result.verdict = Verdict::fail;
  result.reason = "busbw 12.5 GB/s is below 80.75 GB/s (reference 85.0 -5 %)";
  result.culprits = {{CulpritKind::node, "nid002", "nid002", -1}, {CulpritKind::rank, "rank 2", "nid002", 2}};
  result.remedy = "check the network card of nid002";
  result.follows = "device_visibility%00c0ffee";
  result.findings = {
      {Verdict::fail, result.reason, result.culprits, result.remedy, Subject::collective, "device_visibility%00c0ffee"},
      {Verdict::unmeasured, "rank 3 stayed silent", {{CulpritKind::rank, "rank 3", "nid002", 3}}, "see its output"}};
  result.evidence = {"sums are right on 3 ranks"};
  result.notes = {"timing not judged on nid001: 2 ranks share a core"};
  result.rerun = {"muster", "run", "-n", "allreduce%3f2a9c1d"};
  const Labels where{{"size", "16MiB"}, {"type", "float"}};
  const Summary summary{4, 12.25, 12.5, 13.75, 14, 0.25};
  MetricRow row{"busbw", "GB/s", where, "", summary, 2, 3, 1, "reference 85.0 -5 %"};
  result.metrics = {row};
  result.metrics[0].bounds = {{BoundKind::reference, Verdict::fail, 80.75, {}, "reference 85.0 -5 %"}};
  result.metrics[0].readings = {{2, 3, summary, Verdict::fail}, {3, -1, {}, Verdict::skip}};
  result.rank_rows = {{2, "nid002", {{"gpu", "0000:c1:00.0"}, {"mask", "0-7"}}}, {3, "nid002", {}}};
  row.node = "nid002";
  result.node_rows = {{"nid002", 2, Verdict::fail, {row}}};
  result.items = {{"busbw",
                   "GB/s",
                   where,
                   2,
                   3,
                   "nid002",
                   summary,
                   Verdict::fail,
                   {{BoundKind::reference, Verdict::fail, 80.75, 170.0, "reference 85.0 -5 % (lumi.toml:31)"},
                    {BoundKind::peers, Verdict::unmeasured, {}, {}, "peers: 3 like items, 5 are needed"}}}};
  result.matrices = {{"bandwidth", {{"size", "1MiB"}}, "rank", 2, "matrices/1.bin"}};
  result.outputs = {{2, "nid002", "line 1\nline 2 \u00b5s\n"}};
  result.repetitions = {{1, Verdict::fail, result.reason, 1.5, 0}, {2, Verdict::pass, "inside", 1.25, 0}};
  result.seconds = 1.5;
  return result;
}

inline CaseResult sample_pass() {
  CaseResult result;
  result.id = "hello%00000001";
  result.check = "hello";
  result.probe = "hello";
  result.nodes = 1;
  result.ranks = 2;
  result.verdict = Verdict::pass;
  result.evidence = {"2 of 2 ranks answered"};
  result.reason = result.evidence[0];
  result.metrics = {{"barrier", "us", {}, "", {2, 1, 1.5, 2, 2, 0.5}, -1, 0, 0, ""},
                    {"absent", "us", {}, "", {}, -1, 0, 0, ""}};
  result.repetitions = {{1, Verdict::pass, result.reason, 0.25, 0}};
  result.seconds = 0.25;
  return result;
}

inline RunReport sample_report() {
  RunReport report;
  report.run_id = "a1b2c3";
  report.muster_version = "0.1.0";
  report.started = "2026-11-21T08:00:00.123Z";
  report.seconds = 12.5;
  report.command_line = {"muster", "run", "--nodes", "nid[001-002]"};
  report.host = "login1";
  report.user = "ada";
  report.system = "lumi";
  report.system_place = "checks/systems/lumi.toml";
  report.folder = "muster-runs/20261121-080000-a1b2c3";
  report.verdict = Verdict::fail;
  report.exit_status = 130;
  report.interrupted = "SIGINT";
  report.simulated = "cirrus with nic_down";
  report.variables = {{"MUSTER_MACHINE", "/srv/cirrus"}};
  report.notes = {"nid003 is set aside: it does not answer"};
  report.nodes = {{"nid001", {{"cores", "64"}, {"env.OMP_NUM_THREADS", "7"}, {"kernel", "5.14.21"}}}};
  report.launches = {{"mpirun (Open MPI 4.1.4)",
                      {"mpirun", "-n", "4", "muster-rank"},
                      {"nid001", "nid002"},
                      4,
                      3.25,
                      "finished",
                      {"allreduce%3f2a9c1d", "hello%00000001"}}};
  report.cases = {sample_failure(), sample_pass()};
  return report;
}

/// As little as a report can say.
inline RunReport bare_report() {
  RunReport report;
  report.run_id = "000000";
  report.muster_version = "0.1.0";
  report.started = "2026-11-21T08:00:00.000Z";
  report.command_line = {"muster", "run"};
  return report;
}

/// Values by chance. Texts are printable, numbers finite, labels sorted.
class Chance {
 public:
  explicit Chance(std::uint32_t seed) : engine_(seed) {}

  int integer(int least, int most) { return std::uniform_int_distribution<int>(least, most)(engine_); }
  bool coin() { return integer(0, 1) == 1; }
  double real() {
    switch (integer(0, 3)) {
      case 0:
        return integer(-1000, 1000);
      case 1:
        return std::ldexp(std::uniform_real_distribution<double>(-1, 1)(engine_), integer(-300, 300));
      case 2:
        return 0.1 * integer(0, 100);
      default:
        return 0;
    }
  }
  std::string text() {
    static const std::vector<std::string> pieces{"a", "Z",      "0",      " ",          "\n", "\t", "\"", "\\",
                                                 "%", "\u00e9", "\u20ac", "\U0001f600", "<",  "&",  "{}", "/"};
    std::string made;
    for (int i = integer(0, 8); i > 0; --i)
      made += pieces[static_cast<std::size_t>(integer(0, static_cast<int>(pieces.size()) - 1))];
    return made;
  }
  template <class Make>
  auto list(Make make) {
    std::vector<decltype(make())> items(static_cast<std::size_t>(integer(0, 3)));
    for (auto& item : items) item = make();
    return items;
  }
  std::vector<std::string> texts() {
    return list([&] { return text(); });
  }
  Labels labels() {
    Labels made;
    for (const char* key : {"size", "transport", "type"})
      if (coin()) made.emplace_back(key, text());
    return made;
  }
  /// Each key once, sorted.
  std::vector<Fact> facts() {
    std::vector<Fact> made;
    for (auto& [key, value] : labels()) made.push_back({key, value});
    return made;
  }
  Verdict verdict() { return static_cast<Verdict>(integer(0, 4)); }
  Summary summary() {
    if (coin()) return {};
    return {integer(1, 1000), real(), real(), real(), real(), real()};
  }
  Culprit culprit() { return {static_cast<CulpritKind>(integer(0, 7)), text(), text(), integer(-1, 3)}; }
  Finding finding() {
    return {verdict(), text(), list([&] { return culprit(); }), text(), static_cast<Subject>(integer(0, 15)), text()};
  }
  std::optional<double> maybe() { return coin() ? std::optional(real()) : std::nullopt; }
  BoundOutcome bound() { return {static_cast<BoundKind>(integer(0, 3)), verdict(), maybe(), maybe(), text()}; }
  Item item() {
    return {text(),         text(),         labels(),
            integer(-1, 9), integer(-1, 9), text(),
            summary(),      verdict(),      list([&] { return bound(); })};
  }
  MetricRow row() {
    return {text(),
            text(),
            labels(),
            text(),
            summary(),
            integer(-1, 9),
            integer(0, 9),
            integer(0, 9),
            text(),
            list([&] { return bound(); }),
            list([&] {
              return RankReading{integer(0, 9), integer(-1, 9), summary(), verdict()};
            })};
  }
  NodeRow node_row() {
    return {text(), integer(0, 9), verdict(), list([&] { return row(); })};
  }
  Repetition repetition() { return {integer(1, 9), verdict(), text(), real(), integer(-1, 9)}; }
  CaseResult result();
  RunReport report();
  Observation observation();

 private:
  std::mt19937 engine_;
};

inline CaseResult Chance::result() {
  CaseResult made;
  made.id = text();
  made.check = text();
  made.probe = text();
  made.summary = text();
  made.place = text();
  made.tags = texts();
  made.params = labels();
  made.swept = texts();
  made.system = text();
  made.partition = text();
  made.environment = text();
  made.nodes = integer(0, 9);
  made.ranks = integer(0, 9);
  made.verdict = verdict();
  made.reason = text();
  made.culprits = list([&] { return culprit(); });
  made.remedy = text();
  made.follows = text();
  made.findings = list([&] { return finding(); });
  made.evidence = texts();
  made.notes = texts();
  made.rerun = texts();
  made.metrics = list([&] { return row(); });
  made.node_rows = list([&] { return node_row(); });
  made.rank_rows = list([&] { return RankRow{integer(0, 9), text(), facts()}; });
  made.items = list([&] { return item(); });
  made.outputs = list([&] { return RankOutput{integer(0, 9), text(), text()}; });
  made.repetitions = list([&] { return repetition(); });
  made.seconds = real();
  return made;
}

inline RunReport Chance::report() {
  RunReport made;
  for (auto* field : {&made.run_id, &made.muster_version, &made.started, &made.host, &made.user, &made.system,
                      &made.system_place, &made.folder, &made.interrupted, &made.simulated})
    *field = text();
  made.seconds = real();
  made.command_line = texts();
  made.verdict = verdict();
  made.exit_status = integer(0, 143);
  for (auto& [key, value] : labels()) made.variables.push_back({key, value});
  made.notes = texts();
  made.nodes = list([&] {
    NodeProvenance node{text(), {}};
    for (auto& [key, value] : labels()) node.facts.push_back({key, value});
    return node;
  });
  made.launches = list([&] { return LaunchRecord{text(), texts(), texts(), integer(0, 9), real(), text(), texts()}; });
  made.cases = list([&] { return result(); });
  return made;
}

inline Observation Chance::observation() {
  Observation made;
  made.rank = integer(-1, 1 << 30);
  made.state = static_cast<ObservationState>(integer(0, 4));
  made.error = text();
  made.readings = list([&] { return Reading{text(), labels(), summary(), integer(-1, 99), text()}; });
  made.facts = list([&] { return Fact{text(), text()}; });
  made.output = text();
  made.seconds = real();
  return made;
}

}  // namespace muster::test
