// What is read from made-up machines.
#include "device/inventory.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.hpp"
#include "device/machine_tree.hpp"

namespace muster {
namespace {

Inventory inventory_of(std::string_view description) {
  const MadeMachine machine(description);
  const auto read = read_inventory(machine.root().string());
  EXPECT_TRUE(read);
  return read ? *read : Inventory();
}

std::size_t count(const Inventory& inventory, DeviceKind kind) {
  std::size_t found = 0;
  for (const Device& device : inventory.devices) found += device.kind == kind;
  return found;
}

using Texts = std::vector<std::string>;

TEST(Inventory, NvidiaIsSeenByTheBusAndTheDriver) {
  const Inventory inventory = inventory_of("gpus 8 H100; nics 4; vga");
  EXPECT_EQ(count(inventory, DeviceKind::gpu), 8u) << "the display of the management controller is none";
  EXPECT_EQ(count(inventory, DeviceKind::nic), 4u);
  const Device& gpu = inventory.devices[7];
  EXPECT_EQ(label_of(gpu), "GPU 0000:8b:00.0");
  EXPECT_EQ(gpu.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.firmware, "96.00.74.00.01");
  EXPECT_EQ(gpu.driver, "nvidia");
  EXPECT_EQ(gpu.numa_node, 1);
  EXPECT_EQ(gpu.sources, (Texts{"pci", "nvidia"}));
  ASSERT_EQ(gpu.links.size(), 1u);
  EXPECT_EQ(gpu.links[0], (PciLink{gpu.address, 16, 16, 32, 32}));
  EXPECT_EQ(gpu.files, (std::vector<DeviceFile>{{"/dev/nvidia7", FileAccess::open}}));
  EXPECT_EQ(inventory.files.size(), 2u);
  EXPECT_EQ(inventory.versions.at("nvidia"), "550.54.15");
  EXPECT_EQ(inventory.versions.at("kernel"), "5.14.0-427.el9.x86_64");
}

TEST(Inventory, PartsAreDevicesOfTheirOwnAtTheAddressOfTheWhole) {
  Inventory inventory;
  const PciAddress here = *parse_pci_address("0000:c1:00.0");
  const PciAddress there = *parse_pci_address("0000:41:00.0");
  for (const int number : {1, 0, 1}) inventory.seen_part(here, number, "kfd").parent = "GPU-1";
  inventory.seen_part(there, 0, "kfd");
  inventory.seen(DeviceKind::gpu, here, "pci").uuid = "GPU-1";
  inventory.seen_part(here, 1, "nvml");
  ASSERT_EQ(inventory.devices.size(), 4u);
  EXPECT_EQ(count(inventory, DeviceKind::gpu), 1u);
  EXPECT_EQ(inventory.count_gpus(), 1);
  EXPECT_EQ(label_of(inventory.devices[1]), "part 0 of GPU 0000:41:00.0");
  EXPECT_EQ(label_of(inventory.devices[3]), "part 1 of GPU 0000:c1:00.0");
  EXPECT_EQ(inventory.devices[3].sources, (Texts{"kfd", "nvml"}));
  ASSERT_NE(inventory.gpu_at(inventory.devices[3].address), nullptr);
  EXPECT_EQ(inventory.gpu_at(inventory.devices[3].address)->uuid, inventory.devices[3].parent);
  EXPECT_EQ(inventory.gpu_at(there), nullptr) << "its whole was not seen";
}

TEST(Inventory, AmdIsSeenByTheBusAndKfd) {
  const Inventory inventory = inventory_of("gpus 8 MI250X; nics 4 hsn; gpu 1 ue=2 uuid=9000001");
  ASSERT_EQ(count(inventory, DeviceKind::gpu), 8u);
  const Device& gpu = inventory.devices[1];
  EXPECT_EQ(model_of(gpu), "AMD Instinct MI250X");
  EXPECT_EQ(vendor_of(gpu), "amd");
  EXPECT_EQ(gpu.compute_order, 2);
  EXPECT_EQ(gpu.partitions, 1);
  EXPECT_EQ(gpu.sources, (Texts{"pci", "kfd"}));
  EXPECT_EQ(gpu.files, (std::vector<DeviceFile>{{"/dev/dri/renderD129", FileAccess::open}}));
  EXPECT_EQ(gpu.uuid, "9000001");
  EXPECT_EQ(gpu.uncorrected, 2);
  EXPECT_EQ(inventory.files, (std::vector<DeviceFile>{{"/dev/kfd", FileAccess::open}}));
  const Device& nic = inventory.devices[8];
  EXPECT_EQ(label_of(nic), "NIC hsn0 (0000:15:00.0)");
  EXPECT_EQ(nic.ports, (std::vector<NetPort>{{"hsn0", "Ethernet", "up", "", 200}}));
}

TEST(Inventory, KfdCountsItsNodesByNumber) {
  // Not as names are sorted: 10 comes after 9.
  const Inventory inventory = inventory_of("gpus 3 MI250X; gpu 0 kfd=10; gpu 1 kfd=9; gpu 2 kfd=2");
  std::vector<int> order;
  for (const Device& device : inventory.devices) order.push_back(device.compute_order);
  EXPECT_EQ(order, (std::vector<int>{3, 2, 1}));
}

TEST(Inventory, InfinibandPorts) {
  const Inventory inventory = inventory_of("nics 1; nic 0 state=DOWN phys=Polling rate=10");
  ASSERT_EQ(inventory.devices.size(), 1u);
  EXPECT_EQ(inventory.devices[0].ports, (std::vector<NetPort>{{"mlx5_0/1", "InfiniBand", "DOWN", "Polling", 10, 4}}));
  EXPECT_EQ(inventory.devices[0].firmware, "28.41.1000");
}

TEST(Inventory, ALostGpuAnswersWithOnes) {
  const Inventory inventory = inventory_of("gpus 2; gpu 1 lost");
  EXPECT_FALSE(inventory.devices[0].is_lost);
  EXPECT_TRUE(inventory.devices[1].is_lost);
  EXPECT_EQ(inventory.devices[1].vendor_id, "10de") << "the kernel remembers";
  EXPECT_TRUE(inventory.devices[1].links.empty());
}

TEST(Inventory, SourcesMayDisagree) {
  const Inventory inventory = inventory_of("gpus 4; gpu 0 off-bus; gpu 1 unknown; gpu 2 driver=none; gpu 3 excluded");
  EXPECT_EQ(inventory.devices.at(0).sources, Texts{"nvidia"});
  EXPECT_EQ(inventory.devices.at(1).sources, Texts{"pci"});
  EXPECT_EQ(inventory.devices.at(2).sources, Texts{"pci"});
  EXPECT_EQ(inventory.devices.at(2).driver, "");
  EXPECT_TRUE(inventory.devices.at(3).is_excluded);
}

TEST(Inventory, LinksAreAsGoodAsBothEndsCan) {
  const Inventory inventory = inventory_of("gpus 3; gpu 0 width=8; gpu 1 slot=8; gpu 2 speed=2.5");
  EXPECT_EQ(inventory.devices.at(0).links.at(0), (PciLink{inventory.devices[0].address, 8, 16, 32, 32}));
  EXPECT_EQ(inventory.devices.at(1).links.at(0), (PciLink{inventory.devices[1].address, 8, 8, 32, 32}));
  EXPECT_EQ(inventory.devices.at(2).links.at(0), (PciLink{inventory.devices[2].address, 16, 16, 2.5, 32}));
}

TEST(Inventory, DeviceFiles) {
  const Inventory inventory = inventory_of("gpus 2; gpu 0 mode=0000; gpu 1 no-file; file /dev/nvidia-uvm gone");
  const FileAccess closed = inventory.devices.at(0).files.at(0).access;
  EXPECT_TRUE(closed == FileAccess::denied || closed == FileAccess::root_only);
  EXPECT_EQ(inventory.devices.at(1).files.at(0).access, FileAccess::missing);
  EXPECT_EQ(inventory.files,
            (std::vector<DeviceFile>{{"/dev/nvidiactl", FileAccess::open}, {"/dev/nvidia-uvm", FileAccess::missing}}));
}

TEST(Inventory, FilesThatTheDriversHelperMakesAreNotMissed) {
  const MadeMachine machine("gpus 2; file /dev/nvidia-uvm gone; gpu 1 no-file");
  fs::create_directories(machine.root() / "usr/bin");
  const auto helper = machine.root() / "usr/bin/nvidia-modprobe";
  std::ofstream(helper) << "";
  ASSERT_EQ(::chmod(helper.c_str(), 04755), 0);
  const auto used = *read_inventory(machine.root().string());
  EXPECT_EQ(used.files.size(), 1u) << "nvidia-uvm comes when it is requested";
  EXPECT_EQ(used.devices.at(1).files.at(0).access, FileAccess::missing) << "one of two is a fault";
  fs::remove(machine.root() / "dev/nvidia0");
  const auto unused = *read_inventory(machine.root().string());
  EXPECT_TRUE(unused.devices.at(1).files.empty()) << "nobody has used the driver yet";
}

TEST(Inventory, AMachineWithNothing) {
  const Inventory inventory = inventory_of("kernel 6.1");
  EXPECT_TRUE(inventory.devices.empty());
  EXPECT_EQ(inventory.sources, (Texts{"pci", "net"}));
  EXPECT_EQ(inventory.versions.at("kernel"), "6.1");
}

TEST(Inventory, NoMachineIsAnError) {
  const auto read = read_inventory("/nonesuch");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().where, "/nonesuch");
}

TEST(Inventory, VirtualFunctionsAreNoNicsOfTheirOwn) {
  const MadeMachine machine("nics 2");
  fs::create_symlink("../0000:15:00.0", machine.root() / "sys/bus/pci/devices/0000:25:00.0/physfn");
  EXPECT_EQ(count(*read_inventory(machine.root().string()), DeviceKind::nic), 1u);
}

/// A capture has the class folders alone; here they get a machine around them.
class Captured : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("MUSTER_CAPTURES");
    if (folder == nullptr) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
    captures_ = folder;
  }
  void unpack(const std::string& archive, const std::string& below) const {
    fs::create_directories(machine_.root() / below);
    const std::string command = "tar -xzf '" + (captures_ / archive).string() + "' --strip-components=1 -C '" +
                                (machine_.root() / below).string() + "'";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  fs::path captures_;
  MadeMachine machine_{"kernel 6.1"};
};

