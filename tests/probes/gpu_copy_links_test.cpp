// What lies between two GPUs of a node, by what NVML and KFD report, and what it can do at most.
#include <gtest/gtest.h>

#include "measure/peak_bandwidth.hpp"

namespace muster::gpu_copy {
namespace {

PciAddress bus_of(std::uint32_t number) {
  return {0, number, 0, 0};
}

Device gpu_at(std::uint32_t number, const char* source) {
  Device device;
  device.address = bus_of(number);
  if (*source != '\0') device.sources.emplace_back(source);
  return device;
}

void join(Inventory& node, std::size_t from, std::size_t to, const char* kind, int up, double rate) {
  for (const auto& [a, b] : {std::pair(from, to), std::pair(to, from)}) {
    PeerLink link;
    link.to = node.devices[b].address;
    link.kind = kind;
    link.up = up;
    link.rate = rate;
    node.devices[a].peers.push_back(link);
  }
}

/// Four GPUs that the source of their vendor shows.
Inventory four_of(const char* source) {
  Inventory node;
  for (std::uint32_t i = 1; i <= 4; ++i) node.devices.push_back(gpu_at(i, source));
  return node;
}

std::string between(const Inventory& node, std::size_t from, std::size_t to, bool reaches = true) {
  return link_between(node, &node.devices[from], &node.devices[to], reaches);
}

/// With x16 of PCIe 5 to the host of the first, and x8 of the others.
double most(const Inventory& node, std::size_t from, std::size_t to, bool reaches = true) {
  const auto host = [](std::size_t index) {
    return HostWay{index == 0 ? 63.0 : 31.5, index == 0 ? 63.0 : 31.5, "PCIe"};
  };
  const std::string link = between(node, from, to, reaches);
  return most_to_peer(peer_way(node, &node.devices[from], &node.devices[to], link), link, host(from), host(to));
}

TEST(GpuCopyLinks, EachKindHasItsName) {
  Inventory node = four_of("nvml");
  join(node, 0, 1, "nvlink", 6, 150);
  EXPECT_EQ(between(node, 0, 1), "nvlink");
  EXPECT_EQ(between(node, 0, 2), "pcie");
  EXPECT_EQ(between(node, 0, 1, false), "staged");
  const Inventory silent = four_of("");
  EXPECT_EQ(between(silent, 0, 1), "unknown");
  EXPECT_EQ(link_between(node, nullptr, &node.devices[1], true), "unknown");
  Inventory below = four_of("nvml");
  for (Device& device : below.devices) {
    device.links.resize(2);
    device.links[1].at = bus_of(device.address == bus_of(4) ? 90 : 80);
  }
  EXPECT_EQ(between(below, 0, 1), "switch");
  EXPECT_EQ(between(below, 0, 3), "pcie");
}

/// As KFD of an MI250X shows distant dies: a link of type xGMI without bandwidth. It was called pcie.
TEST(GpuCopyLinks, APathOverAThirdGpuIsNoPcie) {
  Inventory node = four_of("kfd");
  join(node, 0, 1, "xgmi", 4, 200);
  join(node, 0, 2, "xgmi", 1, 50);
  join(node, 1, 2, "xgmi", 2, 100);
  join(node, 0, 3, "xgmi", 0, 0);
  join(node, 2, 3, "xgmi", 1, 50);
  EXPECT_EQ(between(node, 0, 1), "xgmi");
  EXPECT_EQ(between(node, 0, 3), "xgmi_routed");
  EXPECT_EQ(between(node, 3, 0), "xgmi_routed");
  EXPECT_EQ(most(node, 0, 3), 50) << "all links of the GPU that has the fewer";
  const PeerWay way = peer_way(node, &node.devices[0], &node.devices[3], "xgmi_routed");
  EXPECT_EQ(way.engine, 0) << "what it should do is not known";
}

TEST(GpuCopyLinks, NothingIsFasterThanItsWay) {
  Inventory node = four_of("nvml");
  join(node, 0, 1, "nvlink", 6, 150);
  EXPECT_EQ(most(node, 0, 1), 150);
  EXPECT_EQ(most(node, 0, 2), 31.5) << "the slower of both links to the host";
  EXPECT_EQ(most(node, 0, 1, false), 31.5);
  EXPECT_EQ(most(four_of(""), 0, 1), 0) << "it may be NVLink";
  Inventory dies = four_of("kfd");
  join(dies, 0, 1, "xgmi", 4, 200);
  const PeerWay way = peer_way(dies, &dies.devices[0], &dies.devices[1], "xgmi");
  EXPECT_EQ(way.engine, 50);
  EXPECT_EQ(most(dies, 0, 1), 200) << "an engine may use more than one link";
}

}  // namespace
}  // namespace muster::gpu_copy
