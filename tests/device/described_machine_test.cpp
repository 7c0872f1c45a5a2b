// Written machines, read back through the readers that probes use.
#include <algorithm>
#include <gtest/gtest.h>

#include "device/inventory.hpp"
#include "model/machine_description.hpp"
#include "system/described_layout.hpp"
#include "system/this_machine.hpp"

namespace muster {
namespace {

/// Two packages, two threads a core, a domain with memory alone, and a GPU whose nearest CPUs are not its whole domain.
MachineDescription small() {
  MachineDescription machine;
  machine.name = "small";
  machine.kernel = "5.14.0-1";
  machine.architecture = "x86_64";
  machine.cpu_model = "Made Up 9000";
  machine.packages = 2;
  machine.cores = 8;
  machine.smt = 2;
  for (int cache = 0; cache < 4; ++cache) machine.caches.push_back(machine.core(2 * cache) | machine.core(2 * cache + 1));
  machine.cache_bytes = 32u << 20;
  machine.domains = {{0, *CpuMask::parse_list("0-3,8-11"), 16ull << 30},
                     {1, *CpuMask::parse_list("4-7,12-15"), 16ull << 30}};
  machine.gpus.vendor = "amd";
  machine.gpus.model = "AMD Instinct MI250X";
  machine.gpus.id = "1002:7408";
  machine.gpus.driver_version = "6.3.6";
  machine.gpus.devices = {{.address = "0000:c1:00.0", .domain = 1, .near = machine.caches[3], .files = {"/dev/dri/renderD128"}},
                          {.address = "0000:d1:00.0", .domain = 0, .near = machine.caches[0], .files = {"/dev/dri/renderD129"}}};
  DescribedNic nic;
  nic.kind = "slingshot";
  nic.name = "hsn0";
  nic.device = "cxi0";
  nic.address = "0000:c5:00.0";
  nic.id = "17db:0501";
  nic.domain = 1;
  nic.near = machine.domains[1].cpus;
  nic.rate = 200;
  machine.nics = {nic};
  return machine;
}

class Written : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "muster-described-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const MachineDescription& machine, const std::string& host = "nid001") {
    const auto written = write_machine(machine, host, folder_ / "m");
    ASSERT_TRUE(written) << to_string(written.error());
    auto inventory = read_inventory((folder_ / "m/root").string());
    ASSERT_TRUE(inventory) << to_string(inventory.error());
    inventory_ = std::move(*inventory);
  }
  fs::path folder_;
  Inventory inventory_;
};

}  // namespace

TEST_F(Written, LayoutIsAsDescribed) {
  write(small());
  const auto layout = read_layout((folder_ / "m/topology.xml").string());
  ASSERT_TRUE(layout) << to_string(layout.error());
  EXPECT_EQ(layout->cores, layout_of(small()).cores);
  EXPECT_EQ(layout->caches, layout_of(small()).caches);
  EXPECT_EQ(layout->domains, layout_of(small()).domains);
  EXPECT_EQ(layout->nearby, layout_of(small()).nearby);
}

TEST_F(Written, DevicesAreAsDescribed) {
  write(small());
  ASSERT_EQ(inventory_.devices.size(), 3u);
  const Device& first = inventory_.devices[0];
  EXPECT_EQ(to_string(first.address), "0000:c1:00.0");
  EXPECT_EQ(model_of(first), "AMD Instinct MI250X");
  EXPECT_EQ(first.driver, "amdgpu");
  EXPECT_EQ(first.numa_node, 1);
  EXPECT_EQ(first.compute_order, 1);
  ASSERT_EQ(first.files.size(), 1u);
  EXPECT_EQ(first.files[0].path, "/dev/dri/renderD128");
  EXPECT_EQ(first.files[0].access, FileAccess::open);
  EXPECT_NE(first.uuid, inventory_.devices[1].uuid);
  const Device& nic = inventory_.devices[2];
  ASSERT_EQ(nic.ports.size(), 1u);
  EXPECT_EQ(nic.ports[0], (NetPort{"hsn0", "Ethernet", "up", "", 200}));
  EXPECT_TRUE(nic.is_seen_by("cxi"));
  EXPECT_EQ(inventory_.versions.at("kernel"), "5.14.0-1");
  EXPECT_EQ(inventory_.versions.at("amdgpu"), "6.3.6");
}

TEST_F(Written, TwoNodesHaveTheirOwnNumbers) {
  write(small(), "nid001");
  const std::string first = inventory_.devices[0].uuid;
  write(small(), "nid002");
  EXPECT_NE(first, inventory_.devices[0].uuid);
}

TEST_F(Written, FaultsAreInTheFiles) {
  MachineDescription machine = small();
  machine.gpus.devices[0].is_lost = true;
  machine.gpus.devices[1].file_mode = "none";
  machine.nics[0].state = "down";
  write(machine);
  EXPECT_TRUE(inventory_.devices[0].is_lost);
  ASSERT_EQ(inventory_.devices[1].files.size(), 1u);
  EXPECT_EQ(inventory_.devices[1].files[0].access, FileAccess::missing);
  EXPECT_EQ(inventory_.devices[2].ports[0].state, "down");
}

TEST_F(Written, AFolderOfSomebodyElseIsLeftAlone) {
  fs::create_directories(folder_ / "m/root");
  const auto written = write_machine(small(), "nid001", folder_ / "m");
  ASSERT_FALSE(written);
  EXPECT_NE(to_string(written.error()).find("is neither empty nor a machine that muster wrote"), std::string::npos);
}

TEST_F(Written, HwlocsVariablesAreAsTheyWere) {
  ::setenv("HWLOC_COMPONENTS", "x86", 1);
  write(small());
  EXPECT_STREQ(std::getenv("HWLOC_COMPONENTS"), "x86");
  EXPECT_EQ(std::getenv("HWLOC_FSROOT"), nullptr);
  ::unsetenv("HWLOC_COMPONENTS");
}

}  // namespace muster
