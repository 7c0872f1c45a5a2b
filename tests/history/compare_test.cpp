#include "history/compare.hpp"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

#include "history/lists.hpp"
#include "history/past_runs.hpp"

namespace muster {
namespace {

using test::a_run;

/// Bandwidth of every pair of four nodes, with noise.
PastRun links(int day, double noise, double of_nid003 = 1) {
  PastRun run = a_run(day, 100);
  run.values.clear();
  std::mt19937 engine(static_cast<unsigned>(day));
  std::normal_distribution<double> normal(1, noise);
  for (int from = 1; from <= 4; ++from) {
    for (int to = 1; to <= 4; ++to) {
      if (from == to) continue;
      PastValue& value = run.values.emplace_back();
      const auto a = fmt::format("nid00{}", from);
      const auto b = fmt::format("nid00{}", to);
      value.key = {"p2p%00000002",
                   "1 rank per node",
                   "",
                   "bandwidth",
                   {{"link", "network"}, {"size", "16KiB"}},
                   {ItemKind::link, a + " -> " + b, a, b}};
      value.unit = "GB/s";
      value.better = 1;
      value.samples = 50;
      value.value = 10 * normal(engine) * (from == 3 || to == 3 ? of_nid003 : 1);
      value.noise = value.value * noise;
    }
  }
  return run;
}

TEST(Compare, ARunIsNoDifferentFromItself) {
  const auto same = compare(a_run(1, 100), a_run(2, 100));
  EXPECT_TRUE(same.is_empty());
  EXPECT_FALSE(same.is_worse());
  EXPECT_EQ(same.compared, 2);
}

TEST(Compare, StatesItsDetectionLimit) {
  const PastRun before = links(1, 0.02);
  const PastRun same = links(2, 0.02);
  const auto limits = compare(before, same);
  ASSERT_TRUE(limits.metrics.empty());
  EXPECT_EQ(limits.with_past, 0);
  EXPECT_GE(limits.half_seen_from, 0.05);
  EXPECT_GE(limits.seen_from, limits.half_seen_from);
  const auto reported = [&](double share) {
    PastRun after = same;
    after.values[4].value = before.values[4].value * (1 - share);
    return !compare(before, after).metrics.empty();
  };
  EXPECT_TRUE(reported(1.05 * limits.seen_from));
  EXPECT_FALSE(reported(0.9 * limits.half_seen_from));
}

TEST(Compare, NoiseIsNoDifference) {
  int reported = 0;
  for (int pair = 0; pair < 200; ++pair) {
    const double noise = pair % 2 == 0 ? 0.02 : 0.10;
    reported += !compare(links(2 * pair, noise), links(2 * pair + 1, noise)).metrics.empty();
  }
  EXPECT_LE(reported, 6);
}

/// The same noise for each metric, whatever the item.
RunNoise noise_of_all(const PastRun& run, const RunNoise::mapped_type& known) {
  RunNoise noise;
  for (const PastValue& value : run.values) {
    SeriesKey key = value.key;
    key.item.node.clear();
    key.item.peer_node.clear();
    noise[key] = known;
  }
  return noise;
}

/// Slow parts, each a little further off than the one before, hide neither each other nor behind what got better.
TEST(Compare, SeveralDifferencesAreAllReported) {
  const auto run_of = [&](int day) {
    PastRun run = a_run(day, 100);
    run.values.clear();
    for (int i = 0; i < 60; ++i) run.values.push_back(test::a_value("triad", fmt::format("nid{:03}", i), 100));
    return run;
  };
  const RunNoise noise = noise_of_all(run_of(1), {0.02, 100});
  const PastRun before = run_of(1);
  PastRun after = run_of(2);
  after.values[3].value = 100 * std::exp(-0.10);
  after.values[4].value = 100 * std::exp(-0.17);
  after.values[5].value = 100 * std::exp(-0.29);
  after.values[6].value = 100 * std::exp(-0.50);
  const auto found = compare(before, after, noise);
  ASSERT_TRUE(found.is_worse());
  EXPECT_GE(found.metrics.front().moved, 2);
  PastRun mixed = run_of(2);
  mixed.values[3].value = 100 * std::exp(0.11);
  mixed.values[4].value = 100 * std::exp(-0.16);
  EXPECT_TRUE(compare(before, mixed, noise).is_worse());
}

/// Losses with a lognormal tail, of which earlier runs tell the deviation but not the shape.
TEST(Compare, ATailIsNoDifference) {
  std::mt19937 engine(11);
  std::normal_distribution<double> normal(0, 1);
  const auto run_of = [&](int day) {
    PastRun run = a_run(day, 100);
    run.values.clear();
    for (int i = 0; i < 60; ++i)
      run.values.push_back(
          test::a_value("triad", fmt::format("nid{:03}", i), 100 * std::exp(-0.03 * std::exp(0.75 * normal(engine)))));
    return run;
  };
  const RunNoise noise = noise_of_all(run_of(1), {0.03, 20});
  int worse = 0;
  int found = 0;
  for (int pair = 0; pair < 100; ++pair) {
    const PastRun before = run_of(1);
    PastRun after = run_of(2);
    worse += compare(before, after, noise).is_worse();
    after.values[7].value *= 0.5;
    found += compare(before, after, noise).is_worse();
  }
  EXPECT_LE(worse, 12) << "of 100";
  EXPECT_GE(found, 98) << "of 100";
}

TEST(Compare, NamesADriverAndASlowNodeAndNothingElse) {
  PastRun after = links(2, 0.03, 0.2);
  after.nodes[1].facts[1].value = "560.35";
  const auto found = compare(links(1, 0.03), after);
  ASSERT_EQ(found.metrics.size(), 1U);
  EXPECT_EQ(found.metrics[0].subject, "links of nid003");
  EXPECT_EQ(found.metrics[0].moved, 6);
  EXPECT_EQ(found.metrics[0].measured, 6);
  EXPECT_NEAR(found.metrics[0].share, -0.8, 0.05);
  EXPECT_TRUE(found.metrics[0].is_worse);
  ASSERT_EQ(found.facts.size(), 1U);
  EXPECT_EQ(found.facts[0].key, "driver.nvidia");
  EXPECT_EQ(found.facts[0].before, "550.54");
  EXPECT_EQ(found.facts[0].after, "560.35");
  EXPECT_EQ(found.facts[0].nodes, std::vector<std::string>{"nid002"});
  EXPECT_TRUE(found.verdicts.empty());
  EXPECT_TRUE(found.is_worse());
}

TEST(Compare, EarlierRunsTellWhatIsNoise) {
  const PastRun before = a_run(1, 100);
  const PastRun after = a_run(2, 90);
  EXPECT_TRUE(compare(before, after).metrics.empty()) << "10 % could be chance, for all that is known";
  SeriesKey key = before.values[0].key;
  key.item.node.clear();
  const auto found = compare(before, after, {{key, {0.005, 40}}});
  ASSERT_EQ(found.metrics.size(), 1U);
  EXPECT_EQ(found.metrics[0].subject, "nid001");
  EXPECT_FALSE(compare(after, before, {{key, {0.005, 40}}}).is_worse()) << "more is better";
}

/// Each value scatters by 4 % from run to run, which five earlier runs tell. A hundred values, so that five runs alone
/// make some of them look exact.
TEST(Compare, FiveEarlierRunsAreNotTakenAsExact) {
  std::mt19937 engine(7);
  std::normal_distribution<double> normal(0, 1);
  const auto run_of = [&](int day, double of_first) {
    PastRun run = a_run(day, 100);
    run.values.clear();
    for (int i = 0; i < 100; ++i) {
      PastValue value = test::a_value("triad", fmt::format("nid{:03}", i), 100 * std::exp(0.04 * normal(engine)));
      if (i == 0) value.value *= of_first;
      run.values.push_back(value);
    }
    return run;
  };
  int worse = 0;
  int found = 0;
  for (int day = 0; day < 100; ++day) {
    const PastRun before = run_of(1, 1);
    RunNoise noise;
    for (const PastValue& value : before.values) {
      double squares = 0;
      double sum = 0;
      for (int i = 0; i < 5; ++i) {
        const double one = 0.04 * normal(engine);
        sum += one;
        squares += one * one;
      }
      SeriesKey key = value.key;
      key.item.node.clear();
      key.item.peer_node.clear();
      noise[key] = {std::sqrt((squares - sum * sum / 5) / 4), 5};
    }
    worse += !compare(before, run_of(2, 1), noise).metrics.empty();
    const auto moved = compare(before, run_of(2, 0.6), noise).metrics;
    found += !moved.empty() && moved[0].is_worse && moved[0].items[0] == before.values[0].key.item.name;
  }
  EXPECT_LE(worse, 3) << "of 100 pairs of unchanged runs";
  EXPECT_GE(found, 95) << "40 % are nine standard deviations of the difference of two runs";
}

/// A latency with two levels, of which the worse one is the usual one.
TEST(Compare, AValueThatIsOftenAsBadHasNotChanged) {
  const auto run_of = [](int day, double latency) {
    PastRun run = a_run(day, 100);
    run.values.resize(1);
    run.values[0].better = -1;
    run.values[0].value = latency;
    return run;
  };
  const PastRun before = run_of(1, 134);
  RunNoise noise = noise_of_all(before, {0.02, 6, {190, 192, 134, 189, 133, 191}});
  const auto usual = compare(before, run_of(2, 195), noise);
  EXPECT_FALSE(usual.is_worse());
  EXPECT_EQ(usual.as_often, 1);
  EXPECT_TRUE(compare(before, run_of(2, 300), noise).is_worse()) << "no run was that slow";
  noise = noise_of_all(before, {0.02, 7, {133, 135, 134, 133, 134, 136, 190}});
  EXPECT_TRUE(compare(before, run_of(2, 195), noise).is_worse()) << "one run of seven";
  EXPECT_TRUE(compare(before, run_of(2, 195), noise_of_all(before, {0.02, 7})).is_worse());
}

/// Two virtual CPUs run on one core in some runs and on two in others: memory copies at 82 or 47 GB/s.
TEST(Compare, OfAVirtualMachineALevelThatOneEarlierRunHadIsNoChange) {
  const auto run_of = [](int day, double bandwidth, bool is_virtual) {
    PastRun run = a_run(day, 100);
    run.values.resize(1);
    run.values[0].better = 1;
    run.values[0].value = bandwidth;
    if (is_virtual)
      run.nodes.push_back({run.values[0].key.item.node, {{"architecture", "x86_64"}, {"hypervisor", "KVM"}}});
    return run;
  };
  const PastRun before = run_of(1, 82, true);
  const RunNoise once = noise_of_all(before, {0.02, 9, {82, 81, 83, 82, 47, 82, 81, 83, 82}});
  const auto moved = compare(before, run_of(2, 46, true), once);
  EXPECT_FALSE(moved.is_worse());
  EXPECT_EQ(moved.as_often, 1);
  EXPECT_TRUE(compare(run_of(1, 82, false), run_of(2, 46, false), once).is_worse()) << "a real machine";
  const auto lower = compare(before, run_of(2, 30, true), once);
  EXPECT_TRUE(lower.is_worse()) << "below both levels";
  EXPECT_EQ(lower.virtual_nodes, std::vector<std::string>{before.values[0].key.item.node});
}

/// A hypervisor moves CPUs: it changes neither a GPU nor a network.
TEST(Compare, OfAVirtualMachineDevicesAndNetworksHaveNoLevels) {
  const auto compared = [](const std::function<void(SeriesKey&)>& change) {
    const auto run_of = [&](int day, double bandwidth) {
      PastRun run = a_run(day, 100);
      run.values.resize(1);
      run.values[0].better = 1;
      run.values[0].value = bandwidth;
      run.nodes.push_back({run.values[0].key.item.node, {{"hypervisor", "KVM"}}});
      change(run.values[0].key);
      return run;
    };
    const PastRun before = run_of(1, 82);
    return compare(before, run_of(2, 46), noise_of_all(before, {0.02, 9, {82, 81, 83, 82, 47, 82, 81, 83, 82}}));
  };
  const auto is_worse = [&](const std::function<void(SeriesKey&)>& change) {
    const auto found = compared(change);
    EXPECT_TRUE(found.virtual_nodes.empty());
    return found.is_worse();
  };
  EXPECT_FALSE(is_worse([](SeriesKey& key) { key.item = {ItemKind::node, "nid001", "nid001", ""}; }));
  EXPECT_FALSE(is_worse([](SeriesKey& key) { key.item = {ItemKind::link, "within nid001", "nid001", "nid001"}; }));
  EXPECT_TRUE(is_worse([](SeriesKey& key) { key.item = {ItemKind::device, "GPU-1", "nid001", ""}; }));
  EXPECT_TRUE(is_worse([](SeriesKey& key) { key.item = {ItemKind::link, "nid001 -> nid002", "nid001", "nid002"}; }));
  EXPECT_TRUE(is_worse([](SeriesKey& key) { key.where.emplace_back("memory", "device"); }));
  EXPECT_TRUE(is_worse([](SeriesKey& key) { key.shape = "8 ranks on 2 nodes"; }));
}

/// What was long ago on a real machine, before the runs that show the spread.
TEST(Compare, OldLevelsAreNotOften) {
  const auto run_of = [](int day, double bandwidth) {
    PastRun run = a_run(day, 100);
    run.values.resize(1);
    run.values[0].better = 1;
    run.values[0].value = bandwidth;
    return run;
  };
  std::vector<double> values(20, 47);
  values.insert(values.end(), 40, 82);
  EXPECT_TRUE(compare(run_of(1, 82), run_of(2, 46), noise_of_all(run_of(1, 82), {0.02, 40, values})).is_worse());
}

TEST(Compare, TimesBelowAClockReadAreAlike) {
  const auto run_of = [](int day, double skew) {
    PastRun run = a_run(day, 100);
    for (PastValue& value : run.values) {
      value.unit = "us";
      value.better = -1;
      value.value = skew;
      value.noise = value.spread = 0;
    }
    return run;
  };
  EXPECT_TRUE(compare(run_of(1, 2.3e-7), run_of(2, 0.005)).is_empty());
  EXPECT_TRUE(compare(run_of(1, 0), run_of(2, 0.04)).is_empty());
  const auto found = compare(run_of(1, 2.3e-7), run_of(2, 50));
  ASSERT_EQ(found.metrics.size(), 1U);
  EXPECT_TRUE(found.metrics[0].is_worse);
  EXPECT_NEAR(found.metrics[0].share, 50 / 0.05 - 1, 1e-6);
}

TEST(Compare, WhatPassedAndIsUnmeasuredIsLessKnown) {
  const PastRun before = a_run(1, 100);
  PastRun after = a_run(2, 100);
  after.cases[0].verdict = Verdict::unmeasured;
  const auto found = compare(before, after);
  ASSERT_EQ(found.verdicts.size(), 1U);
  EXPECT_TRUE(found.verdicts[0].is_less_known);
  EXPECT_FALSE(found.is_worse());
  EXPECT_FALSE(compare(after, before).verdicts[0].is_less_known);
  after.cases[0].verdict = Verdict::error;
  EXPECT_TRUE(compare(before, after).is_worse());
}

TEST(Compare, VerdictsNodesAndCases) {
  const PastRun before = a_run(1, 100);
  PastRun after = a_run(2, 100);
  after.cases[0].verdict = Verdict::fail;
  after.cases[0].reason = "memory is slow";
  after.cases[0].on_nodes[1].verdict = Verdict::fail;
  after.nodes[0].node = "nid009";
  after.cases.push_back({"hello%00000003", "hello", Verdict::pass, "", 1, 1, {}, {}});
  const auto found = compare(before, after);
  ASSERT_EQ(found.verdicts.size(), 1U);
  EXPECT_TRUE(found.verdicts[0].is_worse);
  EXPECT_EQ(found.verdicts[0].nodes, std::vector<std::string>{"nid002"});
  EXPECT_EQ(found.nodes_gone, std::vector<std::string>{"nid001"});
  EXPECT_EQ(found.nodes_new, std::vector<std::string>{"nid009"});
  EXPECT_EQ(found.only_after, std::vector<std::string>{"hello%00000003"});
  EXPECT_TRUE(found.is_worse());
  EXPECT_FALSE(compare(after, before).verdicts[0].is_worse);
}

TEST(Compare, TimesThatMeanNothingAreNotCompared) {
  PastRun after = a_run(2, 10);
  for (PastValue& value : after.values) value.use = ValueUse::untimed;
  const auto found = compare(a_run(1, 100), after);
  EXPECT_TRUE(found.metrics.empty());
  EXPECT_EQ(found.untimed, 2);
}

TEST(Compare, WhatIsNotMeasuredAnyMoreIsWorse) {
  const PastRun before = a_run(1, 100);
  PastRun after = a_run(2, 100);
  after.values.erase(after.values.begin());
  after.values.push_back(test::a_value("copy", "nid002", 90));
  const auto found = compare(before, after);
  ASSERT_EQ(found.values_gone.size(), 1U);
  EXPECT_EQ(found.values_gone[0].metric, "triad");
  EXPECT_EQ(found.values_gone[0].items, std::vector<std::string>{"nid001"});
  ASSERT_EQ(found.values_new.size(), 1U);
  EXPECT_EQ(found.values_new[0].metric, "copy");
  EXPECT_TRUE(found.is_worse());
  EXPECT_FALSE(compare(before, a_run(2, 100)).is_worse());
  PastRun busy = before;
  busy.cases[0].verdict = after.cases[0].verdict = Verdict::unmeasured;
  EXPECT_FALSE(compare(busy, after).is_worse()) << "neither run could measure all of it, and both said so";
  EXPECT_EQ(compare(busy, after).values_gone.size(), 1U);
  PastRun disturbed = after;
  disturbed.cases[0].verdict = Verdict::pass;
  EXPECT_TRUE(compare(before, disturbed).is_worse());
  disturbed.cases[0].disturbed = {{"triad", "nid001"}};
  const auto less = compare(before, disturbed);
  EXPECT_FALSE(less.is_worse()) << "others used the CPUs";
  ASSERT_EQ(less.values_gone.size(), 1U);
  EXPECT_TRUE(less.values_gone[0].is_less_known);
  disturbed.cases[0].disturbed = {{"triad", "nid002"}, {"copy", "nid001"}};
  EXPECT_TRUE(compare(before, disturbed).is_worse()) << "those of another node or metric";
  after.cases[0].verdict = Verdict::pass;

  after.nodes.erase(after.nodes.begin());
  const auto lost = compare(before, after);
  EXPECT_TRUE(lost.values_gone.empty()) << "the node has gone, and that is said";
  EXPECT_EQ(lost.nodes_gone, std::vector<std::string>{"nid001"});

  after = a_run(2, 100);
  after.values.clear();
  after.cases.clear();
  EXPECT_FALSE(compare(before, after).is_worse()) << "it was not requested of the later run";
}

TEST(Compare, WhatPassedAndIsSkippedIsWorse) {
  const PastRun before = a_run(1, 100);
  PastRun after = a_run(2, 100);
  after.cases[0].verdict = Verdict::skip;
  after.values.clear();
  const auto found = compare(before, after);
  ASSERT_EQ(found.verdicts.size(), 1U);
  EXPECT_TRUE(found.is_worse());
  EXPECT_TRUE(found.values_gone.empty()) << "that the case was skipped says it";
  EXPECT_FALSE(compare(after, before).is_worse());
  PastRun failed = before;
  failed.cases[0].verdict = Verdict::fail;
  EXPECT_TRUE(compare(after, failed).is_worse());
  EXPECT_FALSE(compare(failed, after).is_worse());
}

TEST(Compare, SaysWhyValuesAreNotCompared) {
  const PastRun before = a_run(1, 100);
  PastRun other = a_run(2, 10);
  other.simulated = "lumi-g";
  for (PastValue& value : other.values) value.key.simulated = "lumi-g";
  auto found = compare(before, other);
  EXPECT_EQ(found.compared, 0);
  EXPECT_EQ(found.other_machine, 2);
  EXPECT_FALSE(found.is_worse());

  other = a_run(2, 10);
  other.cases[0].ranks = 8;
  for (PastValue& value : other.values) value.key.shape = "4 ranks per node";
  found = compare(before, other);
  EXPECT_EQ(found.other_shape, 2);
  EXPECT_EQ(found.shape_before, "2 ranks on 2 nodes");
  EXPECT_EQ(found.shape_after, "8 ranks on 2 nodes");
  EXPECT_FALSE(found.is_worse());

  other = a_run(2, 100);
  for (PastValue& value : other.values) value.key.where = {{"domain", "all"}};
  found = compare(before, other);
  ASSERT_EQ(found.relabelled.size(), 1U);
  EXPECT_EQ(found.relabelled[0].items, (std::vector<std::string>{"nid001", "nid002"}));
  EXPECT_FALSE(found.is_empty());

  other = a_run(2, 100);
  other.values.push_back(other.values[0]);
  other.values.back().key.where = {{"alone", "yes"}};
  found = compare(before, other);
  EXPECT_EQ(found.one_sided, 1);
  EXPECT_TRUE(found.is_empty()) << "it was measured once more, as that which is compared";
}

std::vector<ItemVerdict> nights(int nodes, int runs, const std::vector<std::pair<int, int>>& failed) {
  std::vector<ItemVerdict> all;
  for (int run = 0; run < runs; ++run)
    for (int node = 0; node < nodes; ++node) {
      const bool has_failed = std::find(failed.begin(), failed.end(), std::pair(node, run)) != failed.end();
      all.push_back({fmt::format("nid{:03}", node), false, "p2p%1", "p2p", fmt::format("2026-11-{:02}", run + 1), "id",
                     has_failed ? Verdict::fail : Verdict::pass, "1"});
    }
  return all;
}

TEST(Lists, AFlakyNodeChangesWithNothingElseChanged) {
  auto verdicts = nights(3, 10, {{1, 3}, {1, 7}, {2, 9}});
  const auto found = flaky(verdicts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].item, "nid001");
  EXPECT_EQ(found[0].changes, 4);
  EXPECT_EQ(found[0].failed, 2);
  for (std::size_t at = 0; at < verdicts.size(); ++at) verdicts[at].configuration = std::to_string(at);
  EXPECT_TRUE(flaky(verdicts).empty()) << "something else changed each time";
}

TEST(Lists, ALemonFailsMoreOftenThanItsLike) {
  const auto found = lemons(nights(8, 20, {{4, 1}, {4, 5}, {4, 6}, {4, 19}, {2, 3}}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].item, "nid004");
  EXPECT_EQ(found[0].failed, 4);
  EXPECT_EQ(found[0].checks, std::vector<std::string>{"p2p"});
  EXPECT_TRUE(lemons(nights(8, 20, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}})).empty());
}

}  // namespace
}  // namespace muster
