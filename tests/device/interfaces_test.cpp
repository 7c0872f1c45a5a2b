#include "device/interfaces.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>
#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

#include "device/machine_tree.hpp"
#include "device/parse.hpp"

namespace muster {
namespace {

TEST(Addresses, Networks) {
  EXPECT_EQ(network_of({"10.253.7.9", 16}), "10.253.0.0/16");
  EXPECT_EQ(network_of({"10.253.7.9", 30}), "10.253.7.8/30");
  EXPECT_EQ(network_of({"10.253.7.9", 32}), "10.253.7.9/32");
  EXPECT_EQ(network_of({"2001:db8:1:2::9", 64}), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of({"10.253.7.9", 0}), "");
  EXPECT_EQ(network_of({"10.253.7.9", 33}), "");
  EXPECT_EQ(network_of({"nonsense", 16}), "");
}

TEST(Addresses, WhatNobodyElseReaches) {
  for (const char* local : {"127.0.0.1", "127.9.9.9", "169.254.1.1", "::1", "fe80::1", "febf::1"})
    EXPECT_TRUE(is_local(local)) << local;
  for (const char* global : {"10.0.0.1", "192.168.1.1", "fec0::1", "2001:db8::1", "nonsense", ""})
    EXPECT_FALSE(is_local(global)) << global;
}

constexpr std::string_view fib_trie = R"(Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.0.0.0/8 2 0 2
        |-- 10.1.0.0
           /16 link UNICAST
        |-- 10.1.0.5
           /32 host LOCAL
        |-- 10.1.255.255
           /32 link BROADCAST
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.1
           /32 host LOCAL
        |-- 192.168.7.2
           /32 host LOCAL
Local:
        |-- 10.1.0.5
           /32 host LOCAL
)";
constexpr std::string_view routes =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eth0\t00000000\t0100010A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "eth0\t0000010A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
    "ib0\t0007A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    "eth1\t0000A8C0\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";

TEST(Addresses, OfAnotherRootsProcNet) {
  const auto found = parse_addresses(fib_trie, routes);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], (ListedAddress{"eth0", {"10.1.0.5", 16}, true}));
  EXPECT_EQ(found[1], (ListedAddress{"lo", {"127.0.0.1", 8}, true}));
  EXPECT_EQ(found[2], (ListedAddress{"ib0", {"192.168.7.2", 24}, true})) << "the narrower network";
  EXPECT_TRUE(parse_addresses("", "").empty());
  EXPECT_TRUE(parse_addresses("|-- 10.1.0.5\n/32 host LOCAL", "").empty()) << "of no interface";
}

