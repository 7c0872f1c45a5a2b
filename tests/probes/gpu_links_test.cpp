// NVLink and xGMI between the GPUs of ranks: what is known of them, and what the judges of p2p and allreduce say of
// data that goes round them or runs far slower than they can.
#include "measure/gpu_links.hpp"

#include <map>

#include "probes/judging.hpp"
#include "stats/stats.hpp"

namespace muster::p2p {
namespace {

PciAddress bus(std::uint32_t number) {
  return {0, number, 0, 0};
}

Device gpu(std::uint32_t number, std::vector<PeerLink> peers) {
  Device device;
  device.address = bus(number);
  device.peers = std::move(peers);
  return device;
}

PeerLink link(std::uint32_t to, const char* kind, int up, double rate) {
  PeerLink link;
  link.to = bus(to);
  link.kind = kind;
  link.up = up;
  link.rate = rate;
  return link;
}

/// Four GPUs, each with links to the other three: 100 GB/s to each.
Inventory mesh() {
  Inventory inventory;
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::vector<PeerLink> peers;
    for (std::uint32_t k = 0; k < 4; ++k)
      if (k != i) peers.push_back(link(k, "nvlink", 4, 100));
    inventory.devices.push_back(gpu(i, peers));
  }
  return inventory;
}

/// Four GPUs below two switches, 225 GB/s to each.
Inventory switched() {
  Inventory inventory;
  for (std::uint32_t i = 0; i < 4; ++i)
    inventory.devices.push_back(gpu(i, {link(100, "nvlink", 9, 225), link(101, "nvlink", 9, 225)}));
  return inventory;
}

std::vector<GpuPlace> on_nodes(std::initializer_list<int> nodes) {
  std::vector<GpuPlace> places;
  std::map<int, std::uint32_t> next;
  for (const int node : nodes) places.push_back({node, true, bus(next[node]++)});
  return places;
}

TEST(GpuLinks, LinksThatEndInTheNode) {
  const auto end_in_node = [](const char* vendor, std::vector<std::string> sources, const char* fabric) {
    Inventory inventory = mesh();
    for (Device& device : inventory.devices) {
      device.vendor_id = vendor;
      device.sources = sources;
      if (fabric != nullptr) device.values["fabric_domain"] = fabric;
    }
    return GpuLinks(inventory, on_nodes({0, 0, 1}), 0).end_in_node();
  };
  EXPECT_TRUE(end_in_node("1002", {"kfd"}, nullptr));
  EXPECT_TRUE(end_in_node("10de", {"nvml"}, nullptr));
  EXPECT_FALSE(end_in_node("10de", {"nvml"}, "5f2a/1")) << "a rack of NVL72";
  EXPECT_FALSE(end_in_node("10de", {"pci"}, nullptr)) << "without NVML it is not known";
}

TEST(GpuLinks, MeshAndSwitch) {
  const GpuLinks direct(mesh(), on_nodes({0, 0, 0, 0}), 1);
  ASSERT_TRUE(direct.to(2));
  EXPECT_EQ(direct.to(2)->kind, "nvlink");
  EXPECT_DOUBLE_EQ(direct.to(2)->rate, 100);
  EXPECT_DOUBLE_EQ(direct.together(), 300);
  const GpuLinks by_switch(switched(), on_nodes({0, 0, 0, 0}), 1);
  EXPECT_DOUBLE_EQ(by_switch.to(3)->rate, 450);
  EXPECT_DOUBLE_EQ(by_switch.together(), 450);
}

TEST(GpuLinks, NothingIsKnownOfWhatNobodyTold) {
  const GpuLinks two_nodes(mesh(), on_nodes({0, 0, 1, 1}), 0);
  EXPECT_TRUE(two_nodes.to(1));
  // The same addresses, on another node.
  EXPECT_FALSE(two_nodes.to(2));
  EXPECT_FALSE(two_nodes.to(3));
  EXPECT_DOUBLE_EQ(two_nodes.together(), 0);
  EXPECT_FALSE(two_nodes.to(0));
  EXPECT_FALSE(two_nodes.to(-1));
  EXPECT_FALSE(two_nodes.to(4));
  EXPECT_FALSE(GpuLinks().to(0));
  auto unknown = on_nodes({0, 0});
  unknown[1].is_known = false;
  EXPECT_FALSE(GpuLinks(mesh(), unknown, 0).to(1));
  Inventory down = mesh();
  down.devices[0].peers[0].up = 0;
  EXPECT_FALSE(GpuLinks(down, on_nodes({0, 0, 0}), 0).to(1));
  EXPECT_TRUE(GpuLinks(down, on_nodes({0, 0, 0}), 0).to(2));
  EXPECT_DOUBLE_EQ(GpuLinks(down, on_nodes({0, 0, 0}), 0).together(), 0);
  // Parts share their whole's address.
  Inventory parts = mesh();
  parts.devices[1].part = 0;
  EXPECT_FALSE(GpuLinks(parts, on_nodes({0, 0}), 0).to(1));
}

TEST(GpuLinks, WhatGoesRoundALinkIsTold) {
  const GpuLinks links(mesh(), on_nodes({0, 0, 1, 0}), 0);
  Connections seen;
  seen.between = {
      {0, 1, "SHM"}, {1, 0, "SHM"}, {0, 3, "P2P/CUMEM"}, {0, 2, "NET/IB/GDRDMA"}, {3, 0, "NET/AWS Libfabric"},
      {1, 3, "SHM"}, {0, 1, "NVLS"}};
  EXPECT_EQ(links.detours(seen),
            (std::vector<Fact>{{"data.detour", "1 SHM nvlink"}, {"data.detour", "3 NET/AWS Libfabric nvlink"}}));
  Inventory without = mesh();
  for (Device& device : without.devices) device.peers.clear();
  EXPECT_TRUE(GpuLinks(without, on_nodes({0, 0, 1, 0}), 0).detours(seen).empty());
}

std::vector<Fact> on_gpu(std::vector<Fact> more) {
  more.push_back({"checked", "2 readings, 1 GB of 1 GB"});
  more.push_back({"data.device", "GPU 0000:1b:00.0"});
  more.push_back({"data.carrier", "NCCL 2.21.5"});
  return more;
}

TEST(GpuLinks, ADetourNamesPairWayAndLink) {
  for (const char* probe : {"p2p", "allreduce"}) {
    MadeCase made(*find_probe(probe));
    made.rank("n1", on_gpu({{"data.detour", "1 SHM nvlink"}}))
        .rank("n1", on_gpu({{"data.detour", "0 SHM nvlink"}}))
        .rank("n2", on_gpu({{"data.detour", "3 NET/AWS Libfabric xgmi"},
                            {"data.detour", "x SHM"},
                            {"data.detour", "9 SHM nvlink"}}))
        .rank("n2", on_gpu({}));
    const auto findings = made.judge().findings;
    ASSERT_GE(findings.size(), 2u) << probe;
    EXPECT_EQ(findings[0].verdict, Verdict::fail);
    EXPECT_EQ(
        findings[0].reason,
        "data between GPUs of one node goes over the network (NET/AWS Libfabric), though xGMI links them (1 pair: "
        "rank 2 -> rank 3 on n2, from the library's own log)");
    EXPECT_EQ(
        findings[1].reason,
        "data between GPUs of one node goes through the host's memory (SHM), though NVLink links them (1 pair: rank 0 "
        "-> rank 1 on n1, from the library's own log)");
    ASSERT_EQ(findings[1].culprits.size(), 1u);
    EXPECT_EQ(findings[1].culprits[0].name, "rank 0 -> rank 1");
    EXPECT_NE(findings[1].remedy.find("NCCL_P2P_DISABLE"), std::string::npos);
    EXPECT_TRUE(made.judge().evidence.empty());
  }
}

Observation measured(int rank, int peer, const char* size, double rate, double able, std::vector<Fact> facts = {}) {
  Observation seen;
  seen.rank = rank;
  seen.facts = on_gpu(std::move(facts));
  const Labels where{{"link", "node"}, {"memory", "device"}, {"size", size}, {"transport", "nccl"}};
  seen.readings.push_back({"bandwidth", where, summarize(std::span(&rate, 1)), peer});
  seen.readings.push_back({"bandwidth.capable", where, summarize(std::span(&able, 1)), peer});
  return seen;
}

std::vector<std::string> below(MadeCase& made) {
  std::vector<std::string> reasons;
  for (const Finding& finding : made.judge().findings)
    if (finding.reason.find("that the links between the GPUs can do") != std::string::npos)
      reasons.push_back(finding.reason);
  return reasons;
}

TEST(GpuLinks, FarBelowTheLinksIsAFailure) {
  MadeCase made(*find_probe("p2p"));
  made.rank("n1", measured(0, 1, "16MiB", 12, 450)).rank("n1", measured(1, 0, "16MiB", 14, 450));
  EXPECT_EQ(below(made),
            (std::vector<std::string>{
                "bandwidth of 16MiB runs at 12 GB/s, below 20 % of the 450 GB/s that the links between the GPUs "
                "can do (rank 0 -> rank 1 on n1); 2 of 2 readings are below"}));
}

TEST(GpuLinks, WhatIsNotFarBelowOrNotTheLargestSizeIsNone) {
  MadeCase fast(*find_probe("p2p"));
  fast.rank("n1", measured(0, 1, "16MiB", 95, 450)).rank("n1", measured(1, 0, "1MiB", 2, 450));
  EXPECT_TRUE(below(fast).empty());
  // A way round is named as such, and only once.
  MadeCase detour(*find_probe("p2p"));
  detour.rank("n1", measured(0, 1, "16MiB", 2, 450, {{"data.detour", "1 SHM nvlink"}}))
      .rank("n1", measured(1, 0, "16MiB", 2, 450));
  EXPECT_TRUE(below(detour).empty());
  MadeCase doubted(*find_probe("p2p"));
  doubted.rank("n1", measured(0, 1, "16MiB", 2, 450)).rank("n1", measured(1, 0, "16MiB", 2, 450)).doubt("shared cores");
  EXPECT_TRUE(below(doubted).empty());
  // Connectivity sizes say nothing of bandwidth.
  MadeCase small(*find_probe("p2p"), {{"sizes", "64KiB"}});
  small.rank("n1", measured(0, 1, "64KiB", 2, 450)).rank("n1", measured(1, 0, "64KiB", 2, 450));
  EXPECT_TRUE(below(small).empty());
  MadeCase never(*find_probe("p2p"), {{"least_of_link", "0"}});
  never.rank("n1", measured(0, 1, "16MiB", 2, 450)).rank("n1", measured(1, 0, "16MiB", 2, 450));
  EXPECT_TRUE(below(never).empty());
}

TEST(GpuLinks, ASumFarBelowTheLinksIsAFailure) {
  MadeCase made(*find_probe("allreduce"));
  for (int rank = 0; rank < 2; ++rank) {
    Observation seen;
    seen.rank = rank;
    seen.facts = on_gpu({});
    const Labels where{{"memory", "device"}, {"size", "16MiB"}, {"transport", "nccl"}, {"type", "float"}};
    const double rate = rank == 0 ? 9 : 30;
    const double able = 450;
    seen.readings.push_back({"busbw", where, summarize(std::span(&rate, 1))});
    seen.readings.push_back({"busbw.capable", where, summarize(std::span(&able, 1))});
    made.rank("n1", seen);
  }
  EXPECT_EQ(below(made),
            (std::vector<std::string>{
                "busbw of 16MiB runs at 9 GB/s, below 5 % of the 450 GB/s that the links between the GPUs can do "
                "(rank 0 on n1)"}));
}

}  // namespace
}  // namespace muster::p2p
