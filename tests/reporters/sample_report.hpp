/// One run as it could be on two nodes, with every verdict and with hostile text in what programs print.
/// All report formats are compared with golden files drawn from it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "muster/report.hpp"

namespace muster::sample {

inline const std::string hostile =
    std::string("step 1 done\n\x1b[2J\x1b[31mall is well\x1b[0m <script>alert('x')</script>\nnul ") + '\0' +
    " inside, bell \a, bad \xff\xfe\xc3( bytes\n]]> &amp; <!-- \x1b]0;title\x07\r| forged line\n    at "
    "run.py:7\nAborted\n";

inline Summary summary(std::int64_t n, double low, double median, double high) {
  return {n, low, median, high, high, (high - low) / 10};
}

inline MetricRow row(std::string metric, std::string unit, Labels where, Summary over) {
  MetricRow made;
  made.metric = std::move(metric);
  made.unit = std::move(unit);
  made.where = std::move(where);
  made.over = over;
  return made;
}

inline CaseResult head(const std::string& check, const std::string& hash, const std::string& file, double seconds) {
  CaseResult result;
  result.id = check + "%" + hash;
  result.check = check;
  result.probe = check;
  result.place = file + ":2";
  result.tags = {"default"};
  result.system = "cirrus";
  result.partition = "gpu";
  result.environment = "gnu";
  result.nodes = 2;
  result.ranks = 8;
  result.seconds = seconds;
  result.rerun = {"muster",  "run",          file, "--system",           "cirrus:gpu",
                  "--nodes", "nid[001-002]", "-n", "^" + result.id + "$"};
  return result;
}

inline void settle(CaseResult& result, Verdict verdict, std::string reason, std::string remedy,
                   std::vector<Culprit> culprits = {}) {
  result.verdict = verdict;
  result.reason = reason;
  result.remedy = remedy;
  result.culprits = culprits;
  if (verdict != Verdict::pass)
    result.findings = {{verdict, std::move(reason), std::move(culprits), std::move(remedy)}};
  result.repetitions = {{1, result.verdict, result.reason, result.seconds, 0}};
  for (const auto* node : {"nid001", "nid002"}) {
    NodeRow of{node, 4, verdict == Verdict::pass ? Verdict::pass : Verdict::unmeasured, {}};
    for (const auto& culprit : result.culprits)
      if (culprit.node == node) of.verdict = verdict;
    if (verdict == Verdict::fail && of.verdict == Verdict::unmeasured) of.verdict = Verdict::pass;
    if (verdict != Verdict::skip && verdict != Verdict::error) result.node_rows.push_back(of);
  }
}

/// Pass with metrics.
inline CaseResult hello() {
  auto result = head("hello", "3f2a9c1d", "checks/basic/hello.toml", 0.41);
  result.summary = "Every rank answers, on the nodes that were requested.";
  result.evidence = {"8 ranks on 2 nodes answered"};
  result.metrics = {row("barrier", "us", {}, summary(8, 9.1, 11.25, 14.8))};
  settle(result, Verdict::pass, "8 ranks on 2 nodes answered", "");
  return result;
}

/// Fail by reference, with culprits; one of two siblings of a sweep.
inline CaseResult allreduce() {
  auto result = head("allreduce", "77aa0b11", "checks/network/allreduce.toml", 3.24);
  result.summary = "Every rank sums correctly, at the bandwidth the links allow.";
  result.params = {{"sizes", "16MiB"}, {"type", "float"}};
  result.swept = {"sizes"};
  const Labels where{{"size", "16MiB"}, {"type", "float"}};
  auto busbw = row("busbw", "GB/s", where, summary(8, 4.02, 11.9, 12.4));
  busbw.worst_rank = 5;
  busbw.judged = 8;
  busbw.passed = 7;
  busbw.bound = "reference 12.5 GB/s -10 % (checks/systems/cirrus.toml:31)";
  auto latency = row("latency", "us", where, summary(8, 2710, 2790, 8350));
  latency.worst_rank = 5;
  result.metrics = {latency, busbw};
  Item item{"busbw", "GB/s", where, 5, -1, "nid002", summary(20, 3.9, 4.02, 4.3), Verdict::fail, {}};
  item.bounds = {{BoundKind::reference, Verdict::fail, 11.25, std::nullopt, busbw.bound}};
  result.items = {item};
  result.evidence = {"every element of the sums is right on 8 ranks"};
  settle(result, Verdict::fail,
         "busbw{size=16MiB,type=float} is 4.02 GB/s on rank 5 of nid002, below 11.25 GB/s (reference 12.5 GB/s -10 %, "
         "checks/systems/cirrus.toml:31)",
         "compare the link rate and error counters of nid002 with those of its neighbours, and reseat or replace its "
         "cable",
         {{CulpritKind::rank, "rank 5", "nid002", 5}, {CulpritKind::link, "nid001 - nid002", "", -1}});
  return result;
}

/// The pass beside it.
inline CaseResult allreduce_small() {
  auto result = head("allreduce", "c0ffee00", "checks/network/allreduce.toml", 1.07);
  result.summary = "Every rank sums correctly, at the bandwidth the links allow.";
  result.params = {{"sizes", "1MiB"}, {"type", "float"}};
  result.swept = {"sizes"};
  auto busbw = row("busbw", "GB/s", {{"size", "1MiB"}, {"type", "float"}}, summary(8, 8.1, 8.44, 8.9));
  busbw.judged = busbw.passed = 8;
  busbw.bound = "limit at least 0.25 of 25 GB/s (NIC rate)";
  result.metrics = {busbw};
  result.notes = {"the page cache of nid001 was warm"};
  settle(result, Verdict::pass, "busbw inside limit on 8 of 8 ranks", "");
  return result;
}

/// Fail by a hang, with hostile output of the rank at fault.
inline CaseResult training() {
  auto result = head("training", "0badc0de", "checks/training/mlp.toml", 60.02);
  result.summary = "A small network learns the same on every number of ranks.";
  result.outputs = {{2, "nid001", "waiting for rank 5\n"}, {5, "nid002", hostile}};
  result.notes = {"timing not judged: 8 ranks share 2 cores"};
  settle(result, Verdict::fail,
         "rank 5 on nid002 is stopped in allreduce, iteration 12; 7 ranks wait for it; ended at the deadline of 60 s",
         "look at what holds process 4711 on nid002 (stopped by a signal, debugger or batch system), then run the case "
         "again",
         {{CulpritKind::rank, "rank 5", "nid002", 5}});
  result.findings.front().follows = result.follows = "node%nid002";
  result.findings.push_back({Verdict::fail,
                             "process 4711 on nid002 did not end within 3 s of SIGTERM",
                             {{CulpritKind::node, "nid002", "nid002", -1}},
                             "restart nid002"});
  return result;
}

inline CaseResult p2p() {
  auto result = head("p2p", "5e1f1e55", "checks/network/p2p.toml", 12.6);
  result.summary = "Every pair of ranks moves data at the rate of its link.";
  result.metrics = {row("bandwidth", "GB/s", {{"link", "network"}}, Summary{})};
  settle(
      result, Verdict::unmeasured,
      "bandwidth{link=network} has 0 of 20 samples: every one was contaminated (another process used 96 % of core 3 on "
      "nid001)",
      "keep other work off the nodes while muster runs", {{CulpritKind::setting, "core 3", "nid001", -1}});
  return result;
}

inline CaseResult pytorch() {
  auto result = head("pytorch", "d15ea5e0", "checks/pytorch/environment.toml", 0.02);
  result.summary = "PyTorch's build fits the driver.";
  result.outputs = {
      {0, "nid001", "Traceback (most recent call last):\n\tModuleNotFoundError: No module named 'torch'\n"}};
  settle(result, Verdict::error, "program \"python3 environment.py\" could not be started: no such file",
         "install PyTorch in environment gnu or choose another with --environment",
         {{CulpritKind::program, "python3", "", -1}});
  return result;
}

inline CaseResult visibility() {
  auto result = head("device_visibility", "00c0ffee", "checks/device/visibility.toml", 0);
  result.summary = "Every accelerator is seen by every source.";
  settle(result, Verdict::skip, "no GPU on nid001 and nid002, and the profile of cirrus:gpu expects none", "");
  return result;
}

/// Three of ten.
inline CaseResult affinity() {
  auto result = head("cpu_affinity", "beefcafe", "checks/basic/cpu_affinity.toml", 0.11);
  result.summary = "Ranks do not share cores.";
  settle(result, Verdict::fail, "intermittent 3/10: ranks 2 and 3 on nid001 share core 2 in repetition 2",
         "bind with --cpu-bind=mask_cpu:0x1,0x2,0x4,0x8",
         {{CulpritKind::rank, "rank 2", "nid001", 2}, {CulpritKind::rank, "rank 3", "nid001", 3}});
  result.repetitions.clear();
  for (int i = 1; i <= 10; ++i) {
    const bool fails = i == 2 || i == 5 || i == 9;
    result.repetitions.push_back({i, fails ? Verdict::fail : Verdict::pass,
                                  fails ? result.reason : "8 masks are disjoint", 0.1 + i / 1000.0, i > 5 ? 1 : 0});
  }
  return result;
}

inline LaunchRecord launch(const std::vector<CaseResult>& cases) {
  LaunchRecord record;
  record.launcher = "mpirun (Open MPI 4.1.4)";
  record.argv = {"mpirun", "-n", "8", "--host", "nid001:4,nid002:4", "muster-rank-openmpi"};
  record.nodes = {"nid001", "nid002"};
  record.ranks = 8;
  record.seconds = 65.4;
  record.outcome = "ended by muster: rank 5 did not answer";
  for (const auto& result : cases) record.cases.push_back(result.id);
  return record;
}

inline RunReport report() {
  RunReport run;
  run.run_id = "a1b2c3d4";
  run.muster_version = "0.1.0";
  run.started = "2026-11-21T08:00:00.123Z";
  run.seconds = 83.4;
  run.command_line = {"muster", "run", "--nodes", "nid[001-002]", "--ranks-per-node", "4"};
  run.host = "login1";
  run.user = "ada";
  run.system = "cirrus";
  run.system_place = "checks/systems/cirrus.toml";
  run.folder = "muster-runs/20261121-080000-a1b2c3d4";
  run.verdict = Verdict::fail;
  run.exit_status = 1;
  run.notes = {"launch 1 ended early; the 3 cases left were launched again", "nid002 needed SIGKILL to end rank 5"};
  run.nodes = {{"nid001", {{"cores", "64"}, {"kernel", "6.1.0-18-amd64"}, {"mpi", "Open MPI v4.1.4"}}},
               {"nid002", {{"cores", "64"}, {"kernel", "6.1.0-17-amd64"}, {"mpi", "Open MPI v4.1.4"}}}};
  run.cases = {hello(), allreduce_small(), allreduce(), training(), p2p(), pytorch(), visibility(), affinity()};
  run.launches = {launch(run.cases), launch({affinity()})};
  run.launches[1].outcome = "finished";
  run.launches[1].seconds = 2.2;
  return run;
}

/// The same run when everything is well.
inline RunReport good_report() {
  auto run = report();
  run.cases = {hello(), allreduce_small(), visibility()};
  run.verdict = Verdict::pass;
  run.exit_status = 0;
  run.notes.clear();
  return run;
}

}  // namespace muster::sample
