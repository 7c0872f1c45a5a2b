#include "run/listening_ports.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace muster {
namespace {

constexpr std::string_view table =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:A001 00000000:0000 0A 00000000:00000005 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0\n"
    "   1: 00000000:B002 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0 0 10 0\n"
    "   2: 0100007F:A001 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 333 1 0 20 4 30 10 -1\n"
    "   3: 0100007F:A001 0100007F:C002 03 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1\n"
    "   4: 0100007F:A001 0100007F:C003 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0\n"
    "   5: 0100007F:C001 0100007F:A001 01 00000000:00000000 00:00000000 00000000 65534        0 444 1 0 20 4 30 10 "
    "-1\n";

TEST(OverloadedPort, TheListeningPortWithTheMostConnections) {
  EXPECT_EQ(parse_overloaded_port(table, {"111", "222"}, 2), (OverloadedPort{0xa001, 3}));
  EXPECT_FALSE(parse_overloaded_port(table, {"111", "222"}, 3));
  const std::string twice = std::string(table) + std::string(table.substr(table.find("   2:")));
  EXPECT_FALSE(parse_overloaded_port(twice, {"111", "222"}, 3)) << "as a table that changes while it is read";
  EXPECT_FALSE(parse_overloaded_port(table, {"222", "333"}, 0)) << "of another process";
  EXPECT_FALSE(parse_overloaded_port("x\n 0: 1:zz 2 0A 3 4 5 6 7 111\n", {"111"}, 0));
}

TEST(OverloadedPort, ACallerOfAnotherUser) {
  const auto is_nobody = [](uid_t user) { return user == 65534; };
  EXPECT_EQ(parse_foreign_caller(table, {"111"}, is_nobody), (ForeignCaller{0xa001, 65534}));
  EXPECT_FALSE(parse_foreign_caller(table, {"222"}, is_nobody)) << "of another port";
  EXPECT_FALSE(parse_foreign_caller(table, {"111"}, [](uid_t) { return false; }));
  std::string elsewhere(table);  // the same number of a port, on another host
  elsewhere.replace(elsewhere.rfind("0100007F:A001"), 8, "0200A8C0");
  EXPECT_FALSE(parse_foreign_caller(elsewhere, {"111"}, is_nobody));
  EXPECT_FALSE(parse_foreign_caller("x\n 0: 1:zz 2 0A 3 4 5 6 7 111\n", {"111"}, is_nobody));
}

TEST(OverloadedPort, ADaemonNamesThePortOfItsLauncher) {
  constexpr char line[] =
      "orted\0-mca\0orte_hnp_uri\0"
      "12.0;tcp://10.78.1.1,10.78.2.1:41753\0-mca\0plm\0rsh";
  const std::string_view orted(line, sizeof line - 1);
  EXPECT_TRUE(has_any_port(orted, {41753}));
  EXPECT_TRUE(has_any_port("hydra_pmi_proxy --control-port nid001:41753", {5, 41753}));
  EXPECT_FALSE(has_any_port(orted, {4175, 1753})) << "part of a number";
  EXPECT_FALSE(has_any_port(orted, {41754})) << "of another launch";
  EXPECT_FALSE(has_any_port(orted, {}));
}

TEST(OverloadedPort, OfAProcess) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 16), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::vector<int> callers;
  for (int i = 0; i < 5; ++i) {
    callers.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(callers.back(), reinterpret_cast<sockaddr*>(&address), size), 0);
  }
  EXPECT_EQ(find_overloaded_port(::getpid(), 4), (OverloadedPort{ntohs(address.sin_port), 5}));
  EXPECT_FALSE(find_overloaded_port(::getpid(), 5));
  EXPECT_EQ(listening_ports(::getpid()).count(ntohs(address.sin_port)), 1u);
  for (const int caller : callers) ::close(caller);
  ::close(listener);
}

}  // namespace
}  // namespace muster
