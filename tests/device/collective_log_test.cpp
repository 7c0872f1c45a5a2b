// Reading what NCCL and RCCL say of their connections, and their versions.
#include "device/collective_log.hpp"

#include <gtest/gtest.h>

#include "device/collective_table.hpp"

namespace muster {
namespace {

using Ways = std::map<std::string, int>;
using Between = std::set<Connection>;

TEST(CollectiveLog, ChannelsWithinANodeAndBeyond) {
  const Connections seen = read_connections(
      "n1:100:120 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB; OOB ib0:10.0.0.1<0>\n"
      "n1:100:120 [0] NCCL INFO Using network IB\n"
      "n1:100:120 [0] NCCL INFO Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
      "n1:100:120 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
      "n1:100:120 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "n1:100:120 [0] NCCL INFO Channel 02 : 0[c1000] -> 2[c9000] via SHM/direct/direct\n"
      "n1:100:120 [0] NCCL INFO Connected all rings\n");
  EXPECT_EQ(seen.ways, (Ways{{"NET/IB/GDRDMA", 1}, {"P2P/CUMEM", 2}, {"SHM", 1}}));
  EXPECT_EQ(seen.between, (Between{{0, 1, "P2P/CUMEM"}, {0, 2, "SHM"}, {15, 0, "NET/IB/GDRDMA"}}));
  EXPECT_EQ(seen.network, "IB");
  EXPECT_EQ(describe(seen), "1 NET/IB/GDRDMA, 2 P2P/CUMEM, 1 SHM (network IB)");
}

TEST(CollectiveLog, LibfabricNamesItsProvider) {
  const Connections seen = read_connections(
      "nid1:9:9 [3] NCCL INFO NET/OFI Selected Provider is cxi (found 4 nics)\n"
      "nid1:9:9 [3] NCCL INFO Using network AWS Libfabric\n"
      "nid1:9:9 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[0] [send] via NET/AWS Libfabric/0/GDRDMA comm 0x55 nRanks 08\n"
      "nid1:9:9 [3] NCCL INFO Channel 00/0 : 2[2] -> 3[3] via P2P/IPC comm 0x55 nRanks 08\n");
  EXPECT_EQ(seen.ways, (Ways{{"NET/AWS Libfabric/GDRDMA", 1}, {"P2P/IPC", 1}}));
  EXPECT_EQ(describe(seen), "1 NET/AWS Libfabric/GDRDMA, 1 P2P/IPC (network AWS Libfabric, provider cxi)");
}

TEST(CollectiveLog, ThePluginAndItsVersion) {
  const auto seen = read_connections(
      "nid1:9:9 [3] NCCL INFO NET/OFI Using aws-ofi-rccl 1.4.0\n"
      "nid1:9:9 [3] NCCL INFO Using network AWS Libfabric\n"
      "nid1:9:9 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[0] [send] via NET/AWS Libfabric/0\n");
  EXPECT_EQ(seen.plugin, "aws-ofi-rccl 1.4.0");
  EXPECT_EQ(describe(seen), "1 NET/AWS Libfabric (network AWS Libfabric, plugin aws-ofi-rccl 1.4.0)");
  EXPECT_EQ(read_connections("n:1:1 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.18.0\n").plugin,
            "aws-ofi-nccl 1.18.0");
}

TEST(CollectiveLog, AnotherProviderThanSlingshots) {
  Connections seen;
  seen.ways = {{"NET/AWS Libfabric", 1}};
  seen.provider = "tcp";
  EXPECT_TRUE(misses_slingshot(seen, {"mlx5_0/1", "cxi0"}));
  EXPECT_FALSE(misses_slingshot(seen, {"mlx5_0/1"})) << "there is none";
  seen.provider = "cxi";
  EXPECT_FALSE(misses_slingshot(seen, {"cxi0"}));
  seen.provider = "";
  EXPECT_FALSE(misses_slingshot(seen, {"cxi0"})) << "what is not said is not known";
  seen.provider = "tcp";
  seen.ways = {{"P2P/IPC", 4}};
  EXPECT_FALSE(misses_slingshot(seen, {"cxi0"})) << "nothing goes between nodes";
}

TEST(CollectiveLog, SocketsAreTold) {
  const Connections seen =
      read_connections("a:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [send] via NET/Socket/1\n");
  ASSERT_EQ(seen.ways.size(), 1u);
  EXPECT_TRUE(is_socket(seen.ways.begin()->first));
  EXPECT_FALSE(is_socket("NET/IB"));
}

TEST(CollectiveLog, RanksThatCantBeReadAreCountedAndNotNamed) {
  for (const char* ranks : {"", "0 -> 1", "a[0] -> 1[1]", "0[0] 1[1]", "99999999999[0] -> 1[1]", "0[0] ->"}) {
    const Connections seen =
        read_connections(std::string("a:1:2 [0] NCCL INFO Channel 00/0 : ") + ranks + " via SHM/direct/direct\n");
    EXPECT_EQ(seen.ways, (Ways{{"SHM", 1}})) << ranks;
    EXPECT_TRUE(seen.between.empty()) << ranks;
  }
}

TEST(CollectiveLog, WhatIsNotSaidIsUnknown) {
  for (const char* text : {"", "nothing of it\n", "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n",
                           "a:1:2 [0] NCCL INFO Bootstrap via eth0\n", "a:1:2 [0] NCCL INFO Channel 00 via \n"}) {
    EXPECT_EQ(read_connections(text), Connections()) << text;
    EXPECT_EQ(describe(read_connections(text)), "unknown");
  }
}

TEST(Collectives, VersionsOldAndNew) {
  EXPECT_EQ(version_of_collectives(2804), "2.8.4");
  EXPECT_EQ(version_of_collectives(20906), "2.9.6");
  EXPECT_EQ(version_of_collectives(22105), "2.21.5");
  EXPECT_EQ(version_of_collectives(23007), "2.30.7");
}

// The real library where it is installed: it loads without a GPU.
TEST(GpuOfflineNccl, LoadsAndTellsItsVersion) {
  std::vector<std::string> calls;
  const auto library = open_collectives("nvidia", [&](std::string_view call) {
    if (!call.empty()) calls.emplace_back(call);
  });
  if (library.report.state == LibraryState::absent) GTEST_SKIP() << "there is no libnccl.so.2";
  EXPECT_EQ(library.report.state, LibraryState::working) << library.report.error;
  EXPECT_EQ(library.report.version.substr(0, 2), "2.");
  EXPECT_EQ(calls, (std::vector<std::string>{"dlopen libnccl.so.2", "ncclGetVersion"}));
  // Without a driver it can't start a communicator, and says so in its own words.
  CollectiveId id;
  if (library.table->new_id.function(&id) != 0) return;
  void* comm = nullptr;
  const int code = library.table->init.function(&comm, 1, id, 0);
  if (code == 0) GTEST_SKIP() << "there is a GPU";
  ASSERT_NE(library.table->words, nullptr);
  EXPECT_NE(std::string(library.table->words(code)), "");
}

}  // namespace
}  // namespace muster
