#include "run/incomplete_handshakes.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

namespace muster {
namespace {

bool is_65534(unsigned user) {
  return user == 65534;
}

/// Port 4000 of the launch's process, which owns socket 77, on 10.0.0.1.
TcpConnection an_incomplete_handshake(std::string from, std::uint64_t inode = 77) {
  return {{"10.0.0.1", 4000}, {std::move(from), 51000}, 0, inode, 0, 15, 1, 0};
}

IncompleteHandshakes found_in(const TcpConnection& connection) {
  return find_incomplete_handshakes({connection}, {"10.0.0.1", "fd00::1"}, {"77"}, {4000}, is_65534);
}

TEST(IncompleteHandshakes, AreReadAndNotAnswered) {
  EXPECT_EQ(found_in(an_incomplete_handshake("10.0.0.9")).received,
            (std::vector<IncompleteHandshake>{{{"10.0.0.9", 51000}, {"10.0.0.1", 4000}, 0}}));
  for (const char* own : {"10.0.0.1", "fd00::1", "127.0.0.1", "::1"})
    EXPECT_TRUE(found_in(an_incomplete_handshake(own)).received.empty()) << own;
  EXPECT_TRUE(found_in(an_incomplete_handshake("10.0.0.9", 78)).received.empty()) << "of another process";
  TcpConnection one = an_incomplete_handshake("10.0.0.9");
  one.unread = 15;
  EXPECT_TRUE(found_in(one).received.empty()) << "not read yet";
  one = an_incomplete_handshake("10.0.0.9");
  one.segments_out = 1;
  EXPECT_TRUE(found_in(one).received.empty()) << "answered";
  one = an_incomplete_handshake("10.0.0.9");
  one.received = 0;
  EXPECT_TRUE(found_in(one).received.empty()) << "idle";
  one = an_incomplete_handshake("10.0.0.9");
  one.local.port = 51000;
  EXPECT_TRUE(found_in(one).received.empty()) << "a call of its own";
}

TEST(IncompleteHandshakes, ThoseThatOtherUsersSent) {
  const TcpConnection sent{{"10.0.0.1", 51000}, {"10.0.0.2", 4000}, 65534, 5, 0, 0, 0, 1};
  EXPECT_EQ(found_in(sent).sent, (std::vector<IncompleteHandshake>{{{"10.0.0.1", 51000}, {"10.0.0.2", 4000}, 65534}}));
  TcpConnection other = sent;
  other.user = 0;
  EXPECT_TRUE(found_in(other).sent.empty()) << "root's";
  other = sent;
  other.segments_in = 1;
  EXPECT_TRUE(found_in(other).sent.empty()) << "answered";
}

TEST(IncompleteHandshakes, ACallerFromAnotherHost) {
  const IncompleteHandshake handshake{{"10.0.0.9", 51000}, {"10.0.0.1", 4000}, 0};
  const IncompleteHandshakes of_driver{{"10.0.0.1"}, {handshake}, {}};
  EXPECT_EQ(find_far_caller({{"", of_driver}, {"n2", {{"10.0.0.2"}, {}, {}}}}, true),
            (FarCaller{"10.0.0.9", "", 0, "", 4000}));
  EXPECT_FALSE(find_far_caller({{"", of_driver}, {"n2", {{"10.0.0.2"}, {}, {}}}}, false))
      << "it may be the address of a node that did not answer";
  EXPECT_FALSE(find_far_caller({{"", of_driver}, {"n9", {{"10.0.0.9"}, {}, {}}}}, true)) << "a node of the launch";
  IncompleteHandshakes sender{{"10.0.0.9"}, {}, {handshake}};
  sender.sent[0].user = 65534;
  EXPECT_EQ(find_far_caller({{"", of_driver}, {"n9", sender}}, true), (FarCaller{"10.0.0.9", "n9", 65534, "", 4000}));
  sender.sent[0].from.port = 51001;
  EXPECT_FALSE(find_far_caller({{"", of_driver}, {"n9", sender}}, true)) << "another connection";
  EXPECT_EQ(find_far_caller({{"", {{"10.0.0.3"}, {}, {}}}, {"n1", of_driver}}, true),
            (FarCaller{"10.0.0.9", "", 0, "n1", 4000}));
}

TEST(IncompleteHandshakes, AUserHidesNoneBehindManyOthers) {
  std::vector<TcpConnection> connections;
  for (int port = 1; port <= 6000; ++port) {
    TcpConnection one;
    one.local = {"10.0.0.9", port};
    one.remote = {"10.0.0.7", 514};
    one.user = 65534;
    one.segments_out = 1;
    connections.push_back(one);
  }
  connections.back().remote = {"10.0.0.1", 4000};
  const IncompleteHandshakes sender =
      find_incomplete_handshakes(connections, {"10.0.0.9"}, {}, {}, [](unsigned) { return true; });
  EXPECT_EQ(sender.sent.size(), 4096U);
  EXPECT_EQ(sender.one_of_too_many, 65534U);
  const IncompleteHandshakes of_driver{{"10.0.0.1"}, {{{"10.0.0.9", 6000}, {"10.0.0.1", 4000}, 0}}, {}};
  EXPECT_EQ(find_far_caller({{"", of_driver}, {"n9", sender}}, true), (FarCaller{"10.0.0.9", "n9", 65534, "", 4000}));
  EXPECT_EQ(incomplete_handshakes_from_json(nlohmann::json::parse(to_json(sender).dump())), sender);
}

TEST(IncompleteHandshakes, JsonRoundTrip) {
  const IncompleteHandshakes all{{"10.0.0.1", "fd00::1"},
                                 {{{"10.0.0.9", 51000}, {"10.0.0.1", 4000}, 0}},
                                 {{{"fd00::1", 51000}, {"fd00::2", 65535}, 65534}}};
  const nlohmann::json object = to_json(all);
  EXPECT_EQ(incomplete_handshakes_from_json(nlohmann::json::parse(object.dump())), all);
  for (const nlohmann::json& wrong : {nlohmann::json(), nlohmann::json(-1), nlohmann::json(5e9), nlohmann::json(1.5),
                                      nlohmann::json::array(), nlohmann::json("x")})
    for (const std::size_t at : {1, 3, 4}) {
      nlohmann::json bad = object;
      bad["sent"][0][at] = wrong;
      EXPECT_ANY_THROW((void)incomplete_handshakes_from_json(bad)) << wrong;
    }
  EXPECT_ANY_THROW((void)incomplete_handshakes_from_json({}));
}

TEST(IncompleteHandshakes, DamagedAnswersOfTheKernelAreLeftOut) {
  std::vector<TcpConnection> found;
  EXPECT_TRUE(parse_connections({}, found));
  for (std::size_t size = 1; size < 200; ++size)
    for (const unsigned char fill : {0x00, 0x02, 0x10, 0x14, 0xff})
      (void)parse_connections(std::vector<std::byte>(size, std::byte{fill}), found);
  EXPECT_TRUE(found.empty());
}

TEST(IncompleteHandshakes, TheKernelCountsWhatEachSideSent) {
  for (const int family : {AF_INET, AF_INET6}) {
    const int listener = ::socket(family, SOCK_STREAM, 0);
    sockaddr_in6 address{};
    address.sin6_family = static_cast<sa_family_t>(family);
    socklen_t size = sizeof address;
    if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0) GTEST_SKIP() << "no such network";
    ASSERT_EQ(::listen(listener, 4), 0);
    ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    const int caller = ::socket(family, SOCK_STREAM, 0);
    ASSERT_EQ(::connect(caller, reinterpret_cast<sockaddr*>(&address), size), 0);
    const int accepted = ::accept(listener, nullptr, nullptr);
    ASSERT_EQ(::send(caller, "half", 4, 0), 4);
    char text[8];
    ASSERT_EQ(::recv(accepted, text, sizeof text, 0), 4);
    const auto all = tcp_connections();
    if (all.empty()) GTEST_SKIP() << "the kernel does not list connections";
    const auto found = std::find_if(all.begin(), all.end(), [&](const TcpConnection& one) {
      return one.local.port == ntohs(address.sin6_port) && one.inode != 0;
    });
    ASSERT_NE(found, all.end());
    EXPECT_EQ(found->local.host, family == AF_INET ? "127.0.0.1" : "::1");
    EXPECT_EQ(std::tuple(found->received, found->unread, found->segments_out, found->user),
              std::tuple(4U, 0U, 0U, ::getuid()));
    for (const int one : {accepted, caller, listener}) ::close(one);
  }
}

}  // namespace
}  // namespace muster
