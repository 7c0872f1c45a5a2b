// Counters of links: which are read, from which forms of files, and what grew.
#include "device/link_errors.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "device/machine_tree.hpp"

namespace muster {
namespace {

class LinkErrorsTree : public testing::Test {
 protected:
  void put(const std::string& path, std::string_view text) {
    const auto file = machine_.root() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  MadeMachine machine_{"gpus 1 H100; nics 1; nics 1 hsn; nics 1 eth"};
};

TEST_F(LinkErrorsTree, PortsOfTheFabricSlingshotAndPcie) {
  const fs::path root = machine_.root();
  std::string gpu;
  for (const auto& entry : fs::directory_iterator(root / "sys/bus/pci/devices")) {
    std::ifstream file(entry.path() / "vendor");
    std::string vendor;
    file >> vendor;
    if (vendor == "0x10de") gpu = entry.path().filename();
  }
  ASSERT_FALSE(gpu.empty());
  put("sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "2\n");
  put("sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "N/A (no PMA)\n");
  put("sys/class/net/hsn1/carrier_down_count", "4\n");
  put("sys/class/net/eth2/carrier_down_count", "7\n");
  put("sys/class/net/lo/carrier_down_count", "9\n");
  put("sys/class/cxi/cxi1/device/telemetry/hni_pcs_uncorrected_cw", "90049@1675489372.701036980\n");
  put("sys/bus/pci/devices/" + gpu + "/aer_dev_correctable",
      "RxErr 1\nBadTLP 2\nBadDLLP 3\nRollover 0\nTimeout 4\nNonFatalErr 100\nCorrIntErr 0\nHeaderOF 0\nTOTAL_ERR_COR "
      "110\n");
  put("sys/bus/pci/devices/" + gpu + "/aer_dev_fatal", "Undefined 0\nDLP 1\nTOTAL_ERR_FATAL 1\n");
  const PortErrors errors = LinkErrors(root).read();
  const auto count = [&](const std::string& link, const std::string& counter) {
    const auto found = errors.find({link, counter});
    return found == errors.end() ? -1 : static_cast<long>(found->second);
  };
  EXPECT_EQ(count("mlx5_0/1", "link_downed"), 2);
  EXPECT_EQ(count("mlx5_0/1", "symbol_error"), -1);
  EXPECT_EQ(count("hsn1", "carrier_down_count"), 4);
  EXPECT_EQ(count("eth2", "carrier_down_count"), -1) << "25 Gbit/s: not of the fabric";
  EXPECT_EQ(count("lo", "carrier_down_count"), -1);
  EXPECT_EQ(count("cxi1", "hni_pcs_uncorrected_cw"), 90049);
  EXPECT_EQ(count(gpu, "aer_correctable"), 10);
  EXPECT_EQ(count(gpu, "aer_fatal"), 1);
}

TEST(LinkErrorsText, FormsOfCounters) {
  EXPECT_EQ(parse_slingshot_count("17"), 17u);
  EXPECT_EQ(parse_slingshot_count("0@1.5"), 0u);
  for (const char* none : {"", "@1.5", "-3@1", "x", "99999999999999999999@1"})
    EXPECT_FALSE(parse_slingshot_count(none)) << none;
  EXPECT_FALSE(parse_aer_correctable("TOTAL_ERR_COR 3\n"));
  EXPECT_FALSE(parse_aer_correctable("BadTLP\nRxErr x\n"));
  EXPECT_EQ(parse_aer_correctable("BadTLP 3\nRxErr -\n"), 3u);
  EXPECT_EQ(parse_aer_total("DLP 4\nTOTAL_ERR_FATAL 4\n"), 4u);
}

TEST(LinkErrorsText, WhatGrewIsAFactAndHowManyLinksCount) {
  const PortErrors before{{{"hsn0", "rx_errors"}, 5}, {{"hsn1", "rx_errors"}, 5}, {{"hsn2", "rx_errors"}, 5}};
  const PortErrors after{
      {{"hsn0", "rx_errors"}, 5}, {{"hsn1", "rx_errors"}, 17}, {{"hsn2", "rx_errors"}, 1}, {{"hsn3", "rx_errors"}, 9}};
  EXPECT_EQ(link_facts(before, after, 1.5),
            (std::vector<Fact>{{"link_error", "hsn1 rx_errors 12 1.500"}, {"link_counters", "rx_errors 3"}}))
      << "one was reset, one is new";
  EXPECT_EQ(link_facts(before, after, 1.5, {"hsn1"}),
            (std::vector<Fact>{{"link_error", "hsn1 rx_errors 12 1.500 beside"}, {"link_counters", "rx_errors 2"}}));
}

using LinkNames = std::set<std::string>;

/// A device for RDMA over the Ethernet of an interface.
void put_rdma(const fs::path& root, const std::string& name, const std::string& interface, const std::string& rate,
              const std::string& state = "4: ACTIVE") {
  const fs::path device = root / "sys/class/infiniband" / name;
  fs::create_directories(device / "ports/1");
  fs::create_symlink(fs::canonical(root / "sys/class/net" / interface / "device"), device / "device");
  std::ofstream(device / "ports/1/link_layer") << "Ethernet\n";
  std::ofstream(device / "ports/1/rate") << rate << "\n";
  std::ofstream(device / "ports/1/state") << state << "\n";
}

/// Ports for management or storage beside a fabric.
TEST(LinkErrorsBeside, OtherPortsThanTheFabrics) {
  const MadeMachine infiniband{"nics 1; nics 2 eth; nic 1 rate=50; nic 2 rate=100"};
  EXPECT_EQ(LinkErrors(infiniband.root()).beside(), LinkNames{"eth1"});
  const MadeMachine slow_rdma{"nics 1; nics 1 eth"};
  put_rdma(slow_rdma.root(), "bnxt_re0", "eth1", "25 Gb/sec (1X EDR)");
  EXPECT_EQ(LinkErrors(slow_rdma.root()).beside(), LinkNames{"bnxt_re0/1"}) << "25 Gbit/s: the interface is not read";
  const MadeMachine slingshot{"nics 1 hsn; nics 1 eth; nic 1 rate=40"};
  EXPECT_EQ(LinkErrors(slingshot.root()).beside(), LinkNames{"eth1"});
  const MadeMachine lower{"nics 1; nics 1 eth; nic 0 rate=200; nic 1 rate=400"};
  EXPECT_EQ(LinkErrors(lower.root()).beside(), LinkNames{}) << "never the fabric";
}

/// Which of the ports carries the data of jobs, nobody says.
TEST(LinkErrorsBeside, PortsThatMayBeOfTheFabricAreNot) {
  const MadeMachine trained_low{"nics 3 eth; nic 0 rate=100; nic 1 rate=200; nic 2 rate=200"};
  EXPECT_EQ(LinkErrors(trained_low.root()).beside(), LinkNames{}) << "200 Gbit/s, trained at 100";
  const MadeMachine storage{"nics 3 eth; nic 0 rate=40; nic 1 rate=200; nic 2 rate=200"};
  EXPECT_EQ(LinkErrors(storage.root()).beside(), LinkNames{"eth0"});
  const MadeMachine management{"nics 2 eth; nic 0 rate=200"};
  put_rdma(management.root(), "irdma0", "eth1", "25 Gb/sec (1X EDR)");
  EXPECT_EQ(LinkErrors(management.root()).beside(), LinkNames{"irdma0/1"}) << "RDMA on a slow port makes no fabric";
  const MadeMachine down{"nics 2 eth; nic 0 rate=200; nic 1 rate=200"};
  put_rdma(down.root(), "mlx5_1", "eth1", "2.5 Gb/sec (1X SDR)", "1: DOWN");
  EXPECT_EQ(LinkErrors(down.root()).beside(), LinkNames{}) << "nobody knows its speed";
}

}  // namespace
}  // namespace muster