TEST_F(Captured, KfdOfEightGpus) {
  unpack("amd/kfd-mi210-xgmi-pcie.tar.gz", "sys/class/kfd/kfd/topology");
  const auto inventory = *read_inventory(machine_.root().string());
  ASSERT_EQ(count(inventory, DeviceKind::gpu), 8u);
  EXPECT_EQ(to_string(inventory.devices[0].address), "0000:03:00.0");
  EXPECT_EQ(to_string(inventory.devices[7].address), "0000:e3:00.0");
  EXPECT_EQ(inventory.devices[0].files.at(0).path, "/dev/dri/renderD130");
}

TEST_F(Captured, InfinibandPortsOfAnH100Node) {
  unpack("infiniband/sys-class-infiniband-h100.tar.gz", "sys/class/infiniband");
  int bus = 0x10;
  for (const auto& entry : fs::directory_iterator(machine_.root() / "sys/class/infiniband")) {
    const auto device = fmt::format("sys/devices/pci0000:{0:02x}/0000:{0:02x}:00.0", bus++);
    fs::create_directories(machine_.root() / device);
    fs::create_symlink(machine_.root() / device, entry.path() / "device");
  }
  const auto inventory = *read_inventory(machine_.root().string());
  ASSERT_EQ(count(inventory, DeviceKind::nic), 9u);
  int infiniband = 0;
  for (const Device& nic : inventory.devices) {
    ASSERT_EQ(nic.ports.size(), 1u);
    EXPECT_EQ(nic.ports[0].state, "ACTIVE");
    EXPECT_EQ(nic.ports[0].phys_state, "LinkUp");
    EXPECT_EQ(nic.ports[0].rate, nic.ports[0].layer == "InfiniBand" ? 400 : 200);
    infiniband += nic.ports[0].layer == "InfiniBand";
  }
  EXPECT_EQ(infiniband, 8);
}

}  // namespace
}  // namespace muster
