/// Spools with known contents, for tests of writing and salvaging them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "muster/probe.hpp"
#include "run/spool.hpp"
#include "run/spool_frames.hpp"
#include "run/spool_reader.hpp"

namespace muster::test {

/// A folder of its own for each test.
class SpoolFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "muster-spool-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  [[nodiscard]] fs::path file() const { return folder_ / "spool"; }

  fs::path folder_;
};

inline Case hello_case(const std::string& id) {
  Case item;
  item.id = id;
  item.check = "hello";
  item.probe = "hello";
  item.summary = "Ranks say hello.";
  for (const auto& spec : find_probe("hello")->params)
    item.params.set(std::string(spec.name), *parse_param(spec, *spec.default_text));
  item.shape.ranks_per_node = 2;
  item.system = "generic";
  item.rerun = {"muster", "run", "-n", id};
  return item;
}

inline Plan plan_of(int cases, int repeat = 1) {
  Plan plan;
  plan.system = "generic";
  plan.launcher = "mpirun";
  plan.repeat = repeat;
  for (int i = 0; i < cases; ++i) plan.cases.push_back(hello_case(fmt::format("hello%{:08x}", i)));
  return plan;
}

inline RunReport header() {
  RunReport report;
  report.run_id = "abc123";
  report.muster_version = "0.1.0";
  report.started = "2026-11-21T08:00:00.000Z";
  report.command_line = {"muster", "run"};
  report.system = "generic";
  report.launches.push_back({"mpirun", {}, {"n1"}, 2, 0, "", {}});  // what was planned
  return report;
}

inline World two_ranks() {
  World world;
  world.library = "a library";
  world.ranks = {{0, 2, 0, 2, 0, 1, "n1"}, {1, 2, 1, 2, 0, 1, "n1"}};
  world.pids = {10, 11};
  world.nodes = {{"n1", {{"kernel", "6.1"}}}};
  return world;
}

inline Observation good(int rank) {
  Observation seen;
  seen.rank = rank;
  seen.readings = {{"barrier", {}, {20, 1, 2, 3, 4, 0.5}, -1, ""}};
  seen.facts = {{"answers", "2 of 2"}};
  seen.seconds = 0.5;
  return seen;
}

inline CaseRecord good_record(int case_index, int repetition = 1) {
  return {case_index, repetition, 0, true, {good(0), good(1)}, {}, 0.5};
}

inline Finding hang() {
  return {Verdict::fail, "rank 1 on n1 is stopped in barrier", {{CulpritKind::rank, "rank 1", "n1", 1}}, "look at n1"};
}

/// One case passed, one hung, one left only its verdict, one was never started, and a node was lost.
inline void write_sample(Spool& spool) {
  ASSERT_TRUE(spool.plan(plan_of(4), header()));
  ASSERT_TRUE(spool.verdict("node%n2", {1, Verdict::fail, "n2 does not answer", 0, -1}));
  ASSERT_TRUE(spool.world(0, two_ranks()));
  ASSERT_TRUE(spool.record(good_record(0)));
  ASSERT_TRUE(spool.verdict("hello%00000000", {1, Verdict::pass, "2 of 2 ranks answered", 0.5, 0}));
  ASSERT_TRUE(spool.record({1, 1, 0, false, {good(0)}, {hang()}, 60}));
  ASSERT_TRUE(spool.verdict("hello%00000001", {1, Verdict::fail, hang().reason, 60, 0}));
  ASSERT_TRUE(spool.verdict("hello%00000002", {1, Verdict::fail, "too slow", 1, 0}));
}

inline const CaseResult* find_case(const RunReport& report, const std::string& id) {
  const auto found =
      std::find_if(report.cases.begin(), report.cases.end(), [&](const CaseResult& one) { return one.id == id; });
  return found == report.cases.end() ? nullptr : &*found;
}

inline std::vector<std::byte> bytes_of(const fs::path& file) {
  const auto text = read_file(file);
  EXPECT_TRUE(text);
  const auto* begin = reinterpret_cast<const std::byte*>(text->data());
  return {begin, begin + text->size()};
}

inline Result<RunReport> salvage_bytes(std::span<const std::byte> bytes) {
  SpoolReader reader;
  reader.feed(bytes);
  return reader.finish();
}

}  // namespace muster::test
