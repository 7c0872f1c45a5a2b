#include "system/layout.hpp"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "system/openmp_team.hpp"
#include "system/system.hpp"

namespace muster {
namespace {

#ifdef MUSTER_SANITIZED
// libpciaccess, which hwloc's plugin for PCI uses, leaks when it is unloaded.
[[maybe_unused]] const bool is_without_pci = setenv("HWLOC_COMPONENTS", "-pci", 1) == 0;
#endif

constexpr const char* blade = "synthetic:pack:1 numa:4 l3:2 core:8 pu:2(indexes=2*64:64*1)";

CpuMask set(const std::string& list) {
  return *CpuMask::parse_list(list);
}

TEST(Layout, AMadeUpBlade) {
  const auto layout = read_layout(blade);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->cores.size(), 64u);
  EXPECT_EQ(layout->caches.size(), 8u);
  ASSERT_EQ(layout->domains.size(), 4u);
  EXPECT_EQ(layout->domains.at(1), set("16-31,80-95"));
  EXPECT_EQ(layout->cores[5], set("5,69"));
  EXPECT_EQ(layout->cpus(), set("0-127"));
  EXPECT_EQ(layout->whole_cores(set("0,72")), set("0,8,64,72"));
  EXPECT_EQ(layout->domains_of(set("15,16")), set("0-1"));
}

TEST(Layout, FactsReadBackToTheSame) {
  auto layout = *read_layout(blade);
  layout.nearby = {{"0000:c1:00.0", set("48-55,112-119")}, {"0000:c6:00.0", set("56-63")}};
  const auto facts = to_facts(layout, {"0000:c1:00.0", "0000:c6:00.0"});
  EXPECT_EQ(parse_layout(facts), layout);
  EXPECT_TRUE(parse_layout({}).empty());
  for (std::size_t damaged = 0; damaged < facts.size(); ++damaged) {
    auto copy = facts;
    copy[damaged].value = "x:";
    EXPECT_TRUE(parse_layout(copy).empty()) << copy[damaged].key;
  }
}

TEST(Layout, WhatIsNoTopologyIsRefused) {
  EXPECT_FALSE(read_layout("synthetic:nonsense"));
  EXPECT_FALSE(read_layout("/no/such/file.xml"));
  const fs::path file = fs::temp_directory_path() / ("muster-later-" + std::to_string(::getpid()) + ".xml");
  std::ofstream(file) << "<?xml version=\"1.0\"?>\n<topology version=\"9.1\">\n</topology>\n";
  const auto later = read_layout(file.string());
  fs::remove(file);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().where, file.string());
  EXPECT_NE(later.error().what.find("a topology of form 9.1, which hwloc 2."), std::string::npos) << later.error().what;
}

TEST(Layout, AFileOnWhichHwlocCrashesIsRefused) {
  const auto file = fs::temp_directory_path() / ("layout-damaged-" + std::to_string(::getpid()));
  std::ofstream(file)
      << R"(<topology version="2.0"><object cpuset="0x0000000f" nodeset="0x00000003">)"
      << R"(<object cpuset="0x00000003" nodeset="0x00000001"><object type="NUMANode" )"
      << R"(cpuset="0x00000003" nodeset="0x00000001"><page_type/></object></object></object></topology>)";
  const auto layout = read_layout(file.string());
  ASSERT_FALSE(layout);
  // Where hwloc has been mended it is a file like any other that is none.
  const auto what = layout.error().what;
  EXPECT_TRUE(what.find("is damaged: reading it crashes (signal") != what.npos || what.find("hwloc can") != what.npos)
      << what;
  EXPECT_FALSE(read_topology_devices(file.string()));
  fs::remove(file);
}

TEST(Layout, ThisMachineHoldsAllThatWeMayUse) {
  const auto layout = read_layout();
  ASSERT_TRUE(layout);
  EXPECT_TRUE(node_cpus().is_subset_of(layout->cpus()));
  EXPECT_FALSE(layout->domains_of(*CpuMask::of_this_thread()).empty());
}

TEST(Layout, ACapturedBladeKnowsTheCachesOfItsGpus) {
  const char* folder = std::getenv("MUSTER_CAPTURES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
  const auto layout = read_layout(std::string(folder) + "/hwloc/eas-tioga.xml");
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->cores.size(), 64u);
  EXPECT_EQ(layout->nearby.at("0000:c1:00.0"), set("48-55,112-119"));
  EXPECT_EQ(layout->nearby.at("0000:d6:00.0"), set("8-15,72-79"));
}

TEST(Layout, ACapturedBladeNamesItsDevices) {
  const char* folder = std::getenv("MUSTER_CAPTURES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
  const auto devices = read_topology_devices(std::string(folder) + "/hwloc/eas-tioga.xml");
  ASSERT_TRUE(devices);
  const auto at = [&](const std::string& address) {
    for (const TopologyDevice& device : *devices)
      if (device.address == address) return device;
    return TopologyDevice();
  };
  const TopologyDevice gpu = at("0000:c1:00.0");
  EXPECT_EQ(gpu.class_code + " " + gpu.vendor_id + ":" + gpu.device_id, "0380 1002:7408");
  EXPECT_NE(gpu.model.find("AMD INSTINCT MI200"), std::string::npos);
  EXPECT_EQ(at("0000:c5:00.0").name, "hsi0");
  EXPECT_GT(at("0000:c5:00.0").rate, 100 * at("0000:94:00.0").rate) << "the card for administration is slow";
}

TEST(Layout, AMachineWithoutDevices) {
  EXPECT_EQ(read_topology_devices(blade), std::vector<TopologyDevice>());
  EXPECT_FALSE(read_topology_devices("/no/such/file.xml"));
}

/// 0: as it should be; 77: no runtime here.
int measure_bound_team(const CpuMask& before) {
  ::setenv("OMP_NUM_THREADS", "2", 1);
  ::setenv("OMP_PLACES", "threads", 1);
  ::setenv("OMP_PROC_BIND", "close", 1);
  const auto team = measure_openmp_team();
  if (!team) return 77;
  if (*CpuMask::of_this_thread() != before) return 1;
  if (team->masks.size() != 2) return 2;
  for (const CpuMask& mask : team->masks)
    if (mask.count() != 1 || !mask.is_subset_of(before)) return 3;
  return before.count() > 1 && team->masks[0].intersects(team->masks[1]) ? 4 : 0;
}

TEST(OpenMp, TheTeamFollowsTheVariablesAndLeavesThisThreadAlone) {
  const CpuMask before = *CpuMask::of_this_thread();
  // The runtime reads them when it is opened, which happens once in a process: a process of its own for this test.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(measure_bound_team(before));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no OpenMP runtime on this machine";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace muster
