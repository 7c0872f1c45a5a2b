// Which nodes keep a launch from starting: found in few rounds, several at once, and pairs that fail only together.
#include "run/bisection.hpp"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <set>

namespace muster {
namespace {

using Starts = std::function<bool(const Bisection::Group&)>;

/// All rounds; the number of them.
int bisect(Bisection& bisection, const Starts& starts) {
  int rounds = 0;
  for (; !bisection.round().empty(); ++rounds) {
    std::vector<bool> started;
    for (const auto& group : bisection.round()) started.push_back(starts(group));
    bisection.take(started);
  }
  return rounds;
}

Bisection::Group nodes_to(int count) {
  Bisection::Group nodes;
  for (int i = 1; i <= count; ++i) nodes.push_back("n" + std::to_string(i));
  return nodes;
}

Starts without(const std::set<std::string>& bad) {
  return [bad](const Bisection::Group& group) {
    return std::none_of(group.begin(), group.end(), [&](const std::string& node) { return bad.count(node) > 0; });
  };
}

TEST(Bisection, OneNodeOfMany) {
  for (const int count : {2, 3, 4, 5, 64, 1000}) {
    Bisection bisection(nodes_to(count));
    int most = 0;
    while ((1 << most) < count) ++most;
    EXPECT_LE(bisect(bisection, without({"n2"})), most) << count;
    EXPECT_EQ(bisection.nodes_at_fault(), Bisection::Group{"n2"});
    EXPECT_TRUE(bisection.apart().empty());
    EXPECT_FALSE(bisection.has_started_none());
  }
}

TEST(Bisection, SeveralNodesInTheSameRounds) {
  Bisection bisection(nodes_to(16));
  EXPECT_EQ(bisect(bisection, without({"n1", "n9", "n10"})), 4);
  EXPECT_EQ(bisection.nodes_at_fault(), (Bisection::Group{"n1", "n9", "n10"}));
}

TEST(Bisection, NodesThatFailOnlyTogetherAreASet) {
  Bisection bisection(nodes_to(8));
  const auto starts = [](const Bisection::Group& group) {
    const auto has = [&](const char* node) { return std::find(group.begin(), group.end(), node) != group.end(); };
    return !(has("n1") && has("n4"));
  };
  EXPECT_EQ(bisect(bisection, starts), 2);
  EXPECT_TRUE(bisection.nodes_at_fault().empty());
  EXPECT_EQ(bisection.apart(), std::vector<Bisection::Group>{nodes_to(4)});
}

TEST(Bisection, ALaunchThatStartsNowhere) {
  Bisection bisection(nodes_to(4));
  EXPECT_EQ(bisect(bisection, [](const auto&) { return false; }), 2);
  EXPECT_EQ(bisection.nodes_at_fault(), nodes_to(4));
  EXPECT_TRUE(bisection.has_started_none());
}

TEST(Bisection, ASingleNodeNeedsNoRound) {
  Bisection bisection(nodes_to(1));
  EXPECT_TRUE(bisection.round().empty());
  EXPECT_EQ(bisection.nodes_at_fault(), nodes_to(1));
}

}  // namespace
}  // namespace muster
