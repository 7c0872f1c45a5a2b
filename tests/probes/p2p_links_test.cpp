// Links held against each other, and which of them are read again.
#include <algorithm>
#include <gtest/gtest.h>

#include "probes/p2p/links.hpp"
#include "run/thread_comm.hpp"

namespace muster::p2p {
namespace {

/// Four nodes with two ranks each; every rank met every rank of the other nodes, in rounds of whole nodes.
std::vector<Spot> spots() {
  std::vector<Spot> all(8);
  for (std::size_t rank = 0; rank < all.size(); ++rank) all[rank].node = static_cast<int>(rank / 2);
  return all;
}

std::vector<RankLink> links_of(int rank, double (*speed)(int from, int to)) {
  std::vector<RankLink> links;
  for (int to = 0; to < 8; ++to) {
    if (to / 2 == rank / 2) continue;
    // Nodes a and b meet in rounds 2 (a xor b) and the next: shift 0 or 1.
    const int round = 2 * ((rank / 2) ^ (to / 2)) + ((rank ^ to) & 1);
    links.push_back({rank, to, round, speed(rank, to), LinkClass::network});
  }
  return links;
}

std::vector<RankPair> chosen_by(double (*speed)(int from, int to)) {
  std::vector<std::vector<RankPair>> reported(8);
  run_ranks(8, [&](ThreadComm& comm) {
    if (auto links = choose_links(comm, spots(), links_of(comm.rank(), speed), {}))
      reported[static_cast<std::size_t>(comm.rank())] = *links;
  });
  for (const auto& one : reported) EXPECT_EQ(one, reported[0]) << "every rank gets the same";
  return reported[0];
}

TEST(ChooseLinks, HealthyLinksAreLeftAlone) {
  EXPECT_TRUE(chosen_by([](int, int) { return 12.0; }).empty());
}

TEST(ChooseLinks, AllPairsOfTwoNodesAreReadAgainTogether) {
  const auto chosen = chosen_by([](int from, int to) { return from / 2 == 1 && to / 2 == 3 ? 6.0 : 12.0; });
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0], (RankPair{2, 6, 0}));
  EXPECT_EQ(chosen[1], (RankPair{3, 7, 0}));
}

TEST(ChooseLinks, OfTheRoundInWhichTheyWereSlowest) {
  const auto chosen = chosen_by([](int from, int to) {
    if (from / 2 != 1 || to / 2 != 3) return 12.0;
    return from == 2 && to == 7 ? 3.0 : 6.0;
  });
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0], (RankPair{2, 7, 0}));
  EXPECT_EQ(chosen[1], (RankPair{3, 6, 0}));
}

/// 32 nodes with a rank each, in four rounds; the path between the first two racks of eight is slow.
std::vector<RankLink> of_slow_path(int rank) {
  std::vector<RankLink> links;
  for (int round = 0; round < 4; ++round) {
    const int to = rank ^ (8 + 5 * round) % 32;
    if (to == rank) continue;
    const bool is_slow = std::minmax({rank / 8, to / 8}) == std::pair(0, 1);
    links.push_back({rank, to, round, is_slow ? 9.0 : 12.0, LinkClass::network});
  }
  return links;
}

TEST(ChooseLinks, NodesThatHaveNotMetDecideAPath) {
  std::vector<Spot> nodes(32);
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) nodes[rank].node = static_cast<int>(rank);
  std::vector<RankPair> chosen;
  run_ranks(32, [&](ThreadComm& comm) {
    const auto links = choose_links(comm, nodes, of_slow_path(comm.rank()), {});
    if (comm.rank() == 0 && links) chosen = *links;
  });
  const auto have_met = [](const RankPair& pair) {
    const auto links = of_slow_path(pair.from);
    return std::any_of(links.begin(), links.end(), [&](const RankLink& link) { return link.to == pair.to; });
  };
  EXPECT_FALSE(chosen.empty());
  EXPECT_FALSE(std::all_of(chosen.begin(), chosen.end(), have_met)) << chosen.size();
}

/// 32 nodes with a rank each, in eight rounds; most pairs share an uplink.
std::vector<RankLink> of_shared_uplinks(int rank) {
  std::vector<RankLink> links;
  for (int round = 0; round < 8; ++round) {
    const int to = rank ^ (2 * round + 1);
    const auto [low, high] = std::minmax(rank, to);
    links.push_back({rank, to, round, (low * 5 + high * 11 + round) % 5 < 3 ? 8.0 : 12.0, LinkClass::network});
  }
  return links;
}

