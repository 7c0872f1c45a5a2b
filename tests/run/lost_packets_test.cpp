// Links that lose packets, by what the kernel sent again.
#include "run/lost_packets.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace muster {
namespace {

/// Node `own` (1, 2, ...) with connections to the others: segments sent again, of 100 each.
NodeLosses node(int own, const std::vector<std::uint64_t>& resent) {
  NodeLosses losses{"n" + std::to_string(own), {}};
  for (int peer = 1; peer <= static_cast<int>(resent.size()); ++peer)
    if (peer != own)
      losses.paths.push_back({"10.0.0." + std::to_string(own), "10.0.0." + std::to_string(peer), 100,
                              resent[static_cast<std::size_t>(peer) - 1]});
  return losses;
}

TEST(LostPackets, TheNodeThatAllLossyConnectionsShareIsNamed) {
  const auto finding =
      explain_losses({node(1, {0, 2, 0, 0}), node(2, {30, 0, 25, 20}), node(3, {0, 16, 0, 1}), node(4, {0, 0, 0, 0})});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::fail);
  EXPECT_EQ(finding->reason,
            "connections of ranks on n2 to n1, n3 and n4 lose packets: 91 of 400 segments were sent again");
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

TEST(LostPackets, SeveralNodesAndFewSegmentsAreNoFinding) {
  EXPECT_FALSE(
      explain_losses({node(1, {0, 19, 0, 0}), node(2, {0, 0, 0, 0}), node(3, {0, 0, 0, 19}), node(4, {0, 0, 0, 0})}))
      << "a loaded network";
  EXPECT_FALSE(explain_losses({node(1, {0, 9}), node(2, {9, 0})}));
  EXPECT_FALSE(explain_losses({node(1, {0, 50})})) << "the other end is unknown";
  EXPECT_FALSE(explain_losses({}));
}

TEST(LostPackets, PathsComeBackAsTheyWere) {
  const std::vector<PathLoss> losses{{"10.0.0.1", "10.0.0.2", 7, 3}};
  EXPECT_EQ(path_losses_from_json(to_json(losses)), losses);
  for (const char* text : {"3", "[3]", "[[1,2,3,4]]", R"([["a","b",-1,3]])", R"([["a","b",1]])"})
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
            (std::vector<PathLoss>{{"10.0.0.1", "10.0.0.2", 200, 17}, {"10.0.0.1", "10.0.0.3", 100, 10}}))
      << "9 is of another process; of this node's own addresses none is lost";
  EXPECT_EQ(losses_of({connection("10.0.0.2", 7, 2)}, {"7"}).at(0).resent, 0U) << "while it was opened";
  TcpConnection answered = connection("10.0.0.2", 7, 50);
  answered.is_unanswered = false;
  EXPECT_TRUE(losses_of({answered}, {"7"}).empty()) << "nothing waits for what was lost earlier";
}

}  // namespace
}  // namespace muster
