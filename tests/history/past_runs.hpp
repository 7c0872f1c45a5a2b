/// Runs as a history keeps them, made by hand.
#pragma once

#include <fmt/format.h>

#include "model/past_run.hpp"

namespace muster::test {

/// One value of one node in one run.
inline PastValue a_value(const std::string& metric, const std::string& node, double value) {
  PastValue made;
  made.key = {"memory_bandwidth%00000001",     "1 rank per node", "", metric, {{"domain", "node"}},
              {ItemKind::node, node, node, ""}};
  made.unit = "GB/s";
  made.better = 1;
  made.value = value;
  made.samples = 20;
  made.noise = value / 100;
  return made;
}

/// Of day `day` of a month: two nodes, one check.
inline PastRun a_run(int day, double triad) {
  PastRun run;
  run.run_id = fmt::format("{:06x}", day);
  run.started = fmt::format("2026-11-{:02}T02:00:00.000Z", day);
  run.seconds = 12.5;
  run.host = "login1";
  run.user = "ada";
  run.system = "lumi";
  run.muster_version = "0.1.0";
  run.command_line = {"muster", "run"};
  run.verdict = Verdict::pass;
  run.exit_status = 0;
  run.nodes = {{"nid001", {{"kernel", "Linux 6.1"}, {"driver.nvidia", "550.54"}}},
               {"nid002", {{"kernel", "Linux 6.1"}, {"driver.nvidia", "550.54"}}}};
  run.cases = {{"memory_bandwidth%00000001",
                "memory_bandwidth",
                Verdict::pass,
                "all right",
                2,
                2,
                {{"nid001", Verdict::pass}, {"nid002", Verdict::pass}},
                {}}};
  run.values = {a_value("triad", "nid001", triad), a_value("triad", "nid002", 100)};
  return run;
}

}  // namespace muster::test
