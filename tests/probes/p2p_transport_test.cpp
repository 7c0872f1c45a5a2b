// Which way bytes took, and what lies between two ranks: read from made-up machines.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "measure/link_class.hpp"
#include "measure/own_sockets.hpp"
#include "measure/transport.hpp"
#include "run/thread_comm.hpp"

namespace muster::p2p {
namespace {

class Transport : public ::testing::Test {
 protected:
  Transport() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::temp_directory_path() / (std::string("muster-transport-") + test->name() + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~Transport() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void port(const std::string& device, const std::string& number, const std::string& state, long sent, long received) {
    const std::string folder = "sys/class/infiniband/" + device + "/ports/" + number + "/";
    write(folder + "state", state + "\n");
    write(folder + "counters/port_xmit_data", std::to_string(sent) + "\n");
    write(folder + "counters/port_rcv_data", std::to_string(received) + "\n");
  }

  fs::path root_;
};

TEST_F(Transport, CountsInterfacesInAndOut) {
  write(
      "proc/net/dev",
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
      "compressed\n"
      "    lo: 5000      10    0    0    0     0          0         0     5000      10    0    0    0     0       0    "
      " "
      "     0\n"
      "  eth0:1234567890123 20  0    0    0     0          0         0     77      10    0    0    0     0       0     "
      " "
      "    0\n");
  EXPECT_EQ(read_counters(root_), (Counters{{"lo", 10000}, {"eth0", 1234567890200}}));
}

TEST_F(Transport, CountsPortsInUnitsOfFourBytes) {
  port("mlx5_0", "1", "4: ACTIVE", 1000, 2000);
  EXPECT_EQ(read_counters(root_), (Counters{{"mlx5_0/1", 12000}}));
}

TEST_F(Transport, AMachineWithoutCountersHasNoTraffic) {
  EXPECT_TRUE(read_counters(root_).empty());
  write("proc/net/dev", "eth0: what is this\n");
  EXPECT_EQ(read_counters(root_), (Counters{{"eth0", 0}}));
}

TEST_F(Transport, FastPortsAreActivePortsAndSlingshot) {
  port("mlx5_0", "1", "4: ACTIVE", 0, 0);
  port("mlx5_1", "1", "1: DOWN", 0, 0);
  EXPECT_EQ(fast_ports(root_), std::vector<std::string>{"mlx5_0/1"});
  fs::create_directories(root_ / "sys/class/cxi/cxi0");
  EXPECT_EQ(fast_ports(root_), (std::vector<std::string>{"mlx5_0/1", "cxi0"}));
}

TEST_F(Transport, NothingThereIsNoFastPort) {
  EXPECT_TRUE(fast_ports(root_).empty());
}

TEST(Carrier, BetweenNodesIsWhatMovedTheBytes) {
  const Traffic before{{{"eth0", 1000}, {"mlx5_0/1", 50}}, {}};
  EXPECT_EQ(carrier_of(LinkClass::network, before, {{{"eth0", 2000}, {"mlx5_0/1", 60}}, {}}, 1000), "eth0");
  EXPECT_EQ(carrier_of(LinkClass::network, before, {{{"eth0", 1100}, {"mlx5_0/1", 1060}}, {}}, 1000), "mlx5_0/1");
  EXPECT_EQ(carrier_of(LinkClass::network, before, {{{"eth0", 1899}, {"mlx5_0/1", 50}}, {}}, 1000), "unknown");
  EXPECT_EQ(carrier_of(LinkClass::network, before, before, 1000), "unknown") << "nodes share no memory";
}

TEST(Carrier, WithinANodeIsLoOrMemory) {
  const Traffic before{{{"lo", 0}, {"eth0", 0}}, {}};
  EXPECT_EQ(carrier_of(LinkClass::cache, before, {{{"lo", 2000}, {"eth0", 0}}, {}}, 1000), "lo") << "out and in again";
  EXPECT_EQ(carrier_of(LinkClass::node, before, {{{"lo", 100}, {"eth0", 0}}, {}}, 1000), "memory");
  EXPECT_EQ(carrier_of(LinkClass::numa, before, {{{"lo", 1000}, {"eth0", 0}}, {}}, 1000), "unknown");
  EXPECT_EQ(carrier_of(LinkClass::cache, before, {{{"lo", 0}, {"eth0", 5000}}, {}}, 1000), "memory")
      << "what eth0 carries is somebody else's";
}

TEST(Carrier, TrafficOfOtherProcessesIsNotTheRanks) {
  const Traffic before{{{"lo", 0}, {"eth0", 0}, {"mlx5_0/1", 0}}, 500};
  const Counters busy{{"lo", 9000}, {"eth0", 9000}, {"mlx5_0/1", 0}};
  EXPECT_EQ(carrier_of(LinkClass::cache, before, {busy, 500}, 1000), "memory") << "lo is busy with others";
  EXPECT_EQ(carrier_of(LinkClass::cache, before, {busy, 1000}, 1000), "unknown") << "half of them";
  EXPECT_EQ(carrier_of(LinkClass::cache, before, {busy, 1500}, 1000), "lo");
  EXPECT_EQ(carrier_of(LinkClass::network, before, {busy, 500}, 1000), "unknown");
  EXPECT_EQ(carrier_of(LinkClass::network, before, {busy, 1500}, 1000), "eth0");
  EXPECT_EQ(carrier_of(LinkClass::network, before, {{{"lo", 0}, {"mlx5_0/1", 1000}}, 500}, 1000), "mlx5_0/1")
      << "a fabric has no sockets";
}

TEST(Carrier, OfNothingIsNotProven) {
  EXPECT_EQ(carrier_of(LinkClass::network, {}, {{{"eth0", 10}}, {}}, 0), "unknown");
}

/// Both ends of one TCP connection over lo.
class TcpPair {
 public:
  TcpPair() {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener, generic, size), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    EXPECT_EQ(::getsockname(listener, generic, &size), 0);
    sender_ = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(sender_, generic, size), 0);
    receiver_ = ::accept(listener, nullptr, nullptr);
    ::close(listener);
  }
  ~TcpPair() {
    ::close(sender_);
    ::close(receiver_);
  }
  TcpPair(const TcpPair&) = delete;
  TcpPair& operator=(const TcpPair&) = delete;

