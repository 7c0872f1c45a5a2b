// A topology that NCCL dumped becomes a machine, and the inventory of that machine has every GPU, card, PCIe link and
// NVLink of the dump.
#include <algorithm>
#include <fmt/format.h>
#include <pugixml.hpp>

#include "base/text.hpp"
#include "device/nvml_machine.hpp"

namespace muster {
namespace {

/// A function of the bus, and how it hangs on those above it.
struct Function {
  std::string address, speed;
  int width = 0;
  int domain = -1;
  pugi::xml_node node;
  std::vector<std::string> above;  ///< from the host's side on
};

void collect(const pugi::xml_node& parent, int domain, const std::vector<std::string>& above,
             std::vector<Function>& all) {
  for (const pugi::xml_node& node : parent.children("pci")) {
    const std::string address = node.attribute("busid").value();
    all.push_back(
        {address, node.attribute("link_speed").value(), node.attribute("link_width").as_int(), domain, node, above});
    auto below = above;
    below.push_back(address);
    collect(node, domain, below, all);
  }
}

class NcclCapture : public testing::Test {
 protected:
  void SetUp() override {
    const char* captures = std::getenv("MUSTER_CAPTURES");
    if (captures == nullptr || *captures == 0) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
    const fs::path file = fs::path(captures) / "nccl" / "H100-topology.xml";
    ASSERT_TRUE(document_.load_file(file.c_str())) << file;
    for (const pugi::xml_node& cpu : document_.child("system").children("cpu"))
      collect(cpu, cpu.attribute("numaid").as_int(), {}, functions_);
    char name[] = "/tmp/muster-nccl-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  void TearDown() override {
    if (!root_.empty()) fs::remove_all(root_);
  }

  void put(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }

  /// A switch of the dump stands for its upper port; each lower port, and the root's, gets the address of what is below
  /// it with another device number.
  static std::string port_above(const std::string& address) { return address.substr(0, 8) + "1f.0"; }

  void write_function(const fs::path& folder, const Function& one) const {
    put(folder / "class", one.node.attribute("class").value());
    put(folder / "vendor", one.node.attribute("vendor").value());
    put(folder / "device", one.node.attribute("device").value());
    put(folder / "numa_node", std::to_string(one.domain));
    write_link(folder, one);
  }

  void write_link(const fs::path& folder, const Function& one) const {
    for (const char* state : {"current", "max"}) {
      put(folder / fmt::format("{}_link_speed", state), one.speed);
      put(folder / fmt::format("{}_link_width", state), std::to_string(one.width));
    }
    fs::create_directories(root_ / "sys/bus/pci/devices");
    fs::create_symlink("../../../" + folder.string().substr(4), root_ / "sys/bus/pci/devices" / folder.filename());
  }

  /// /sys as the kernel shows such a bus.
  void write_tree() const {
    put("proc/sys/kernel/osrelease", "6.1");
    for (const Function& one : functions_) {
      auto way = one.above;
      way.push_back(one.address);
      fs::path folder = fs::path("sys/devices") / ("pci0000:" + way.front().substr(5, 2));
      for (const std::string& address : way) folder = folder / port_above(address) / address;
      put(folder.parent_path() / "class", "0x060400");
      put(folder.parent_path() / "vendor", "0x1000");
      write_link(folder.parent_path(), one);
      write_function(folder, one);
      for (const pugi::xml_node& net : one.node.child("nic").children("net")) write_card(net, folder);
    }
  }

  void write_card(const pugi::xml_node& net, const fs::path& function) const {
    const fs::path card = fs::path("sys/class/infiniband") / net.attribute("name").value();
    put(card / "ports/1/state", "4: ACTIVE");
    put(card / "ports/1/phys_state", "5: LinkUp");
    put(card / "ports/1/link_layer", "Ethernet");
    put(card / "ports/1/rate", "200 Gb/sec (4X HDR)");
    fs::create_symlink(root_ / function, root_ / card / "device");
  }

  /// Those with a child of that name: `gpu`, `nic`.
  [[nodiscard]] std::vector<Function> with(const char* child) const {
    std::vector<Function> some;
    std::copy_if(functions_.begin(), functions_.end(), std::back_inserter(some),
                 [&](const Function& one) { return !one.node.child(child).empty(); });
    return some;
  }

