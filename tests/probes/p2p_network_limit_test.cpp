// What the network of a node can carry at most, and between whom that is known.
#include <gtest/gtest.h>

#include "measure/network_limit.hpp"

namespace muster::p2p {
namespace {

Inventory node(std::vector<NetPort> ports) {
  Inventory inventory;
  Device nic;
  nic.kind = DeviceKind::nic;
  nic.ports = std::move(ports);
  inventory.devices = {nic};
  Device gpu;
  gpu.kind = DeviceKind::gpu;
  inventory.devices.push_back(gpu);
  return inventory;
}

TEST(NetworkLimit, PortsThatAreUpTogether) {
  EXPECT_EQ(network_rate(node({{"mlx5_0/1", "InfiniBand", "ACTIVE", "", 400, 0},
                               {"eth0", "Ethernet", "up", "", 100, 0},
                               {"eth1", "Ethernet", "down", "", 100, 0}})),
            62.5);
  EXPECT_EQ(
      network_rate(node({{"mlx5_0/1", "InfiniBand", "ACTIVE", "", 400, 0}, {"ens3", "Ethernet", "up", "", 0, 0}})), 0)
      << "one that does not tell its rate may be any fast";
  EXPECT_EQ(network_rate(node({})), 0);
}

Spot spot(int of, std::uint64_t kernel) {
  Spot one;
  one.node = of;
  one.kernel = kernel;
  return one;
}

TEST(NetworkLimit, ContainersOfOneMachineAreNotApart) {
  EXPECT_TRUE(are_apart(spot(0, 1), spot(1, 2)));
  EXPECT_FALSE(are_apart(spot(0, 1), spot(1, 1)));
  EXPECT_FALSE(are_apart(spot(0, 1), spot(1, 0))) << "not known";
  EXPECT_FALSE(are_apart(spot(0, 1), spot(0, 1)));
  EXPECT_EQ(own_network_rate({spot(0, 1), spot(1, 1)}, 0), 0);
  EXPECT_EQ(network_limit_of_all({spot(0, 1), spot(1, 2), spot(2, 1)}, 0), 0) << "one of them may be near";
}

TEST(NetworkLimit, BetweenGpusOfTwoMachines) {
  EXPECT_EQ(across_machines(0, 100, true), 100) << "host memory, or a model that is not known";
  EXPECT_EQ(across_machines(514, 100, true), 100) << "NVLinks end in the node";
  EXPECT_EQ(across_machines(514, 100, false), 514) << "they may lead to other nodes";
  EXPECT_EQ(across_machines(514, 0, true), 514) << "a port without a rate";
}

}  // namespace
}  // namespace muster::p2p
