// Who meets whom, and how long: every pair once, partners agree, whole nodes meet, the budget is kept.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>

#include "measure/schedule.hpp"

#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck/gtest.h>
#endif

namespace muster::p2p {
namespace {

/// Ranks in blocks: node 0 has the first `per_node`, and so on.
std::vector<int> blocks(int nodes, int per_node) {
  std::vector<int> node_of;
  for (int node = 0; node < nodes; ++node) node_of.insert(node_of.end(), static_cast<std::size_t>(per_node), node);
  return node_of;
}

/// What is wrong with a schedule as such; empty: partners agree, nobody meets himself, and both views say the same.
std::string trouble_of(const Schedule& schedule) {
  for (int round = 0; round < schedule.rounds(); ++round) {
    const auto partners = schedule.round(round);
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      const int peer = partners[static_cast<std::size_t>(rank)];
      const std::string where = "round " + std::to_string(round) + ", rank " + std::to_string(rank);
      if (peer != schedule.partner(rank, round)) return where + ": partner() says something else";
      if (peer < 0) continue;
      if (peer == rank || peer >= schedule.ranks()) return where + " meets " + std::to_string(peer);
      if (partners[static_cast<std::size_t>(peer)] != rank) return where + ": the partner has another one";
      if (schedule.leads(rank, peer) == schedule.leads(peer, rank)) return where + ": both lead, or none";
    }
  }
  return {};
}

std::map<std::pair<int, int>, int> meetings_of(const Schedule& schedule) {
  std::map<std::pair<int, int>, int> meetings;
  for (int round = 0; round < schedule.rounds(); ++round) {
    const auto partners = schedule.round(round);
    for (int rank = 0; rank < schedule.ranks(); ++rank)
      if (const int peer = partners[static_cast<std::size_t>(rank)]; peer > rank) ++meetings[{rank, peer}];
  }
  return meetings;
}

void expect_every_pair_once(const Schedule& schedule) {
  const auto meetings = meetings_of(schedule);
  const int n = schedule.ranks();
  EXPECT_EQ(meetings.size(), static_cast<std::size_t>(n * (n - 1) / 2));
  for (const auto& [pair, times] : meetings) EXPECT_EQ(times, 1) << pair.first << " and " << pair.second;
}

TEST(CircleMethod, EveryPairMeetsOnceOnOneNode) {
  for (int n = 2; n <= 33; ++n) {
    SCOPED_TRACE(n);
    const Schedule schedule(blocks(1, n), Pairs::all, 0, 1);
    EXPECT_EQ(schedule.rounds(), n % 2 == 0 ? n - 1 : n);
    EXPECT_EQ(trouble_of(schedule), "");
    expect_every_pair_once(schedule);
  }
}

TEST(CircleMethod, EveryPairMeetsOnceAcrossNodes) {
  for (int nodes = 2; nodes <= 6; ++nodes) {
    for (int per_node = 1; per_node <= 5; ++per_node) {
      SCOPED_TRACE(std::to_string(nodes) + " nodes, " + std::to_string(per_node) + " ranks on each");
      const Schedule schedule(blocks(nodes, per_node), Pairs::all, 0, 1);
      EXPECT_EQ(trouble_of(schedule), "");
      expect_every_pair_once(schedule);
    }
  }
}

TEST(CircleMethod, UnevenNodesAreOneCircle) {
  const Schedule schedule({0, 0, 0, 1, 1, 2}, Pairs::all, 0, 1);
  EXPECT_EQ(schedule.rounds(), 5);
  EXPECT_EQ(trouble_of(schedule), "");
  expect_every_pair_once(schedule);
}

/// Or one node's adapter would carry more pairs than another's, and look slow for that.
TEST(Schedule, AllRanksOfANodeMeetTheSameNode) {
  const std::vector<int> cyclic{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  for (const auto& node_of : {blocks(4, 3), blocks(5, 2), cyclic}) {
    for (const int rounds : {0, 11}) {
      const Schedule schedule(node_of, Pairs::all, rounds, 7);
      for (int round = 0; round < schedule.rounds(); ++round) {
        std::map<int, std::set<int>> met;
        for (int rank = 0; rank < schedule.ranks(); ++rank) {
          const int peer = schedule.partner(rank, round);
          met[node_of[static_cast<std::size_t>(rank)]].insert(peer < 0 ? -1 : node_of[static_cast<std::size_t>(peer)]);
        }
        for (const auto& [node, others] : met)
          // Within a node of three one rank waits.
          EXPECT_LE(others.size(), others.count(node) + others.count(-1) > 0 ? 2u : 1u) << "round " << round;
      }
    }
  }
}

/// Or pairs between the same two nodes would send both ways where others send one way.
TEST(Schedule, TheNodeThatComesFirstLeads) {
  const Schedule schedule({0, 1, 0, 1}, Pairs::all, 0, 1);
  EXPECT_TRUE(schedule.leads(0, 1));
  EXPECT_TRUE(schedule.leads(2, 1)) << "rank 2 is on node 0";
  EXPECT_FALSE(schedule.leads(3, 0));
  EXPECT_TRUE(schedule.leads(0, 2));
}

TEST(Ring, NeighboursMeetOnce) {
  for (int n = 2; n <= 33; ++n) {
    SCOPED_TRACE(n);
    const Schedule schedule(blocks(1, n), Pairs::ring, 0, 1);
    EXPECT_EQ(schedule.rounds(), n == 2 ? 1 : n % 2 == 0 ? 2 : 3);
    EXPECT_EQ(trouble_of(schedule), "");
    std::map<std::pair<int, int>, int> wanted;
    for (int rank = 0; rank < n; ++rank) wanted[{std::min(rank, (rank + 1) % n), std::max(rank, (rank + 1) % n)}] = 1;
    EXPECT_EQ(meetings_of(schedule), wanted);
  }
}

TEST(Ring, HasNoOtherRounds) {
  EXPECT_EQ(Schedule(blocks(1, 6), Pairs::ring, 9, 1).rounds(), 2);
  EXPECT_FALSE(Schedule(blocks(1, 6), Pairs::ring, 9, 1).is_random());
}

TEST(Schedule, OneRankHasNobody) {
  EXPECT_EQ(Schedule({0}, Pairs::all, 0, 1).rounds(), 0);
  EXPECT_EQ(Schedule({0}, Pairs::all, 5, 1).rounds(), 0);
  EXPECT_EQ(Schedule({0}, Pairs::ring, 0, 1).rounds(), 0);
  EXPECT_EQ(Schedule({}, Pairs::all, 0, 1).rounds(), 0);
}

TEST(RandomMatchings, PartnersAgree) {
  for (int nodes = 1; nodes <= 5; ++nodes)
    for (int per_node = 1; per_node <= 4; ++per_node) {
      if (nodes * per_node < 2) continue;
      const Schedule schedule(blocks(nodes, per_node), Pairs::all, 13, 42);
      EXPECT_EQ(schedule.rounds(), 13);
      EXPECT_TRUE(schedule.is_random());
      EXPECT_EQ(trouble_of(schedule), "") << nodes << " nodes of " << per_node;
    }
}

/// Three rounds of four nodes say all that there is to know.
TEST(RandomMatchings, NoPairOfNodesMeetsTwiceBeforeAllHave) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Schedule schedule(blocks(4, 2), Pairs::all, 3, seed);
    std::set<std::pair<int, int>> nodes;
    for (const auto& [pair, times] : meetings_of(schedule)) nodes.insert({pair.first / 2, pair.second / 2});
    EXPECT_EQ(nodes.size(), 6u) << "seed " << seed;
  }
}

