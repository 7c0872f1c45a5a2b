#include "stats/connected.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <numeric>

namespace muster {
namespace {

using Nodes = std::vector<std::size_t>;

Nodes all_of(std::size_t count) {
  Nodes nodes(count);
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

/// Every pair alike, apart from what `speed` says.
template <class Speed>
NodeConnections full(std::size_t count, const Speed& speed) {
  NodeConnections connections(count);
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < count; ++b) connections.put(a, b, speed(a, b));
  return connections;
}

double alike(std::size_t, std::size_t) {
  return 10;
}

TEST(Connected, TheSlowerWayOfAPairCounts) {
  NodeConnections connections(3);
  connections.put(0, 1, 10);
  connections.put(1, 0, 4);
  connections.put(2, 2, 1);
  connections.put(0, 2, std::numeric_limits<double>::quiet_NaN());
  connections.put(0, 2, 0);
  connections.put(0, 9, 5);
  EXPECT_EQ(connections.between(0, 1), 4);
  EXPECT_EQ(connections.between(1, 0), 4);
  EXPECT_EQ(connections.between(0, 2), std::nullopt);
  EXPECT_EQ(connections.best_of(0), 4);
  EXPECT_EQ(connections.best_of(2), std::nullopt);
  EXPECT_EQ(usual_best(connections), std::nullopt) << "two nodes have no usual";
}

TEST(Connected, ANodeThatIsSlowWithAllIsOutOfTouch) {
  const auto slow = full(6, [](std::size_t a, std::size_t b) { return a == 2 || b == 2 ? 2 : 10; });
  EXPECT_EQ(out_of_touch(slow, 1.0 / 3).slow, Nodes{2});
  EXPECT_EQ(out_of_touch(full(6, alike), 1.0 / 3).slow, Nodes{});
  const auto two = full(6, [](std::size_t a, std::size_t b) { return a % 3 == 1 || b % 3 == 1 ? 0.5 : 10; });
  EXPECT_EQ(out_of_touch(two, 1.0 / 3).slow, (Nodes{1, 4}));
}

TEST(Connected, OneSlowPairOrOneSlowReadingMakesNobodySlow) {
  const auto pair = full(4, [](std::size_t a, std::size_t b) { return a + b == 1 ? 0.1 : 10; });
  EXPECT_EQ(out_of_touch(pair, 1.0 / 3).slow, Nodes{});
}

// Without the links to a node that went, the one whose link to it was slowest is no slower than its like.
TEST(Connected, LinksToANodeThatWentCountNoMore) {
  const auto links = full(5, [](std::size_t a, std::size_t b) {
    if (a == 3 || b == 3) return a == 2 || b == 2 ? 0.0001 : 0.1;
    return a == 0 || b == 0 ? 5.0 : 10.0;
  });
  EXPECT_EQ(well_connected(links, all_of(5), {}, 4, 0), (Nodes{0, 1, 2, 4}));
  EXPECT_EQ(well_connected(links, all_of(5), {}, 3, 0), (Nodes{1, 2, 4}));
}

TEST(Connected, WhoWasNotMeasuredIsNotSlow) {
  NodeConnections connections(4);
  connections.put(0, 1, 10);
  connections.put(1, 2, 10);
  EXPECT_EQ(out_of_touch(connections, 1.0 / 3).slow, Nodes{});
}

TEST(Connected, OfTwoThatHadEachOtherAloneEitherMayBeSlow) {
  NodeConnections one_round(6);
  one_round.put(0, 2, 0.1);
  one_round.put(1, 4, 10);
  one_round.put(3, 5, 10);
  const auto found = out_of_touch(one_round, 1.0 / 3);
  EXPECT_EQ(found.slow, Nodes{});
  EXPECT_EQ(found.unclear, (Nodes{0, 2}));
  one_round.put(0, 5, 10);
  const auto known = out_of_touch(one_round, 1.0 / 3);
  EXPECT_EQ(known.slow, Nodes{2});
  EXPECT_EQ(known.unclear, Nodes{});
  EXPECT_EQ(out_of_touch(NodeConnections(6), 1.0 / 3).unclear, Nodes{});
}

TEST(WellConnected, OfEqualOnesTheFirst) {
  EXPECT_EQ(well_connected(full(5, alike), all_of(5), {}, 3), (Nodes{0, 1, 2}));
  EXPECT_EQ(well_connected(NodeConnections(5), all_of(5), {}, 3), (Nodes{0, 1, 2})) << "nothing was measured";
  const auto noisy = full(5, [](std::size_t a, std::size_t b) { return a == 0 || b == 0 ? 9.8 : 10; });
  EXPECT_EQ(well_connected(noisy, all_of(5), {}, 3), (Nodes{0, 1, 2})) << "noise scatters nothing";
}

TEST(WellConnected, TheSlowestGoes) {
  const auto slow = full(6, [](std::size_t a, std::size_t b) { return a == 1 || b == 1 ? 5 : 10; });
  EXPECT_EQ(well_connected(slow, all_of(6), {}, 5), (Nodes{0, 2, 3, 4, 5}));
  EXPECT_EQ(well_connected(slow, all_of(6), {}, 6), all_of(6)) << "there is no other choice";
}

TEST(WellConnected, AGroupStaysTogether) {
  // 0, 2, 4, 6, 7 are below one switch, the others below another; half the speed between them.
  const auto is_first = [](std::size_t node) { return node % 2 == 0 || node == 7; };
  const auto groups = full(8, [&](std::size_t a, std::size_t b) { return is_first(a) == is_first(b) ? 10.0 : 5.0; });
  EXPECT_EQ(well_connected(groups, all_of(8), {}, 5), (Nodes{0, 2, 4, 6, 7}));
}

TEST(WellConnected, OnlyThoseAskedFor) {
  const Nodes good{1, 3, 4};
  const auto slow = full(5, [](std::size_t a, std::size_t b) { return a == 3 || b == 3 ? 5 : 10; });
  EXPECT_EQ(well_connected(slow, good, {}, 2), (Nodes{1, 4}));
  EXPECT_EQ(well_connected(slow, good, {}, 4), good) << "there are no more";
  EXPECT_EQ(well_connected(slow, Nodes{}, {}, 1), Nodes{});
}

TEST(WellConnected, PairsThatMustNotMeet) {
  const std::vector<NodePair> star{{0, 1}, {0, 2}, {3, 0}};
  EXPECT_EQ(well_connected(full(4, alike), all_of(4), star, 3), (Nodes{1, 2, 3})) << "who is in all of them goes";
  const std::vector<NodePair> one{{0, 3}};
  EXPECT_EQ(well_connected(full(4, alike), all_of(4), one, 4), (Nodes{0, 1, 2}));
  const auto slower = full(4, [](std::size_t a, std::size_t b) { return a == 0 || b == 0 ? 8 : 10; });
  EXPECT_EQ(well_connected(slower, all_of(4), one, 3), (Nodes{1, 2, 3})) << "the slower of the two";
  const std::vector<NodePair> stranger{{1, 9}};
  EXPECT_EQ(well_connected(full(3, alike), all_of(3), stranger, 3), all_of(3));
}

TEST(WellConnected, FewReadingsAreEnough) {
  // A ring: whoever loses both neighbours is not worse for it.
  NodeConnections ring(6);
  for (std::size_t i = 0; i < 6; ++i) ring.put(i, (i + 1) % 6, i == 4 ? 3 : 10);
  const auto chosen = well_connected(ring, all_of(6), {}, 3);
  EXPECT_EQ(chosen, (Nodes{0, 1, 2}));
  EXPECT_EQ(chosen, well_connected(ring, all_of(6), {}, 3));
}

TEST(WellConnected, AThousandNodesAreChosenAtOnce) {
  const auto many = full(1000, [](std::size_t a, std::size_t b) { return a % 10 == 3 || b % 10 == 3 ? 5 : 10; });
  const auto chosen = well_connected(many, all_of(1000), {}, 900);
  ASSERT_EQ(chosen.size(), 900U);
  for (const std::size_t node : chosen) EXPECT_NE(node % 10, 3U);
}

}  // namespace
}  // namespace muster