TEST(Addresses, OfVersionSix) {
  const auto found = parse_addresses6(
      "00000000000000000000000000000001 01 80 10 80       lo\n"
      "20010db8000000000000000000000005 02 40 00 80     eth0\n"
      "nonsense 02 40 00 80 eth0\n"
      "20010db80000000000000000000000zz 02 40 00 80 eth0\n"
      "20010db8000000000000000000000005 02 fff 00 80 eth0\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], (ListedAddress{"lo", {"::1", 128}, true}));
  EXPECT_EQ(found[1], (ListedAddress{"eth0", {"2001:db8::5", 64}, true}));
}

TEST(Interfaces, OfThisMachineHaveALoopback) {
  bool has_loopback = false;
  for (const Interface& one : read_interfaces("/"))
    for (const IpAddress& address : one.addresses) has_loopback |= address == IpAddress{"127.0.0.1", 8};
  EXPECT_TRUE(has_loopback);
}

TEST(Interfaces, OfATree) {
  const MadeMachine machine("nics 2 hsn; nic 1 state=down");
  const auto put = [&](const std::string& path, std::string_view text) {
    const auto file = machine.root() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  put("proc/net/fib_trie", "Main:\n |-- 10.1.0.5\n  /32 host LOCAL\n");
  put("proc/net/route", "hsn0\t0000010A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n");
  put("sys/class/net/hsn0/mtu", "9000\n");
  put("sys/class/net/hsn0/ifindex", "7\n");
  put("sys/class/net/hsn1/ifindex", "3\n");
  put("sys/class/net/lo/flags", "0x9\n");
  const auto all = read_interfaces(machine.root());
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "lo");
  EXPECT_TRUE(all[0].is_up);
  EXPECT_EQ(all[1].name, "hsn1");
  EXPECT_FALSE(all[1].is_up);
  EXPECT_EQ(all[2], (Interface{"hsn0", 7, true, "up", 9000, 1, "0000:15:00.0", {{"10.1.0.5", 16}}}));
}

TEST(Interfaces, ALineAndBack) {
  const Interface full{"hsn0", 7, true, "up", 9000, 1, "0000:15:00.0", {{"10.1.0.5", 16}, {"fd00::5", 64}}};
  EXPECT_EQ(parse_interface(to_text(full)), full);
  const Interface bare{"lo", 0, false, {}, 0, 0, {}, {}};
  EXPECT_EQ(parse_interface(to_text(bare)), bare);
  for (const char* bad : {"", " ; up yes", "lo; nonsense", "lo; mtu many", "lo; colour red"})
    EXPECT_FALSE(parse_interface(bad)) << bad;
}

TEST(Interfaces, ErrorCountersOfPorts) {
  const MadeMachine machine("nics 1; nics 1 hsn");
  const auto put = [&](const std::string& path, std::string_view text) {
    const auto file = machine.root() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  put("sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "2\n");
  put("sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "18446744073709551615\n");
  put("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_errors", "N/A (no PMA)\n");
  put("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_wait", "5\n");
  put("sys/class/net/hsn1/statistics/rx_crc_errors", "4\n");
  put("sys/class/net/lo/statistics/rx_errors", "9\n");
  const PortErrors errors = read_port_errors(machine.root());
  const PortErrors expected{{{"hsn1", "rx_crc_errors"}, 4},
                            {{"mlx5_0/1", "link_downed"}, 2},
                            {{"mlx5_0/1", "symbol_error"}, 18446744073709551615u}};
  EXPECT_EQ(errors, expected);
}

TEST(Interfaces, LanesOfALink) {
  EXPECT_EQ(parse_lanes("400 Gb/sec (4X NDR)"), 4);
  EXPECT_EQ(parse_lanes("100 Gb/sec (2X HDR)"), 2);
  EXPECT_EQ(parse_lanes("400 Gb/sec (12X QDR)"), 12);
  for (const char* none : {"", "400 Gb/sec", "400 Gb/sec (", "400 Gb/sec (X)", "400 (4 NDR)", "400 (999999X)"})
    EXPECT_EQ(parse_lanes(none), 0) << none;
}

#ifdef MUSTER_HAVE_RAPIDCHECK
TEST(Interfaces, AnyTextIsReadOrRefused) {
  EXPECT_TRUE(rc::check("what is read back is the same again", [](const std::string& text) {
    const auto one = parse_interface(text);
    if (one) RC_ASSERT(parse_interface(to_text(*one)).has_value());
  }));
}
#endif

/// In a network of its own, of a process that ends here.
[[noreturn]] void on_a_labelled_address() {
  if (::unshare(CLONE_NEWNET) != 0) std::_Exit(77);
  if (std::system("ip link set lo up && ip address add 10.1.2.3/24 dev lo label lo:second") != 0) std::_Exit(77);
  for (const ListedAddress& listed : addresses_here())
    if (listed.address.text == "10.1.2.3") std::fprintf(stderr, "it is on <%s>\n", listed.interface.c_str());
  std::_Exit(0);
}

TEST(Interfaces, ALabelOfAnAddressIsNoName) {
  const bool can_isolate = ::geteuid() == 0 && std::system("unshare --net true") == 0;
  if (!can_isolate) GTEST_SKIP() << "needs root and network namespaces";
  EXPECT_EXIT(on_a_labelled_address(), ::testing::ExitedWithCode(0), "it is on <lo>");
}

}  // namespace
}  // namespace muster