TEST(RandomMatchings, OnOneNodeNoPairMeetsTwiceBeforeAllHave) {
  const auto meetings = meetings_of(Schedule(blocks(1, 10), Pairs::all, 9, 3));
  EXPECT_EQ(meetings.size(), 45u);
}

TEST(RandomMatchings, EveryFifthRoundStaysWithinNodes) {
  const Schedule schedule(blocks(8, 4), Pairs::all, 20, 1);
  for (int round = 0; round < 20; ++round)
    EXPECT_EQ(schedule.partner(0, round) / 4 == 0, round % 5 == 4) << "round " << round;
}

TEST(RandomMatchings, FollowTheSeed) {
  const auto rounds = [](std::uint64_t seed) {
    const Schedule schedule(blocks(16, 1), Pairs::all, 4, seed);
    return std::vector{schedule.round(0), schedule.round(1), schedule.round(2), schedule.round(3)};
  };
  EXPECT_EQ(rounds(5), rounds(5));
  EXPECT_NE(rounds(5), rounds(6));
}

#ifdef MUSTER_HAVE_RAPIDCHECK
RC_GTEST_PROP(Schedule, PartnersAgreeWhereverRanksAre, ()) {
  const auto node_of = *rc::gen::resize(40, rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5)));
  const int rounds = *rc::gen::inRange(0, 20);
  const auto pairs = *rc::gen::element(Pairs::all, Pairs::ring);
  const Schedule schedule(node_of, pairs, rounds, *rc::gen::arbitrary<std::uint64_t>());
  RC_ASSERT(trouble_of(schedule) == "");
  if (rounds == 0 && pairs == Pairs::all)
    RC_ASSERT(meetings_of(schedule).size() == node_of.size() * (node_of.size() - (node_of.empty() ? 0 : 1)) / 2);
}
#endif

