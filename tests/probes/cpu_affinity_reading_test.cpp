// What a rank reads of its control group and its devices, on machines that are files.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "device/machine_tree.hpp"
#include "probes/cpu_affinity/own_device.hpp"
#include "probes/cpu_affinity/own_limits.hpp"

namespace muster::affinity {
namespace {

#ifdef MUSTER_SANITIZED
// libpciaccess, which hwloc's plugin for PCI uses, leaks when it is unloaded.
[[maybe_unused]] const bool is_without_pci = setenv("HWLOC_COMPONENTS", "-pci", 1) == 0;
#endif

class Tree {
 public:
  Tree() {
    std::string name = (std::filesystem::temp_directory_path() / "muster-affinity-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    root_ = name;
  }
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  Tree& put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
    return *this;
  }
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
};

TEST(OwnLimits, AllowedMemoryAndDomains) {
  Tree tree;
  tree.put("proc/self/status", "Name:\tx\nMems_allowed:\t3\nMems_allowed_list:\t0-1");
  tree.put("sys/devices/system/node/has_cpu", "0-1").put("sys/devices/system/node/node1/cpulist", "4-7");
  EXPECT_EQ(read_allowed_memory(tree.root()).list(), "0-1");
  const auto domains = read_numa_domains(tree.root());
  ASSERT_EQ(domains.size(), 1u);
  EXPECT_EQ(domains.at(1).list(), "4-7");
}

TEST(OwnLimits, ThePolicyOfThisThread) {
  const auto policy = read_memory_policy();
  if (!policy) GTEST_SKIP() << policy.error().what;
  EXPECT_EQ(policy->rfind("default", 0), 0u) << *policy;
  EXPECT_EQ(domains_in_policy("bind 0-1,3").list(), "0-1,3");
  EXPECT_TRUE(domains_in_policy("default").empty());
  EXPECT_TRUE(domains_in_policy("bind x").empty());
}

std::string chosen(const Inventory& inventory, const Visible& visible) {
  return own_gpu(inventory, visible).address;
}

TEST(OwnDevice, OneThatAVariableLeaves) {
  const MadeMachine machine("gpus 4 H100; gpu 3 uuid=GPU-abcd-1234");
  const Inventory inventory = *read_inventory(machine.root().string());
  EXPECT_EQ(own_gpu(inventory, {{"CUDA_VISIBLE_DEVICES", "2"}}), (OwnGpu{"0000:3b:00.0", "CUDA_VISIBLE_DEVICES=2"}));
  EXPECT_EQ(chosen(inventory, {{"CUDA_VISIBLE_DEVICES", "GPU-abcd"}}), "0000:4b:00.0");
  for (const char* unclear : {"0,1", "7", "MIG-1/2/3", "x", "-1", ""})
    EXPECT_EQ(chosen(inventory, {{"CUDA_VISIBLE_DEVICES", unclear}}), "") << unclear;
  EXPECT_EQ(chosen(inventory, {}), "");
  // Another vendor's variable hides nothing.
  EXPECT_EQ(chosen(inventory, {{"ROCR_VISIBLE_DEVICES", "1"}}), "");
}

TEST(OwnDevice, HipCountsWhatRocrLeft) {
  const MadeMachine machine("gpus 4 MI250X");
  const Inventory inventory = *read_inventory(machine.root().string());
  EXPECT_EQ(chosen(inventory, {{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "1"}}), "0000:4b:00.0");
  EXPECT_EQ(chosen(inventory, {{"ROCR_VISIBLE_DEVICES", "2"}, {"HIP_VISIBLE_DEVICES", "2"}}), "");
}

TEST(OwnDevice, RocrCountsPartitions) {
  const MadeMachine machine("gpus 4 MI250X");
  Inventory inventory = *read_inventory(machine.root().string());
  std::vector<std::string> addresses;
  for (Device& device : inventory.devices) {
    if (device.kind != DeviceKind::gpu) continue;
    device.compute_order = 4 * static_cast<int>(addresses.size()) + 1;
    device.partitions = 4;
    addresses.push_back(to_string(device.address));
  }
  EXPECT_EQ(chosen(inventory, {{"ROCR_VISIBLE_DEVICES", "0"}}), addresses.at(0));
  EXPECT_EQ(chosen(inventory, {{"ROCR_VISIBLE_DEVICES", "4"}}), addresses.at(1));
  EXPECT_EQ(chosen(inventory, {{"ROCR_VISIBLE_DEVICES", "14,15"}}), addresses.at(3)) << "two parts of one";
  EXPECT_EQ(chosen(inventory, {{"ROCR_VISIBLE_DEVICES", "3,4"}}), "");
  EXPECT_EQ(chosen(inventory, {{"ROCR_VISIBLE_DEVICES", "16"}}), "");
}

TEST(OwnDevice, TheOnlyGpuOfANodeIsNobodysOwn) {
  const MadeMachine machine("gpus 1 H100; nics 2");
  const Inventory inventory = *read_inventory(machine.root().string());
  EXPECT_EQ(chosen(inventory, {}), "");
  EXPECT_EQ(usable_gpus(inventory), std::vector<std::string>{"0000:1b:00.0"});
  EXPECT_EQ(nics_on(inventory, {0}).size(), 2u);
  EXPECT_TRUE(nics_on(inventory, {1}).empty());
}

}  // namespace
}  // namespace muster::affinity
