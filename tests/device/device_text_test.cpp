// Devices as facts and back: the driver judges what it reads from them.
#include <gtest/gtest.h>

#include "device/inventory.hpp"

#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace muster {
namespace {

Device full_gpu() {
  Device gpu;
  gpu.address = *parse_pci_address("0000:c1:00.0");
  gpu.vendor_id = "10de";
  gpu.device_id = "2330";
  gpu.class_code = "030200";
  gpu.driver = "nvidia";
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.uuid = "GPU-1";
  gpu.firmware = "96.00";
  gpu.numa_node = 0;
  gpu.uncorrected = 2;
  gpu.compute_order = 3;
  gpu.partitions = 8;
  gpu.is_lost = gpu.is_excluded = true;
  gpu.links = {{gpu.address, 8, 16, 2.5, 32}, {*parse_pci_address("0000:40:01.1"), 16, 16, 32, 32}};
  gpu.files = {{"/dev/nvidia0", FileAccess::withheld}, {"/dev/dri/renderD128", FileAccess::open}};
  gpu.peers = {{*parse_pci_address("0000:c4:00.0"), "nvlink", 5, 0, 132.8}, {{}, "nvlink", 0, 1, 0}};
  gpu.values = {{"ecc_uncorrected", "2"}, {"throttled_by", "thermal, power brake"}};
  gpu.sources = {"pci", "nvidia"};
  return gpu;
}

Inventory read_back(const Inventory& inventory, std::size_t faults = 0) {
  std::vector<std::string> found;
  Inventory read = parse_inventory(to_facts(inventory), found);
  EXPECT_EQ(found.size(), faults) << (found.empty() ? "" : found[0]);
  return read;
}

TEST(DeviceText, EverythingIsReadBack) {
  Inventory inventory;
  Device nic;
  nic.kind = DeviceKind::nic;
  nic.address = *parse_pci_address("0000:15:00.1");
  nic.ports = {{"mlx5_0/1", "InfiniBand", "ACTIVE", "LinkUp", 400}, {"eth0", "Ethernet", "down", "", 0}};
  inventory.devices = {full_gpu(), nic};
  Device& share = inventory.seen_part(full_gpu().address, 0, "nvml");
  share.parent = "GPU-1";
  share.uuid = "MIG-1";
  share.values = {{"profile", "1g.10gb"}};
  inventory.seen_part(full_gpu().address, 1, "nvml").parent = "GPU-1";
  inventory.sources = {"pci", "nvidia", "net"};
  inventory.files = {{"/dev/nvidiactl", FileAccess::denied}, {"/dev/kfd", FileAccess::root_only}};
  inventory.versions = {{"kernel", "5.14.0"}, {"nvidia", "550.54.15"}};
  inventory.libraries = {
      {"libcuda.so.1", LibraryState::broken, "/usr/lib/libcuda.so.1", "", 803, "mismatch", {"cuA"}},
      {"libnvidia-ml.so.1", LibraryState::working, "/usr/lib/libnvidia-ml.so.1", "550.54", 0, "", {}},
      {"librccl.so.1", LibraryState::absent, "", "", 0, "", {}}};
  EXPECT_EQ(read_back(inventory), inventory);
}

TEST(DeviceText, IsOneReadableLine) {
  Inventory inventory;
  inventory.devices = {full_gpu()};
  EXPECT_EQ(to_facts(inventory).at(0).value.substr(0, 64),
            "0000:c1:00.0; vendor 10de; device 2330; class 030200; driver nvi");
}

TEST(DeviceText, MarksInForeignTextDoNoHarm) {
  Inventory inventory;
  Device gpu;
  gpu.name = "a; driver nvidia; lost yes\n\x1b[31m";
  gpu.ports = {{"e th; 0", "", "", "", 1}};
  inventory.devices = {gpu};
  const Inventory read = read_back(inventory);
  ASSERT_EQ(read.devices.size(), 1u);
  EXPECT_EQ(read.devices[0].driver, "");
  EXPECT_FALSE(read.devices[0].is_lost);
  EXPECT_EQ(read.devices[0].name, "a, driver nvidia, lost yes \\x1b[31m");
  EXPECT_EQ(read.devices[0].ports.at(0).name, "e_th,_0");
}

TEST(DeviceText, DamageIsNamedAndTheRestIsKept) {
  std::vector<std::string> faults;
  const auto read = parse_inventory({{"gpu", "0000:c1:00.0; vendor 10de; seen pci"},
                                     {"gpu", "nonsense"},
                                     {"nic", "0000:15:00.0; link 0000:15:00.0 8"},
                                     {"nic", "0000:15:00.0; port a b"},
                                     {"gpu", "0000:c1:00.0; numa x"},
                                     {"gpu", "0000:c1:00.0; colour red"},
                                     {"gpu", "0000:c1:00.0; peer 0000:c4:00.0 nvlink 5"},
                                     {"gpu", "0000:c1:00.0; told ecc"},
                                     {"file", "ajar /dev/kfd"},
                                     {"library", "odd libcuda.so.1"},
                                     {"library", "broken"},
                                     {"library", "broken libcuda.so.1; code x"},
                                     {"part", "0000:c1:00.0; part x"},
                                     {"job.SLURM_GPUS", "8"}},
                                    faults);
  EXPECT_EQ(read.devices.size(), 7u) << "all but those without an address, or of a part without a number";
  EXPECT_EQ(faults.size(), 12u);
  EXPECT_EQ(faults[1], "nic 0000:15:00.0: link 0000:15:00.0 8");
}

#ifdef MUSTER_HAVE_RAPIDCHECK
TEST(DeviceText, AnyTextIsRead) {
  EXPECT_TRUE(rc::check([](const std::string& text, const std::string& name) {
    std::vector<std::string> faults;
    (void)parse_inventory({{"gpu", text}, {"nic", "0000:01:00.0; " + text}, {"file", text}, {"library", text}}, faults);
    Inventory inventory;
    inventory.seen(DeviceKind::gpu, {}, "pci").name = name;
    faults.clear();
    const auto read = parse_inventory(to_facts(inventory), faults);
    RC_ASSERT(faults.empty());
    RC_ASSERT(read.devices.size() == 1u);
    RC_ASSERT(to_facts(read) == to_facts(inventory));
  }));
}
#endif

}  // namespace
}  // namespace muster
