// One damaged file of /sys or /proc costs what it holds, never the rest: every reader on trees in which one file after
// the other is damaged. Trees of tests/device/machine_tree.hpp, of described machines, and captured ones.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

#include "base/files.hpp"
#include "config/machines.hpp"
#include "device/interfaces.hpp"
#include "device/inventory.hpp"
#include "device/link_errors.hpp"
#include "device/machine_tree.hpp"
#include "model/machine_description.hpp"
#include "system/this_machine.hpp"

namespace muster {
namespace {

constexpr int damages_of_a_tree = 120;

std::vector<fs::path> files_below(const fs::path& root) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// What drivers and firmware were seen to write, or might.
std::string damaged(const std::string& text, std::mt19937& chance) {
  static const std::string bytes("\xff\x00\x80\x1b[2J\n", 8);
  static const std::string whole[] = {"",
                                      "N/A",
                                      "[N/A]",
                                      "-1",
                                      "18446744073709551615",
                                      "99999999999999999999999",
                                      "0x",
                                      "Unknown",
                                      "[Unknown Error]",
                                      "nan",
                                      "\n\n\n",
                                      std::string(5000, '7'),
                                      bytes};
  const auto below = [&](std::size_t most) { return most == 0 ? 0 : chance() % most; };
  const auto kind = below(4);
  if (kind == 0) return whole[below(std::size(whole))];
  if (kind == 1) return text.substr(0, below(text.size()));
  std::string changed = text;
  if (kind == 2 && !changed.empty()) changed[below(changed.size())] = static_cast<char>(chance());
  if (kind == 3) changed.insert(below(changed.size()), whole[below(std::size(whole))]);
  return changed;
}

struct Seen {
  std::size_t gpus = 0;
  std::size_t nics = 0;
  std::size_t on_bus = 0;  ///< that the PCI bus shows: other sources know most of them, too
};

/// Every reader of a tree; what it makes of the tree can be sent and read back.
Seen read_all(const fs::path& root, const std::string& place) {
  (void)read_interfaces(root);
  (void)read_port_errors(root);
  (void)LinkErrors(root).read();
  const auto inventory = read_inventory(root.string());
  EXPECT_TRUE(inventory) << place;
  Seen seen;
  if (!inventory) return seen;
  for (const Device& device : inventory->devices) {
    seen.gpus += device.kind == DeviceKind::gpu;
    seen.nics += device.kind == DeviceKind::nic;
    seen.on_bus += device.is_seen_by("pci");
  }
  std::vector<std::string> faults;
  const Inventory back = parse_inventory(to_facts(*inventory), faults);
  EXPECT_EQ(back.devices.size(), inventory->devices.size()) << place;
  EXPECT_TRUE(faults.empty()) << place << ": " << faults[0];
  return seen;
}

void damage_one_after_the_other(const fs::path& root, const std::string& tree) {
  const Seen whole = read_all(root, tree);
  const auto files = files_below(root);
  ASSERT_FALSE(files.empty()) << tree;
  for (int i = 0; i < damages_of_a_tree && !testing::Test::HasFailure(); ++i) {
    std::mt19937 chance(static_cast<unsigned>(i));
    const fs::path& file = files[chance() % files.size()];
    const auto text = read_file(file);
    if (!text) continue;
    std::ofstream(file) << damaged(*text, chance);
    const std::string place = tree + ": " + file.lexically_relative(root).string() + ", case " + std::to_string(i);
    const Seen seen = read_all(root, place);
    // A damaged place is another device for a source: then there may be one more.
    EXPECT_GE(seen.gpus + 1, whole.gpus) << place;
    EXPECT_GE(seen.nics + 1, whole.nics) << place;
    EXPECT_GE(seen.on_bus + 1, whole.on_bus) << place;
    std::ofstream(file) << *text;
  }
}

TEST(MutatedTree, MachinesOfAllVendors) {
  for (const char* text :
       {"gpus 4 H100; nics 4; kernel 6.8; nvidia 550.54.15", "gpus 4 MI250X; nics 4 hsn; amdgpu 6.7"}) {
    const MadeMachine machine(text);
    damage_one_after_the_other(machine.root(), text);
  }
}

TEST(MutatedTree, Captures) {
  const char* folder = std::getenv("MUSTER_CAPTURES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
  const std::pair<const char*, const char*> archives[] = {
      {"amd/kfd-mi210-xgmi-pcie.tar.gz", "sys/class/kfd/kfd/topology"},
      {"amd/kfd-mi308-partitioned.tar.gz", "sys/class/kfd/kfd/topology"},
      {"infiniband/sys-class-infiniband-h100.tar.gz", "sys/class/infiniband"}};
  for (const auto& [archive, below] : archives) {
    const MadeMachine machine("kernel 6.1");
    fs::create_directories(machine.root() / below);
    const std::string command = "tar -xzf '" + (fs::path(folder) / archive).string() + "' --strip-components=1 -C '" +
                                (machine.root() / below).string() + "'";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    int bus = 0x10;
    for (const auto& entry : fs::directory_iterator(machine.root() / below)) {
      if (std::string_view(below) != "sys/class/infiniband") break;
      const auto device = fmt::format("sys/devices/pci0000:{0:02x}/0000:{0:02x}:00.0", bus++);
      fs::create_directories(machine.root() / device);
      fs::create_symlink(machine.root() / device, entry.path() / "device");
    }
    damage_one_after_the_other(machine.root(), archive);
  }
}

}  // namespace
}  // namespace muster