TEST(ChooseLinks, WherePairsShareUplinksFourLinksOfEachNodeAreReadAgain) {
  std::vector<Spot> nodes(32);
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) nodes[rank].node = static_cast<int>(rank);
  std::vector<RankPair> chosen;
  run_ranks(32, [&](ThreadComm& comm) {
    const auto links = choose_links(comm, nodes, of_shared_uplinks(comm.rank()), {});
    if (comm.rank() == 0 && links) chosen = *links;
  });
  std::vector<std::pair<int, int>> slow;
  for (int rank = 0; rank < 32; ++rank)
    for (const RankLink& link : of_shared_uplinks(rank))
      if (link.value < 10) slow.emplace_back(link.from, link.to);
  ASSERT_GT(slow.size(), 128);
  EXPECT_EQ(chosen.size(), 128);
  for (const RankPair& pair : chosen)
    EXPECT_EQ(std::ranges::count(slow, std::pair(pair.from, pair.to)), 1) << pair.from << " " << pair.to;
}

/// One link is slow by itself, too: the others are as fast as all alone.
TEST(ChooseLinks, WhatLooksSlowWithoutContentionIsReadOnceMore) {
  std::vector<Spot> nodes(32);
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) nodes[rank].node = static_cast<int>(rank);
  const auto is_slow = [](int from, int to) { return std::min(from, to) == 2 && std::max(from, to) == 3; };
  const auto seen_by = [&](int rank) {
    std::vector<RankLink> links = of_shared_uplinks(rank);
    for (RankLink& link : links)
      if (is_slow(link.from, link.to)) link.value = 9.0;
    const std::vector<RankLink> rounds = links;
    for (RankLink link : rounds)
      for (int repetition = 0; link.value < 10 && repetition < 3; ++repetition) {
        link.is_alone = true;
        link.round = repetition;
        links.push_back(link);
        links.back().value = is_slow(link.from, link.to) ? 9.0 : 12.0;
      }
    return links;
  };
  std::vector<RankPair> chosen;
  run_ranks(32, [&](ThreadComm& comm) {
    const auto links = choose_links(comm, nodes, seen_by(comm.rank()), {}, Look::without_contention);
    if (comm.rank() == 0 && links) chosen = *links;
  });
  ASSERT_EQ(chosen.size(), 2u);
  for (const RankPair& pair : chosen) EXPECT_TRUE(is_slow(pair.from, pair.to)) << pair.from << " " << pair.to;
}

TEST(ChooseLinks, WithoutContentionThereIsNoSecondLook) {
  std::vector<std::size_t> chosen(8, 1);
  run_ranks(8, [&](ThreadComm& comm) {
    const auto slow = [](int from, int to) { return from / 2 == 1 && to / 2 == 3 ? 6.0 : 12.0; };
    if (auto links = choose_links(comm, spots(), links_of(comm.rank(), slow), {}, Look::without_contention))
      chosen[static_cast<std::size_t>(comm.rank())] = links->size();
  });
  EXPECT_EQ(chosen, std::vector<std::size_t>(8, 0));
}

TEST(ChooseLinks, ASlowNodeNeedsNoSecondLook) {
  EXPECT_TRUE(chosen_by([](int from, int to) { return from / 2 == 2 || to / 2 == 2 ? 6.0 : 12.0; }).empty());
}

TEST(DecodeLinks, ReadingsBetweenNodesAreMeansOfTheirPairs) {
  std::vector<RankLink> links;
  for (int rank = 0; rank < 8; ++rank)
    for (const RankLink& link : links_of(rank, [](int from, int) { return from % 2 == 0 ? 18.0 : 6.0; }))
      links.push_back(link);
  const std::vector<int> node_of{0, 0, 1, 1, 2, 2, 3, 3};
  const auto decoded = decode_links(links, node_of, {});
  ASSERT_EQ(decoded.size(), 1u);
  EXPECT_TRUE(decoded[0].is_between_nodes);
  ASSERT_EQ(decoded[0].culprits.levels.size(), 1u);
  EXPECT_NEAR(decoded[0].culprits.levels[0].expected, 12.0, 1e-9);
  EXPECT_EQ(decoded[0].culprits.levels[0].readings, 24);
  EXPECT_TRUE(decoded[0].culprits.parts.empty());
}

TEST(DecodeLinks, NoLinksNoWord) {
  EXPECT_TRUE(decode_links({}, std::vector<int>{0, 0}, {}).empty());
}

}  // namespace
}  // namespace muster::p2p
