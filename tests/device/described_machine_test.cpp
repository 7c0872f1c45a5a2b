// Written machines, read back through the readers that probes use.
#include <algorithm>
#include <gtest/gtest.h>

#include "config/machines.hpp"
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
  for (int cache = 0; cache < 4; ++cache)
    machine.caches.push_back(machine.core(2 * cache) | machine.core(2 * cache + 1));
  machine.cache_bytes = 32u << 20;
  machine.domains = {{0, *CpuMask::parse_list("0-3,8-11"), 16ull << 30},
                     {1, *CpuMask::parse_list("4-7,12-15"), 16ull << 30}};
  machine.gpus.vendor = "amd";
  machine.gpus.model = "AMD Instinct MI250X";
  machine.gpus.id = "1002:7408";
  machine.gpus.driver_version = "6.3.6";
  machine.gpus.devices = {
      {.address = "0000:c1:00.0", .domain = 1, .near = machine.caches[3], .files = {"/dev/dri/renderD128"}},
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

MachineDescription shipped(const std::string& name) {
  Diagnostics diagnostics;
  const auto text = read_file(fs::path(MUSTER_SOURCE_DIR) / "simulation/machines" / (name + ".toml"));
  auto machine = parse_machine(text ? *text : "", name, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << name << ": " << to_string(diagnostics.errors.front());
  return machine;
}

/// What the published tables say of a system: buses and domains of its GPUs in the order of their driver, and counts.
struct Published {
  std::string name;
  int cores;
  int cpus;
  std::size_t caches;
  std::size_t domains;
  std::vector<std::string> buses;
  std::vector<int> domain_of_gpu;
  std::string model;
  std::vector<std::string> nics;
  double rate;
};

void PrintTo(const Published& published, std::ostream* out) {
  *out << published.name;
}

const std::vector<std::string> trento{"c1", "c6", "c9", "ce", "d1", "d6", "d9", "de"};
const std::vector<std::string> hsn{"hsn0", "hsn1", "hsn2", "hsn3"};
const Published published[] = {
    {"lumi-g", 64, 128, 8, 4, trento, {3, 3, 1, 1, 0, 0, 2, 2}, "AMD Instinct MI250X", hsn, 200},
    {"frontier", 64, 128, 8, 4, trento, {3, 3, 1, 1, 0, 0, 2, 2}, "AMD Instinct MI250X", hsn, 200},
    {"perlmutter", 64, 128, 8, 4, {"02", "41", "81", "c1"}, {3, 2, 1, 0}, "NVIDIA A100-SXM4-40GB", hsn, 200},
    {"vista", 72, 72, 1, 1, {"01"}, {0}, "NVIDIA GH200 120GB", {"mlx5_0/1"}, 400},
    {"zurada-gpu1h100", 32, 32, 16, 2, {"21"}, {0}, "NVIDIA H100 NVL", {"mlx5_0/1"}, 200},
    {"zurada-gpu2h100", 32, 32, 16, 2, {"21", "e1"}, {0, 1}, "NVIDIA H100 NVL", {"mlx5_0/1"}, 200},
};

class WrittenSystem : public Written, public testing::WithParamInterface<Published> {};

std::string name_of(const testing::TestParamInfo<Published>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<Device> of_kind(const Inventory& inventory, DeviceKind kind) {
  std::vector<Device> some;
  for (const Device& device : inventory.devices)
    if (device.kind == kind) some.push_back(device);
  return some;
}

}  // namespace

TEST_P(WrittenSystem, IsReadAsItIsPublished) {
  const Published& wanted = GetParam();
  const MachineDescription machine = shipped(wanted.name);
  write(machine);
  const auto layout = read_layout((folder_ / "m/topology.xml").string());
  ASSERT_TRUE(layout) << to_string(layout.error());
  EXPECT_EQ(static_cast<int>(layout->cores.size()), wanted.cores);
  EXPECT_EQ(layout->cpus().count(), wanted.cpus);
  EXPECT_EQ(layout->caches.size(), wanted.caches);
  EXPECT_EQ(layout->domains.size(), wanted.domains);
  EXPECT_EQ(*layout, layout_of(machine));
  auto gpus = of_kind(inventory_, DeviceKind::gpu);
  if (machine.gpus.vendor == "amd")
    std::sort(gpus.begin(), gpus.end(),
              [](const Device& a, const Device& b) { return a.compute_order < b.compute_order; });
  ASSERT_EQ(gpus.size(), wanted.buses.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    EXPECT_EQ(to_string(gpus[i].address).substr(5, 2), wanted.buses[i]);
    EXPECT_EQ(gpus[i].numa_node, wanted.domain_of_gpu[i]) << to_string(gpus[i].address);
    EXPECT_EQ(model_of(gpus[i]), wanted.model);
    EXPECT_EQ(gpus[i].files.at(0).access, FileAccess::open);
    EXPECT_TRUE(layout->nearby.at(to_string(gpus[i].address)).is_subset_of(layout->domains.at(gpus[i].numa_node)));
  }
  std::vector<std::string> ports;
  for (const Device& nic : of_kind(inventory_, DeviceKind::nic))
    for (const NetPort& port : nic.ports) {
      ports.push_back(port.name);
      EXPECT_EQ(port.rate, wanted.rate);
    }
  std::sort(ports.begin(), ports.end());
  EXPECT_EQ(ports, wanted.nics);
}

INSTANTIATE_TEST_SUITE_P(All, WrittenSystem, testing::ValuesIn(published), name_of);

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