Costs costs(int rounds, double budget_s) {
  Costs costs;
  costs.all_rounds = rounds;
  costs.readings = 7;
  costs.verify_s = 0.2;
  costs.budget_s = budget_s;
  costs.most_s = 0.25;
  return costs;
}

double total_s(const Budget& budget, const Costs& costs) {
  return (budget.rounds > 0 ? budget.rounds : costs.all_rounds) * (costs.verify_s + costs.readings * budget.reading_s);
}

TEST(Budget, FewRanksHaveAllRoundsAndNoReadingIsLongerThanAsked) {
  const Budget budget = plan_budget(0, costs(7, 20));
  EXPECT_EQ(budget.rounds, 0);
  EXPECT_DOUBLE_EQ(budget.reading_s, 0.25);
}

TEST(Budget, ReadingsGetShorterFirst) {
  const Budget budget = plan_budget(0, costs(63, 20));
  EXPECT_EQ(budget.rounds, 0);
  EXPECT_NEAR(budget.reading_s, (20.0 / 63 - 0.2) / 7, 1e-12);
}

TEST(Budget, WhatIsComparedAfterAReadingCountsToo) {
  Costs more = costs(63, 20);
  more.verify_share = 0.5;
  EXPECT_NEAR(plan_budget(0, more).reading_s, (20.0 / 63 - 0.2) / 7 / 1.5, 1e-12);
  more.all_rounds = 4095;
  EXPECT_EQ(plan_budget(0, more).rounds, 65) << "20 s / (0.2 s + 7 x 15 ms)";
}

TEST(Budget, ThenThereAreFewerRounds) {
  const Budget budget = plan_budget(0, costs(4095, 20));
  EXPECT_EQ(budget.rounds, 74) << "20 s / (0.2 s + 7 x 10 ms)";
  EXPECT_GE(budget.reading_s, 0.010);
}

TEST(Budget, IsKeptWhateverTheNumberOfRanks) {
  for (int rounds = 1; rounds < 10'000; rounds += 7)
    EXPECT_LE(total_s(plan_budget(0, costs(rounds, 20)), costs(rounds, 20)), 20.0001) << rounds;
}

TEST(Budget, AtLeastFiveRoundsOfTwoMilliseconds) {
  const Budget budget = plan_budget(0, costs(4095, 0.01));
  EXPECT_EQ(budget.rounds, 5);
  EXPECT_DOUBLE_EQ(budget.reading_s, 0.002);
}

TEST(Budget, FewerRoundsThanFiveAreAllRounds) {
  EXPECT_EQ(plan_budget(0, costs(3, 0.01)).rounds, 0);
}

TEST(Budget, WhatIsAskedForIsDone) {
  const Budget budget = plan_budget(50, costs(7, 20));
  EXPECT_EQ(budget.rounds, 50);
  EXPECT_NEAR(budget.reading_s, (20.0 / 50 - 0.2) / 7, 1e-12);
}

TEST(Budget, IsKeptAlsoWhereRoundsAreAskedFor) {
  Costs small = costs(7, 2);
  small.verify_s = 0;
  small.readings = 4;
  EXPECT_EQ(plan_budget(100'000, small).rounds, 250) << "2 s / (4 x 2 ms)";
  EXPECT_DOUBLE_EQ(plan_budget(100'000, small).reading_s, 0.002);
  EXPECT_EQ(plan_budget(100, small).rounds, 100);
  small.budget_s = 0.001;
  EXPECT_EQ(plan_budget(100, small).rounds, 1) << "nothing was measured without one";
}

TEST(Budget, WhereTimingMeansNothingThreeRoundsDo) {
  EXPECT_EQ(quick_budget(0, 15).rounds, 3);
  EXPECT_EQ(quick_budget(100'000, 15).rounds, 3);
  EXPECT_EQ(quick_budget(2, 15).rounds, 2);
  EXPECT_EQ(quick_budget(0, 3).rounds, 0) << "all of them";
}

TEST(Budget, NothingToMeasureIsNoDivisionByZero) {
  Costs nothing = costs(0, 20);
  nothing.readings = 0;
  EXPECT_GE(plan_budget(0, nothing).reading_s, 0.002);
}

}  // namespace
}  // namespace muster::p2p