  void move(std::size_t bytes) const {
    std::vector<char> block(bytes);
    ASSERT_EQ(::send(sender_, block.data(), bytes, 0), static_cast<ssize_t>(bytes));
    ASSERT_EQ(::recv(receiver_, block.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
  }

 private:
  int sender_ = -1;
  int receiver_ = -1;
};

TEST(OwnSockets, CountWhatThisProcessSentAndReceived) {
  const TcpPair pair;
  const auto before = own_socket_bytes();
  ASSERT_TRUE(before);
  pair.move(64 * 1024);
  // The acknowledgement of the last segment may be on its way.
  EXPECT_GE(*own_socket_bytes() - *before, 64 * 1024);
  EXPECT_LE(*own_socket_bytes() - *before, 2 * 64 * 1024);
}

TEST(OwnSockets, OtherProcessesAreNotCounted) {
  const auto before = own_socket_bytes();
  ASSERT_TRUE(before);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    TcpPair().move(64 * 1024);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(*own_socket_bytes(), *before);
}

TEST(Carriers, AddUpByClass) {
  Carriers carriers;
  carriers.add(LinkClass::cache, "memory", 2e9);
  carriers.add(LinkClass::cache, "memory", 1e9);
  carriers.add(LinkClass::network, "eth0", 5e8);
  const auto facts = carriers.facts();
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0], (Fact{"transport", "cache memory 3 GB"}));
  EXPECT_EQ(facts[1], (Fact{"transport", "network eth0 0.5 GB"}));
}

// --- what lies between ---

CpuMask cpus(const char* list) {
  return *CpuMask::parse_list(list);
}

/// Two sockets of four cores with one cache for each two, one NUMA domain for each socket.
Topology two_sockets(const char* allowed) {
  Topology topology;
  topology.allowed = cpus(allowed);
  topology.cache_masks = {cpus("0-1"), cpus("2-3"), cpus("4-5"), cpus("6-7")};
  topology.numa_masks = {cpus("0-3"), cpus("4-7")};
  return topology;
}

Spot spot(int node, const char* allowed) {
  RankPlace place;
  place.node_index = node;
  return spot_here(place, two_sockets(allowed));
}

TEST(LinkClass, IsTheSmallestThingThatBothStayIn) {
  EXPECT_EQ(class_of(spot(0, "0"), spot(0, "1")), LinkClass::cache);
  EXPECT_EQ(class_of(spot(0, "0"), spot(0, "2")), LinkClass::numa);
  EXPECT_EQ(class_of(spot(0, "0"), spot(0, "5")), LinkClass::node);
  EXPECT_EQ(class_of(spot(0, "0"), spot(1, "0")), LinkClass::network);
}

TEST(LinkClass, ARankThatMayWanderStaysInNothingSmall) {
  EXPECT_EQ(class_of(spot(0, "0-3"), spot(0, "0")), LinkClass::numa) << "over two caches";
  EXPECT_EQ(class_of(spot(0, "0-7"), spot(0, "0-7")), LinkClass::node);
}

TEST(Spots, AreToldToAll) {
  std::vector<Spot> mine{spot(0, "0-1"), spot(0, "4"), spot(1, "0,2,7")};
  mine[1].pid = 4711;
  mine[2].kernel = ~0ULL;
  std::vector<std::vector<Spot>> reported(3);
  run_ranks(3, [&](ThreadComm& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    if (auto all = exchange_spots(comm, mine[rank])) reported[rank] = *all;
  });
  for (const auto& all : reported) EXPECT_EQ(all, mine);
}

TEST(OwnTime, IsThatOfAllWhoShareCpus) {
  std::vector<Spot> spots{spot(0, "0"), spot(0, "1")};
  const auto before = OwnCpuTime(spots, 0).seconds();
  ASSERT_TRUE(before);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
  while (std::chrono::steady_clock::now() < end) continue;
  EXPECT_GT(*OwnCpuTime(spots, 0).seconds(), *before);
  spots[1].pid = 0x7ffffffe;
  EXPECT_TRUE(OwnCpuTime(spots, 0).seconds()) << "the other one has other CPUs";
  spots[1].mask = spots[0].mask;
  EXPECT_FALSE(OwnCpuTime(spots, 0).seconds()) << "nobody can say what the other one used";
}

TEST(OwnTime, CountsWhoRunsUnderTheSameKernelInAnotherContainer) {
  std::vector<Spot> spots{spot(0, "0"), spot(1, "0")};
  spots[1].pid = 0x7ffffffe;
  EXPECT_FALSE(OwnCpuTime(spots, 0).seconds()) << "same boot";
  spots[1].kernel = spots[0].kernel + 1;
  EXPECT_TRUE(OwnCpuTime(spots, 0).seconds()) << "another machine";
}

TEST(OwnTime, ANumberOfAnotherProcessSpaceIsNobodyHere) {
  std::vector<Spot> spots{spot(0, "0"), spot(0, "0")};
  ASSERT_TRUE(OwnCpuTime(spots, 0).seconds());
  spots[1].pid_space = spots[0].pid_space + 1;
  EXPECT_FALSE(OwnCpuTime(spots, 0).seconds());
}

}  // namespace
}  // namespace muster::p2p
