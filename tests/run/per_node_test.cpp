// --per-node: the plan, and what a launch looks like from one of its nodes.
#include "run/per_node.hpp"

#include "base/frame.hpp"
#include "run/choosing.hpp"
#include "run/messages.hpp"
#include "run/sample_spool.hpp"

namespace muster::fake {

namespace {

using Texts = std::vector<std::string>;

Choosing on_three_nodes(std::vector<Check> checks) {
  Choosing choosing{std::move(checks)};
  choosing.site.nodes = {"nid001", "nid002", "nid003"};
  choosing.site.host = "login";
  choosing.options.per_node = true;
  choosing.options.rerun_prefix = {"muster", "run"};
  return choosing;
}

Texts ids(const Plan& plan) {
  Texts all;
  for (const auto& item : plan.cases) all.push_back(item.id);
  return all;
}

/// Two ranks on each of two nodes, dealt out in turn.
World two_nodes() {
  World world;
  world.library = "a library";
  for (int rank = 0; rank < 4; ++rank) {
    RankPlace place{rank, 4, rank / 2, 2, rank % 2, 2, rank % 2 == 0 ? "a" : "b"};
    world.ranks.push_back(place);
    world.pids.push_back(10 + rank);
  }
  world.nodes = {{"a", {{"kernel", "1"}}}, {"b", {{"kernel", "2"}}}};
  world.timing_doubt = "2 ranks share 1 core on b";
  world.node_doubts = {"", "2 ranks share 1 core on b"};
  return world;
}

}  // namespace

TEST(PerNodePlan, EveryNodeHasACaseAndAllOfThemOneLaunch) {
  auto choosing = on_three_nodes({make_check("a"), make_check("b")});
  const auto common = Choosing{{make_check("a")}}.only_case().id;
  const auto plan = choosing.plan();
  ASSERT_EQ(plan.cases.size(), 6u);
  EXPECT_EQ(plan.cases[0].id, common + "@nid001") << "the same id as ever, and the node";
  EXPECT_EQ(common_id(plan.cases[0]), common);
  EXPECT_EQ(plan.cases[2].host, "nid003");
  EXPECT_EQ(plan.cases[2].shape.nodes, Texts{"nid003"});
  EXPECT_EQ(plan.cases[2].shape.ranks(), 2);
  EXPECT_EQ(plan.cases[3].check, "b");
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_EQ(plan.launches[0].shape.nodes, choosing.site.nodes);
  EXPECT_EQ(plan.launches[0].shape.ranks(), 6);
  EXPECT_EQ(plan.launches[0].items.size(), 6u);
}

TEST(PerNodePlan, ThisMachineAloneIsANodeToo) {
  auto choosing = on_three_nodes({make_check("a")});
  choosing.site.nodes = {};
  const auto item = choosing.only_case();
  EXPECT_EQ(item.host, "login");
  EXPECT_TRUE(item.shape.nodes.empty());
  EXPECT_TRUE(choosing.plan().launches.at(0).shape.nodes.empty());
}

TEST(PerNodePlan, RepetitionsOfAllNodesFollowEachOther) {
  auto choosing = on_three_nodes({make_check("a")});
  choosing.options.repeat = 2;
  const auto plan = choosing.plan();
  const std::vector<WorkItem> expected{{0, 1}, {1, 1}, {2, 1}, {0, 2}, {1, 2}, {2, 2}};
  EXPECT_EQ(plan.launches.at(0).items, expected);
}

TEST(PerNodePlan, WhatNeedsSeveralNodesIsSkippedOnceAndSaysWhy) {
  auto choosing = on_three_nodes({make_check("a"), make_check("together")});
  choosing.checks[1].min_nodes = 2;
  const auto plan = choosing.plan();
  ASSERT_EQ(plan.cases.size(), 4u);
  const auto& skipped = plan.cases[3];
  EXPECT_TRUE(skipped.host.empty());
  ASSERT_EQ(skipped.unable.size(), 1u);
  EXPECT_EQ(skipped.unable[0].verdict, Verdict::skip);
  EXPECT_EQ(skipped.unable[0].reason, "needs 2 nodes together, and --per-node asks each node by itself");
  EXPECT_EQ(skipped.unable[0].remedy, "run it without --per-node");
}

TEST(PerNodePlan, NothingButSuchChecksIsRefused) {
  auto choosing = on_three_nodes({make_check("a"), make_check("together")});
  choosing.checks[1].min_nodes = 2;
  choosing.options.names = {"together"};
  EXPECT_EQ(choosing.error(),
            "--per-node: together needs several nodes together, and nothing else is chosen; leave --per-node out");
}

TEST(PerNodePlan, RerunIsOfThatNode) {
  const auto plan = on_three_nodes({make_check("a")}).plan();
  const Texts expected{"muster", "run", "-n", plan.cases.at(1).id, "--per-node"};
  EXPECT_EQ(plan.cases[1].rerun, expected);
}

TEST(PerNodePlan, RerunOfWhatHasPeersIsOfAllNodes) {
  auto choosing = on_three_nodes({make_check("a")});
  choosing.checks[0].expects.emplace_back().peers = Peers{};
  const auto plan = choosing.plan();
  const Texts expected{"muster", "run", "-n", common_id(plan.cases.at(1)), "--per-node"};
  EXPECT_EQ(plan.cases[1].rerun, expected);
}

TEST(PerNodePlan, ACaseOfOneNodeIsChosenByItsIdAndLaunchedThere) {
  auto choosing = on_three_nodes({make_check("a"), make_check("b")});
  const auto all = ids(choosing.plan());
  choosing.options.names = {all[1]};
  auto plan = choosing.plan();
  EXPECT_EQ(ids(plan), Texts{all[1]});
  EXPECT_EQ(plan.launches.at(0).shape.nodes, Texts{"nid002"});
  choosing.options.names = {all[1].substr(0, all[1].find('@'))};
  EXPECT_EQ(choosing.plan().cases.size(), 3u) << "without a node: that of every node";
  choosing.options.names = {};
  choosing.options.excludes = {"@nid00[12]$"};
  EXPECT_EQ(ids(choosing.plan()), (Texts{all[2], all[5]}));
}

TEST(PerNodePlan, ItsIdWithoutTheOptionSaysWhatIsMissing) {
  auto choosing = on_three_nodes({make_check("a")});
  const auto id = choosing.plan().cases.at(0).id;
  choosing.options.per_node = false;
  choosing.options.names = {id};
  EXPECT_EQ(choosing.error(), "-n \"" + id + "\" is a case of one node: add --per-node");
}

TEST(PerNodePlan, AllRanksOfTheLaunchCountForTheLauncher) {
  auto choosing = on_three_nodes({make_check("a")});
  choosing.site.launcher_most_ranks = 1;
  choosing.checks[0].ranks.count = 1;
  const auto item = choosing.only_case();
  ASSERT_EQ(item.unable.size(), 1u);
  EXPECT_NE(item.unable[0].reason.find("this case needs 3"), std::string::npos) << item.unable[0].reason;
}

TEST(PerNode, RanksCountOnTheirNode) {
  const auto world = world_of_node(two_nodes(), 1);
  ASSERT_EQ(world.ranks.size(), 2u);
  const auto& last = world.ranks[1];
  EXPECT_EQ(last.rank, 1);
  EXPECT_EQ(last.world_size, 2);
  EXPECT_EQ(last.local_rank, 1);
  EXPECT_EQ(last.local_size, 2);
  EXPECT_EQ(last.node_index, 0);
  EXPECT_EQ(last.node_count, 1);
  EXPECT_EQ(last.host, "b");
  EXPECT_TRUE(last.is_part_of_launch());
  EXPECT_EQ(last.rank_in_launch(), 3);
  EXPECT_EQ(last.size_of_launch(), 4);
  EXPECT_EQ(world.pids, (std::vector<int>{11, 13}));
  ASSERT_EQ(world.nodes.size(), 1u);
  EXPECT_EQ(world.nodes[0].node, "b");
  EXPECT_EQ(world.timing_doubt, "2 ranks share 1 core on b");
  EXPECT_EQ(world_of_node(two_nodes(), 0).timing_doubt, "") << "what another node lacks is not its doubt";
}

TEST(PerNode, ObservationsGoToTheirNode) {
  std::vector<Observation> seen;
  for (const int rank : {3, 0, 1, 7, -1}) seen.emplace_back().rank = rank;
  const auto there = seen_on_node(seen, two_nodes(), 1);
  ASSERT_EQ(there.size(), 2u);
  EXPECT_EQ(there[0].rank, 1);
  EXPECT_EQ(there[1].rank, 0);
}

TEST(PerNode, NodesAreFoundByNameWithOrWithoutDomain) {
  auto world = two_nodes();
  EXPECT_EQ(node_named(world, "b"), 1);
  EXPECT_EQ(node_named(world, "b.cluster"), 1);
  EXPECT_FALSE(node_named(world, "c"));
  EXPECT_FALSE(node_named(world, "10.0.0.2"));
  world.nodes[0].node = "b.one";
  world.nodes[1].node = "b.two";
  EXPECT_EQ(node_named(world, "b.two"), 1);
  EXPECT_FALSE(node_named(world, "b.three"));
  world.nodes.pop_back();
  EXPECT_EQ(node_named(world, "10.0.0.1"), 0) << "there is no other";
}

TEST(PerNode, PeersAreRecordedAsTheLaunchCountsThem) {
  struct Seen final : Recorder {
    std::vector<int> peers;
    void step(std::string_view) override {}
    void iteration(std::uint64_t) override {}
    void peer(int rank) override { peers.push_back(rank); }
    void child_group(int) override {}
  } seen;
  const std::vector<int> ranks{1, 3};
  NodeRecorder recorder(seen, ranks);
  for (const int rank : {1, 0, -1, 2}) recorder.peer(rank);
  EXPECT_EQ(seen.peers, (std::vector<int>{3, 1, -1, 2}));
}

}  // namespace muster::fake

