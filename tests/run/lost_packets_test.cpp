// Links that lose packets, by what the kernel sent again.
#include "run/lost_packets.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace muster {
namespace {

/// Node `own` (1, 2, ...) with connections to the others: segments sent again, of 100 each.
NodeLosses node(int own, const std::vector<std::uint64_t>& resent) {
  NodeLosses losses{"n" + std::to_string(own), {}, {}};
  for (int peer = 1; peer <= static_cast<int>(resent.size()); ++peer)
    if (peer != own)
      losses.paths.push_back({"10.0.0." + std::to_string(own), "10.0.0." + std::to_string(peer), 100,
                              resent[static_cast<std::size_t>(peer) - 1],
                              resent[static_cast<std::size_t>(peer) - 1] > 0});
  return losses;
}

TEST(LostPackets, TheNodeThatAllLossyConnectionsShareIsNamed) {
  const auto finding =
      explain_losses({node(1, {0, 2, 0, 0}), node(2, {30, 0, 25, 20}), node(3, {0, 16, 0, 1}), node(4, {0, 0, 0, 0})});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::fail);
  EXPECT_EQ(finding->reason, "connections of n2 to n1, n3 and n4 lose packets: 93 of 600 segments were sent again");
  EXPECT_EQ(finding->culprits, (std::vector<Culprit>{{CulpritKind::node, "n2", "n2", -1},
                                                     {CulpritKind::link, "n1 <-> n2", "", -1},
                                                     {CulpritKind::link, "n2 <-> n3", "", -1},
                                                     {CulpritKind::link, "n2 <-> n4", "", -1}}))
      << "no node is drained for what other users' traffic may do";
}

TEST(LostPackets, OfOnePairTheLinkIsNamed) {
  const auto finding = explain_losses({node(1, {0, 19, 0}), node(2, {0, 0, 0}), node(3, {0, 0, 0})});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->culprits, (std::vector<Culprit>{{CulpritKind::link, "n1 <-> n2", "", -1}}));
}

TEST(LostPackets, AFewOnEachConnectionOfOneNodeNameIt) {
  const auto finding =
      explain_losses({node(1, {0, 4, 0, 0}), node(2, {8, 0, 6, 5}), node(3, {0, 7, 0, 0}), node(4, {0, 3, 1, 0})});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->reason, "connections of n2 to n1, n3 and n4 lose packets: 33 of 600 segments were sent again");
  EXPECT_EQ(finding->culprits.front(), (Culprit{CulpritKind::node, "n2", "n2", -1}));
}

TEST(LostPackets, ALinkWithMostIsNotItsNodes) {
  const auto beside_others = explain_losses({node(1, {0, 16, 2}), node(2, {16, 0, 0}), node(3, {1, 0, 0})});
  ASSERT_TRUE(beside_others);
  EXPECT_EQ(beside_others->culprits, (std::vector<Culprit>{{CulpritKind::link, "n1 <-> n2", "", -1}}));
  const auto finding = explain_losses({node(1, {0, 30, 1}), node(2, {30, 0, 1}), node(3, {0, 0, 0})});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->culprits, (std::vector<Culprit>{{CulpritKind::link, "n1 <-> n2", "", -1}}));
}

TEST(LostPackets, SeveralNodesAndFewSegmentsAreNoFinding) {
  EXPECT_FALSE(
      explain_losses({node(1, {0, 19, 0, 0}), node(2, {0, 0, 0, 0}), node(3, {0, 0, 0, 19}), node(4, {0, 0, 0, 0})}))
      << "a loaded network";
  EXPECT_FALSE(explain_losses({node(1, {0, 3}), node(2, {4, 0})})) << "seven of 200";
  EXPECT_FALSE(explain_losses({node(1, {0, 4, 4}), node(2, {4, 0, 4}), node(3, {4, 4, 0})})) << "all alike";
  EXPECT_FALSE(explain_losses({node(1, {0, 50})})) << "the other end is unknown";
  EXPECT_FALSE(explain_losses({}));
}

TEST(LostPackets, ANodeIsNamedByItsConnectionsToTheLaunchersHost) {
  const auto to_launcher = [](int own, std::uint64_t sent, std::uint64_t resent) {
    const std::string number = std::to_string(own);
    return NodeLosses{"n" + number, {}, {{"10.0.0." + number, "10.0.0.254", sent, resent, resent > 0}}};
  };
  const auto finding = explain_losses({to_launcher(1, 7, 4), to_launcher(2, 6, 0), to_launcher(3, 6, 0)});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->reason, "connections of n1 to 10.0.0.254 lose packets: 4 of 7 segments were sent again");
  EXPECT_EQ(finding->culprits.front(), (Culprit{CulpritKind::node, "n1", "n1", -1}));
  EXPECT_FALSE(explain_losses({to_launcher(1, 7, 4), to_launcher(2, 6, 0)})) << "that host, the node, or the link";
  EXPECT_FALSE(explain_losses({to_launcher(1, 7, 4), to_launcher(2, 7, 4), to_launcher(3, 7, 4)})) << "that host";
  EXPECT_FALSE(explain_losses({to_launcher(1, 7, 3), to_launcher(2, 6, 0), to_launcher(3, 6, 0)}));
}