  pugi::xml_document document_;
  std::vector<Function> functions_;
  fs::path root_;
};

TEST_F(NcclCapture, BusIsInTheInventory) {
  write_tree();
  const auto inventory = read_inventory(root_.string());
  ASSERT_TRUE(inventory) << to_string(inventory.error());
  const auto gpus = with("gpu");
  ASSERT_EQ(gpus.size(), 8u);
  EXPECT_EQ(std::count_if(inventory->devices.begin(), inventory->devices.end(),
                          [](const Device& one) { return one.kind == DeviceKind::gpu; }),
            8);
  for (const Function& gpu : gpus) {
    const Device* device = inventory->gpu_at(*parse_pci_address(gpu.address));
    ASSERT_NE(device, nullptr) << gpu.address;
    EXPECT_EQ(device->device_id, "2330");
    EXPECT_EQ(device->numa_node, gpu.domain);
    // Its own link, then those of the two levels of switches above.
    ASSERT_EQ(device->links.size(), 3u) << gpu.address;
    EXPECT_EQ(device->links[0].width, 16);
    EXPECT_EQ(device->links[0].speed, 32.0);
    EXPECT_EQ(to_string(device->links[1].at), gpu.above.at(1));
    EXPECT_EQ(to_string(device->links[2].at), gpu.above.at(0));
    EXPECT_EQ(device->links[2].speed, 5.0);
  }
}

TEST_F(NcclCapture, CardsAreInTheInventory) {
  write_tree();
  const auto inventory = read_inventory(root_.string());
  ASSERT_TRUE(inventory) << to_string(inventory.error());
  std::size_t ports = 0;
  for (const Function& card : with("nic"))
    for (const pugi::xml_node& net : card.node.child("nic").children("net")) {
      ++ports;
      const std::string name = net.attribute("name").value();
      const bool is_seen = std::any_of(inventory->devices.begin(), inventory->devices.end(), [&](const Device& one) {
        return one.kind == DeviceKind::nic && to_string(one.address) == card.address &&
               std::any_of(one.ports.begin(), one.ports.end(),
                           [&](const NetPort& port) { return port.name == name + "/1"; });
      });
      EXPECT_TRUE(is_seen) << name << " at " << card.address;
    }
  EXPECT_EQ(ports, 16u);
}

TEST_F(NcclCapture, LinksToSwitchesAreInTheInventory) {
  MachineDescription machine = shipped_machine("dgx-h100");
  machine.gpus.devices.clear();
  machine.nics.clear();
  std::size_t index = 0;
  const auto gpus = with("gpu");
  for (const Function& one : gpus) {
    DescribedGpu gpu;
    gpu.address = one.address;
    gpu.domain = one.domain;
    gpu.files = {fmt::format("/dev/nvidia{}", index)};
    std::vector<std::string> ends;
    for (const pugi::xml_node& link : one.node.child("gpu").children("nvlink"))
      for (int i = link.attribute("count").as_int(); i > 0; --i) ends.emplace_back(link.attribute("target").value());
    machine.gpus.driver.push_back(fmt::format("set {} nvlink_to {}", index, join(ends, " ")));
    machine.gpus.driver.push_back(fmt::format("set {} nvlinks {}", index++, ends.size()));
    machine.gpus.devices.push_back(gpu);
  }
  const Asked reported = asked(machine);
  for (const Function& one : gpus) {
    const Device* device = reported.inventory.gpu_at(*parse_pci_address(one.address));
    ASSERT_NE(device, nullptr) << one.address;
    std::map<std::string, int> wanted, found;
    for (const pugi::xml_node& link : one.node.child("gpu").children("nvlink"))
      wanted[link.attribute("target").value()] = link.attribute("count").as_int();
    for (const PeerLink& link : device->peers) {
      found[to_string(link.to)] = link.up;
      EXPECT_EQ(link.kind, "nvlink");
      EXPECT_EQ(link.down, 0);
    }
    EXPECT_EQ(found, wanted) << one.address;
  }
}

}  // namespace
}  // namespace muster