namespace muster {
namespace {

using namespace test;

/// Hello on two nodes, each by itself.
Plan plan_of_nodes() {
  auto plan = plan_of(2);
  for (std::size_t i = 0; i < 2; ++i) {
    auto& item = plan.cases[i];
    item.host = i == 0 ? "a" : "b";
    item.id = "hello%00000000@" + item.host;
    item.shape.nodes = {item.host};
  }
  return plan;
}

TEST(PerNodeSpool, EachNodeIsJudgedAgainByItself) {
  std::vector<std::byte> bytes;
  const auto add = [&](MessageType type, const std::vector<std::byte>& payload) {
    const auto frame = encode_frame(static_cast<std::uint8_t>(type), payload);
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  };
  add(MessageType::plan, encode_plan(plan_of_nodes(), header()));
  add(MessageType::world, encode_spool_world(0, fake::two_nodes()));
  add(MessageType::record, encode_record(good_record(0))[0]);
  auto bad = good_record(1);
  bad.observations[1].facts = {{"answers", "1 of 2"}};
  add(MessageType::record, encode_record(bad)[0]);
  const auto report = salvage_bytes(bytes);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->cases.size(), 2u);
  EXPECT_EQ(report->cases[0].verdict, Verdict::pass) << report->cases[0].reason;
  EXPECT_EQ(report->cases[0].node, "a");
  EXPECT_EQ(report->cases[1].verdict, Verdict::fail);
  EXPECT_NE(report->cases[1].reason.find("rank 1 on b"), std::string::npos) << report->cases[1].reason;
}

}  // namespace
}  // namespace muster
