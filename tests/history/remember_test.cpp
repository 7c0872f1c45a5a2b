#include "history/remember.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/item.hpp"

namespace muster {
namespace {

Summary around(double value) {
  return {10, value * 0.9, value, value * 1.1, value * 1.1, value * 0.02};
}

/// Two nodes with two ranks each, that measured something in that order of nodes.
CaseResult memory(const std::vector<std::string>& nodes) {
  CaseResult result;
  result.id = "memory_bandwidth%00000001";
  result.check = "memory_bandwidth";
  result.probe = "memory_bandwidth";
  result.nodes = 2;
  result.ranks = 4;
  result.verdict = Verdict::pass;
  MetricRow row{"triad", "GB/s", {{"domain", "0"}}, "", {}, -1, 0, 0, ""};
  for (int rank = 0; rank < 4; ++rank) {
    const auto& node = nodes[static_cast<std::size_t>(rank / 2)];
    result.rank_rows.push_back({rank, node, {}});
    row.readings.push_back({rank, -1, around((node == "nid001" ? 100 : 50) + rank % 2), Verdict::skip});
  }
  for (const auto& node : nodes) result.node_rows.push_back({node, 2, Verdict::pass, {}});
  result.metrics = {row};
  return result;
}

PastRun remembered(CaseResult result) {
  RunReport report;
  report.cases = {std::move(result)};
  return remember(report);
}

const PastValue* find(const PastRun& run, const std::string& name) {
  for (const PastValue& value : run.values)
    if (value.key.item.name == name) return &value;
  return nullptr;
}

TEST(Remember, RanksOfANodeAreOneValueWhereverTheyStand) {
  for (const auto& nodes : {std::vector<std::string>{"nid001", "nid002"}, {"nid002", "nid001"}}) {
    const PastRun run = remembered(memory(nodes));
    ASSERT_EQ(run.values.size(), 2U);
    const PastValue* value = find(run, "nid001");
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(value->value, 100.5);
    EXPECT_EQ(value->spread, 0.5);
    EXPECT_EQ(value->readings, 2);
    EXPECT_EQ(value->samples, 20);
    EXPECT_EQ(value->better, 1);
    EXPECT_EQ(value->use, ValueUse::basis);
    EXPECT_EQ(value->key.shape, "2 ranks per node");
  }
}

TEST(Remember, WhatHasNoUndisturbedSampleIsNoValue) {
  CaseResult disturbed = memory({"nid001", "nid002"});
  disturbed.metrics[0].readings[2].summary = disturbed.metrics[0].readings[3].summary = {};
  const PastRun run = remembered(disturbed);
  EXPECT_EQ(run.values.size(), 1U);
  EXPECT_EQ(run.cases.at(0).disturbed, (std::vector<DisturbedItem>{{"triad", "nid002"}}));
  const auto read = past_run_from_json(to_json(run));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->cases, run.cases);
  EXPECT_TRUE(remembered(memory({"nid001", "nid002"})).cases.at(0).disturbed.empty());
}

TEST(Remember, AVerdictOrADoubtAboutTimesIsKept) {
  CaseResult failed = memory({"nid001", "nid002"});
  failed.node_rows[1].verdict = Verdict::fail;
  const PastRun run = remembered(failed);
  EXPECT_EQ(find(run, "nid001")->use, ValueUse::basis);
  EXPECT_EQ(find(run, "nid002")->use, ValueUse::outside);
  CaseResult untimed = memory({"nid001", "nid002"});
  untimed.notes = {"timing is not judged: 4 ranks share 2 cores"};
  EXPECT_EQ(find(remembered(untimed), "nid001")->use, ValueUse::untimed);
}

TEST(Remember, ALargeCaseIsKeptByNode) {
  CaseResult result = memory({"nid001", "nid002"});
  result.metrics[0].readings.clear();
  MetricRow row = result.metrics[0];
  row.over = around(77);
  result.node_rows[0].metrics = {row};
  const PastRun run = remembered(result);
  ASSERT_EQ(run.values.size(), 1U);
  EXPECT_EQ(run.values[0].value, 77);
  EXPECT_EQ(run.values[0].key.item.name, "nid001");
}

TEST(Remember, NodesOfPerNodeRunsShareTheirSeries) {
  CaseResult result = memory({"nid001", "nid001"});
  result.id += "@nid001";
  result.node = "nid001";
  EXPECT_EQ(remembered(result).values.at(0).key.case_id, "memory_bandwidth%00000001");
}

TEST(Remember, CurvesAndFiguresOfTheHardwareAreNoSeries) {
  CaseResult result = memory({"nid001", "nid002"});
  result.metrics[0].metric = "copy.capable";
  EXPECT_TRUE(remembered(result).values.empty());
  result.metrics[0].metric = "loss";
  result.metrics[0].where = {{"step", "3"}};
  EXPECT_TRUE(remembered(result).values.empty());
}

TEST(ItemNames, LinksAreOfNodesOrDevicesAndKnowTheirDirection) {
  ItemNames names;
  names.add_rank("nid001", {});
  names.add_rank("nid001", {});
  names.add_rank("nid002", {{"data.device", "GPU 0000:c1:00.0 (GPU-b)"}});
  names.add_rank("nid003", {{"data.device", "GPU 0000:c1:00.0 (GPU-a)"}});
  names.add_link("bandwidth", 2, 3);
  names.add_link("bandwidth", 3, 2);
  names.add_link("latency", 3, 2);
  names.add_link("latency", 0, 1);
  Labels none;
  EXPECT_EQ(names.item("bandwidth", 2, 3, none).name, "GPU-b -> GPU-a");
  EXPECT_EQ(names.item("latency", 3, 2, none).name, "GPU-a -- GPU-b");
  EXPECT_EQ(names.item("latency", 0, 1, none).name, "within nid001");
  EXPECT_EQ(names.item("latency", 0, 2, none).name, "GPU-b -- nid001");
  EXPECT_EQ(names.item("latency", 0, 2, none).peer_node, "nid002");
}

TEST(ItemNames, ARankOfSeveralDevicesTellsThemByAddress) {
  ItemNames names;
  names.add_rank("nid001", {{"tested", "0000:01:00.0 GPU-a H100; 0000:02:00.0 - H100"}});
  Labels first{{"by", "engine"}, {"device", "0000:01:00.0"}};
  EXPECT_EQ(names.item("local_copy", 0, -1, first).name, "GPU-a");
  EXPECT_EQ(first, (Labels{{"by", "engine"}}));
  Labels second{{"device", "0000:02:00.0"}};
  EXPECT_EQ(names.item("local_copy", 0, -1, second).name, "nid001 0000:02:00.0");
  Labels pair{{"device", "0000:01:00.0"}, {"to", "0000:02:00.0"}};
  const MeasuredItem link = names.item("peer_copy", 0, -1, pair);
  EXPECT_EQ(link.name, "GPU-a -> nid001 0000:02:00.0");
  EXPECT_EQ(link.kind, ItemKind::link);
  Labels none;
  EXPECT_EQ(names.item("x", 0, -1, none).name, "nid001") << "of which of the two?";
}

}  // namespace
}  // namespace muster