TEST(LostPackets, AFewSupportAFindingAboutTheirNode) {
  const auto to_launcher = [](int own, std::uint64_t resent) {
    const std::string number = std::to_string(own);
    return NodeLosses{"n" + number, {}, {{"10.0.0." + number, "10.0.0.254", 13, resent, false}}};
  };
  const std::vector<NodeLosses> nodes{to_launcher(1, 0), to_launcher(2, 4), to_launcher(3, 0)};
  EXPECT_EQ(loss_words(nodes, "n2"), "4 of 13 segments were sent again");
  EXPECT_EQ(loss_words(nodes, "n1"), "");
  EXPECT_EQ(loss_words({to_launcher(1, 0), to_launcher(2, 2)}, "n2"), "");
  EXPECT_EQ(loss_words({to_launcher(1, 2), to_launcher(2, 4)}, "n2"), "") << "others as well";
  EXPECT_EQ(loss_words({}, "n2"), "");
}

TEST(LostPackets, WhatWasSentBeforeTheLossDoesNotHideIt) {
  NodeLosses lossy = node(2, {4, 0, 5, 11});
  for (PathLoss& path : lossy.paths) path.sent = 400;
  EXPECT_TRUE(explain_losses({node(1, {0, 14, 0, 0}), lossy, node(3, {0, 0, 0, 0}), node(4, {0, 0, 0, 0})}));
}

TEST(LostPackets, TheCentreOfAStarIsNotNamedForAll) {
  NodeLosses centre = node(1, {0, 9, 9});
  EXPECT_FALSE(explain_losses({centre, {"n2", {}, {{"10.0.0.2", "10.0.0.1", 100, 9, true}}}, {"n3", {"10.0.0.3"}, {}}}))
      << "nothing shows that others would not lose some";
  EXPECT_TRUE(explain_losses({centre, node(2, {9, 0, 0}), node(3, {9, 0, 0})}));
}

TEST(LostPackets, AnAddressWithoutConnectionsIsItsNodes) {
  const auto finding = explain_losses({node(1, {0, 19}), {"n2", {"10.0.0.2"}, {}}});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->culprits, (std::vector<Culprit>{{CulpritKind::link, "n1 <-> n2", "", -1}}));
}

TEST(LostPackets, WhereNothingWaitsNothingIsLost) {
  NodeLosses one = node(1, {0, 19});
  EXPECT_TRUE(explain_losses({one, node(2, {0, 0})}));
  one.paths.front().is_waiting = false;
  EXPECT_FALSE(explain_losses({one, node(2, {0, 0})}));
}

TEST(LostPackets, PathsComeBackAsTheyWere) {
  const std::vector<PathLoss> losses{{"10.0.0.1", "10.0.0.2", 7, 3, true}, {"10.0.0.2", "10.0.0.1", 7, 0, false}};
  EXPECT_EQ(path_losses_from_json(to_json(losses)), losses);
  for (const char* text :
       {"3", "[3]", "[[1,2,3,4,true]]", R"([["a","b",-1,3,true]])", R"([["a","b",1]])", R"([["a","b",1,0,2]])"})
    EXPECT_ANY_THROW((void)path_losses_from_json(nlohmann::json::parse(text))) << text;
}

TEST(LostPackets, ConnectionsOfALaunchAreSummedByAddresses) {
  const auto connection = [](const char* remote, std::uint64_t inode, std::uint64_t resent) {
    TcpConnection one;
    one.local = {"10.0.0.1", 4000};
    one.remote = {remote, 4001};
    one.inode = inode;
    one.sent = 100;
    one.resent = resent;
    one.is_unanswered = true;
    return one;
  };
  EXPECT_EQ(losses_of({connection("10.0.0.2", 7, 11), connection("10.0.0.2", 8, 12), connection("10.0.0.3", 8, 13),
                       connection("10.0.0.2", 9, 14), connection("10.0.0.1", 8, 15)},
                      {"7", "8"}),
            (std::vector<PathLoss>{{"10.0.0.1", "10.0.0.2", 200, 23, true}, {"10.0.0.1", "10.0.0.3", 100, 13, true}}))
      << "9 is of another process; of this node's own addresses none is lost";
  std::vector<TcpConnection> many;
  for (int i = 0; i < 600; ++i) many.push_back(connection(fmt::format("10.1.0.{}", i).c_str(), 7, i % 2));
  const auto most = losses_of(many, {"7"});
  ASSERT_EQ(most.size(), 513U);
  EXPECT_EQ(most.front().resent, 1U);
  EXPECT_EQ(most.back(), (PathLoss{"10.0.0.1", "others", 8800, 0, false}));
  EXPECT_EQ(path_losses_from_json(to_json(most)), most);
  TcpConnection answered = connection("10.0.0.2", 7, 50);
  answered.is_unanswered = false;
  EXPECT_EQ(losses_of({answered}, {"7"}), (std::vector<PathLoss>{{"10.0.0.1", "10.0.0.2", 100, 50, false}}))
      << "nothing waits for what was lost earlier";
}

}  // namespace
}  // namespace muster
