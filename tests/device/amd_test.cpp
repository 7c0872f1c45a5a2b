// AMD's GPUs: KFD, amdgpu's files, and the libraries that are looked for only where there is such a GPU.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

#include "config/machines.hpp"
#include "device/amd/libraries.hpp"
#include "device/amd/numbers.hpp"
#include "device/captured_amd.hpp"
#include "device/inventory.hpp"
#include "device/library.hpp"
#include "device/machine_tree.hpp"
#include "device/nvml_machine.hpp"
#include "device/placement.hpp"
#include "model/machine_description.hpp"
#include "system/this_machine.hpp"

namespace muster {
namespace {

MachineDescription described(const std::string& file) {
  Diagnostics diagnostics;
  const auto text = read_file(fs::path(MUSTER_SOURCE_DIR) / file);
  auto machine = parse_machine(text ? *text : "", fs::path(file).stem().string(), diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << file << ": " << to_string(diagnostics.errors.front());
  return machine;
}

class AmdTree : public testing::Test {
 protected:
  void write(const std::string& file) {
    std::string name = (fs::temp_directory_path() / "muster-amd-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    const auto written = write_machine(described(file), "nid001", folder_ / "m");
    ASSERT_TRUE(written) << to_string(written.error());
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  void put(const std::string& path, const std::string& text) const {
    const fs::path file = folder_ / "m/root" / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  [[nodiscard]] Inventory read() const {
    auto inventory = read_inventory((folder_ / "m/root").string());
    EXPECT_TRUE(inventory);
    return inventory ? *inventory : Inventory{};
  }
  [[nodiscard]] static const Device& gpu(const Inventory& inventory, const std::string& address) {
    const Device* found = inventory.gpu_at(*parse_pci_address(address));
    EXPECT_NE(found, nullptr) << address;
    static const Device none;
    return found == nullptr ? none : *found;
  }
  fs::path folder_;
};

std::string text_of(const Device& device, const std::string& key) {
  const auto found = device.values.find(key);
  return found == device.values.end() ? "" : found->second;
}

std::string links_of(const Device& device) {
  std::string text;
  for (const PeerLink& peer : device.peers)
    text += fmt::format("{}{} {} x{} {:g} GB/s weight {}", text.empty() ? "" : ", ", to_string(peer.to).substr(5, 2),
                        peer.kind, peer.up, peer.rate, peer.weight);
  return text;
}

TEST_F(AmdTree, LinksOfAnMi250xBoard) {
  write("simulation/machines/lumi-g.toml");
  const auto inventory = read();
  EXPECT_EQ(links_of(gpu(inventory, "0000:c1:00.0")),
            "c6 xgmi x4 200 GB/s weight 15, c9 xgmi x1 50 GB/s weight 15, ce xgmi x0 0 GB/s weight 30, "
            "d1 xgmi x0 0 GB/s weight 30, d6 xgmi x0 0 GB/s weight 30, d9 xgmi x2 100 GB/s weight 15, "
            "de xgmi x0 0 GB/s weight 30");
  int links = 0;
  std::string hive;
  for (const Device& device : inventory.devices) {
    if (device.kind != DeviceKind::gpu) continue;
    for (const PeerLink& peer : device.peers) links += peer.up;
    if (hive.empty()) hive = text_of(device, "xgmi_hive");
    EXPECT_EQ(text_of(device, "xgmi_hive"), hive);
    EXPECT_EQ(text_of(device, "host_link"), "pcie 32 GB/s");
  }
  EXPECT_FALSE(hive.empty());
  EXPECT_EQ(links, 2 * (4 * 4 + 2 * 2 + 6 * 1));
}

TEST_F(AmdTree, WhatAmdgpuTellsOfAGpu) {
  write("simulation/machines/lumi-g.toml");
  const std::string folder = "sys/bus/pci/devices/0000:c6:00.0/";
  put(folder + "ras/umc_err_count", "ue: 2\nce: 7");
  put(folder + "ras/gfx_err_count", "ue: 1\nce: 0");
  put(folder + "ras/gpu_vram_bad_pages",
      "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n0x00000003 : 0x00001000 : R\n0x4 : 0x1000 : F");
  put(folder + "current_compute_partition", "SPX");
  put(folder + "pp_dpm_pcie", "0: 2.5GT/s, x16 \n1: 16.0GT/s, x16 *");
  const auto inventory = read();
  const Device& device = gpu(inventory, "0000:c6:00.0");
  EXPECT_EQ(device.uncorrected, 3);
  EXPECT_EQ(text_of(device, "ras_umc"), "2 7");
  EXPECT_EQ(text_of(device, "ras_gfx"), "1 0");
  EXPECT_EQ(text_of(device, "bad_pages_retired"), "2");
  EXPECT_EQ(text_of(device, "bad_pages_pending"), "1");
  EXPECT_EQ(text_of(device, "bad_pages_failed"), "1");
  EXPECT_EQ(text_of(device, "compute_partition"), "SPX");
  EXPECT_EQ(text_of(device, "pcie_clock"), "16.0GT/s, x16");
  EXPECT_EQ(text_of(device, "temperature_junction"), "42");
  EXPECT_EQ(text_of(device, "temperature_limit_junction"), "105");
  EXPECT_EQ(text_of(device, "power"), "90");
  EXPECT_EQ(text_of(device, "power_limit"), "560");
  EXPECT_EQ(text_of(device, "memory_total"), "65536");
  EXPECT_EQ(text_of(device, "memory_used"), "10");
  EXPECT_EQ(to_number(text_of(device, "unique_id"), 16), to_number(device.uuid)) << "as the kernel tells it twice";
  EXPECT_EQ(text_of(gpu(inventory, "0000:c1:00.0"), "bad_pages_retired"), "") << "of a GPU that has none";
  std::vector<std::string> faults;
  EXPECT_EQ(parse_inventory(to_facts(inventory), faults).devices, inventory.devices);
  EXPECT_TRUE(faults.empty()) << faults[0];
}

TEST_F(AmdTree, ProcessesThatHoldMemory) {
  write("simulation/machines/lumi-g.toml");
  const auto process = [&](const std::string& pid, const std::string& name, const std::string& bytes) {
    if (!name.empty()) put("proc/" + pid + "/comm", name);
    put("sys/class/kfd/kfd/proc/" + pid + "/vram_10001", bytes);
  };
  process("4242", "python", "8589934592");
  process("4243", "muster-rank", "8589934592");
  put("proc/4243/status",
      "Name:\tmuster-rank\nUid:\t" + std::to_string(::getuid()) + "\t" + std::to_string(::geteuid()) + "\t0\t0\n");
  process("4246", "muster-miner", "8589934592");
  put("proc/4246/status", "Name:\tmuster-miner\nUid:\t65533\t65533\t65533\t65533\n");
  process("4244", "rdcd", "4096");
  process("4245", "", "8589934592");
  const auto inventory = read();
  const Device& device = gpu(inventory, "0000:c6:00.0");
  EXPECT_EQ(text_of(device, "process.4242"), "8589934592 python");
  EXPECT_EQ(text_of(device, "process.4243"), "") << "our own";
  EXPECT_EQ(text_of(device, "process.4244"), "") << "too little";
  EXPECT_EQ(text_of(device, "process.4246"), "8589934592 muster-miner") << "of another user";
  EXPECT_EQ(text_of(device, "process.4245"), "") << "of another container";
  EXPECT_EQ(text_of(gpu(inventory, "0000:c1:00.0"), "process.4242"), "");
}

/// CPX: each of eight parts is a node of KFD's, with its number in bits 28 to 31 of `location_id` or in the lowest
/// three.
class AmdPartitions : public AmdTree, public testing::WithParamInterface<int> {};

TEST_P(AmdPartitions, AreDevicesWithAParent) {
  write("tests/device/machines/mi300x.toml");
  const auto before = read();
  const auto is_part = [](const Device& device) { return device.kind == DeviceKind::part; };
  EXPECT_EQ(std::count_if(before.devices.begin(), before.devices.end(), is_part), 0);
  const std::string whole = gpu(before, "0000:26:00.0").uuid;
  for (int part = 1; part < 8; ++part) {
    const std::string node = fmt::format("sys/class/kfd/kfd/topology/nodes/{}/", 8 + part);
    put(node + "properties",
        fmt::format("cpu_cores_count 0\nsimd_count 152\nvendor_id 4098\ndevice_id 29857\nlocation_id {}\ndomain 0\n"
                    "drm_render_minor {}\nunique_id {}",
                    (static_cast<std::uint32_t>(part) << GetParam() | 0x2600), 140 + part, whole));
    put(node + "mem_banks/0/properties", "size_in_bytes 25769803776");
  }
  const auto inventory = read();
  std::vector<Device> parts;
  std::copy_if(inventory.devices.begin(), inventory.devices.end(), std::back_inserter(parts), is_part);
  ASSERT_EQ(parts.size(), 8u);
  EXPECT_EQ(gpu(inventory, "0000:26:00.0").partitions, 8);
  EXPECT_EQ(parts[3].part, 3);
  EXPECT_EQ(parts[3].parent, whole);
  EXPECT_EQ(parts[3].uuid, "") << "that of its whole";
  EXPECT_EQ(to_string(parts[3].address), "0000:26:00.0");
  EXPECT_EQ(parts[3].files.at(0).path, "/dev/dri/renderD143");
  EXPECT_EQ(text_of(parts[3], "memory_total"), "24576");
  EXPECT_EQ(std::count_if(inventory.devices.begin(), inventory.devices.end(),
                          [](const Device& device) { return device.kind == DeviceKind::gpu; }),
            8);
  // The runtime counts them as KFD's nodes.
  const NodeParts node = parts_of(Layout(), inventory);
  ASSERT_EQ(node.gpus.size(), 15u);
  EXPECT_EQ(node.gpus[14].address, "0000:26:00.0");
}

INSTANTIATE_TEST_SUITE_P(BothEncodings, AmdPartitions, testing::Values(28, 0));

TEST(AmdLibraries, AreLookedForOnlyWhereThereIsSuchAGpu) {
  Inventory inventory;
  inventory.seen(DeviceKind::gpu, *parse_pci_address("0000:03:00.0"), "pci").vendor_id = "10de";
  add_amd_libraries(inventory, {});
  EXPECT_TRUE(inventory.libraries.empty());
}

/// Of libraries in which one function after the other fails, with every code in turn: no GPU is lost, and what the
/// functions that work report is there.
TEST(AmdLibraries, ACallThatFailsCostsNoGpu) {
  constexpr std::size_t gpus = 8;
  const char* const calls[] = {"rsmi_dev_pci_id_get",
                               "rsmi_dev_unique_id_get",
                               "rsmi_topo_get_numa_node_number",
                               "rsmi_dev_temp_metric_get",
                               "rsmi_dev_power_ave_get",
                               "rsmi_dev_memory_total_get",
                               "rsmi_dev_memory_usage_get",
                               "rsmi_dev_ecc_count_get",
                               "rsmi_topo_get_link_type",
                               "amdsmi_get_processor_type",
                               "amdsmi_get_gpu_device_bdf",
                               "amdsmi_topo_get_numa_node_number",
                               "amdsmi_get_temp_metric",
                               "amdsmi_get_gpu_memory_total",
                               "amdsmi_get_gpu_memory_usage",
                               "amdsmi_get_gpu_total_ecc_count",
                               "amdsmi_topo_get_link_type",
                               "rsmi_version_get",
                               "rsmi_num_monitor_devices",
                               "rsmi_init",
                               "amdsmi_get_lib_version",
                               "amdsmi_get_socket_handles",
                               "amdsmi_init"};
  constexpr std::array codes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 16, 17, 31, 34, 0x7fffffff};
  for (std::size_t from = 0; from < std::size(calls); from += gpus) {
    std::vector<std::string> lines;
    std::string names;
    for (std::size_t i = from; i < std::min(from + gpus, std::size(calls)); ++i) {
      const bool is_of_a_gpu = i < 17;
      lines.push_back(fmt::format("fail {} {}{}", calls[i], codes[i % codes.size()],
                                  is_of_a_gpu ? fmt::format(" {}", i % gpus) : std::string()));
      names += std::string(calls[i]) + " ";
    }
    const Asked reported = asked(shipped_machine("mi300x", lines));
    std::size_t seen = 0;
    for (const Device& device : reported.inventory.devices)
      seen += device.kind == DeviceKind::gpu && device.is_seen_by("pci") && device.is_seen_by("kfd") &&
              text_of(device, "memory_total") == "196608" && device.peers.size() == 7;
    EXPECT_EQ(seen, gpus) << names;
    EXPECT_EQ(reported.inventory.libraries.size(), 2u) << names;
  }
}

/// Debian has the library; it loads without a GPU and says that there is none.
TEST(RealRocmSmi, GivesItsOwnErrorWithoutAGpu) {
  if (fs::exists("/sys/class/kfd/kfd/topology")) GTEST_SKIP() << "this machine has GPUs of AMD's";
  Inventory inventory;
  std::vector<std::string> calls;
  add_rocm_smi(inventory, [&](std::string_view call) {
    if (!call.empty()) calls.emplace_back(call);
  });
  ASSERT_EQ(inventory.libraries.size(), 1u);
  const LibraryReport& report = inventory.libraries[0];
  if (report.state == LibraryState::absent) GTEST_SKIP() << "librocm_smi64 is not installed";
  EXPECT_EQ(report.state, LibraryState::broken);
  EXPECT_EQ(report.code, 8);
  EXPECT_EQ(report.error.rfind("rsmi_init returned 8: An error occurred during initialization", 0), 0u) << report.error;
  EXPECT_NE(report.file.find("librocm_smi64.so"), std::string::npos) << report.file;
  EXPECT_EQ(calls, (std::vector<std::string>{"dlopen librocm_smi64.so", "rsmi_init", "rsmi_status_string"}));
  EXPECT_FALSE(inventory.has_source("rocm_smi"));
}

/// Eight MI308 in four partitions each, whose numbers are in the lowest bits.
TEST_F(CapturedAmd, PartitionsAreUnderTheirGpu) {
  unpack("kfd-mi308-partitioned.tar.gz");
  const auto inventory = *read_inventory(machine_.root().string());
  std::set<std::string> uuids;
  int gpus = 0, parts = 0;
  for (const Device& device : inventory.devices) {
    parts += device.kind == DeviceKind::part;
    if (device.kind != DeviceKind::gpu) continue;
    ++gpus;
    EXPECT_EQ(device.partitions, 4) << to_string(device.address);
    EXPECT_EQ(device.address.function, 0u);
    EXPECT_TRUE(uuids.insert(device.uuid).second) << device.uuid;
  }
  EXPECT_EQ(gpus, 8);
  EXPECT_EQ(parts, 32);
  const NodeParts node = parts_of(Layout(), inventory);
  ASSERT_EQ(node.gpus.size(), 32u);
  EXPECT_EQ(node.gpus[3].address, "0000:0a:00.0");
  EXPECT_EQ(node.gpus[4].address, "0000:80:00.0");
}

/// Two bridges of four MI210 each; between them PCIe.
TEST_F(CapturedAmd, LinksOfTwoBridges) {
  unpack("kfd-mi210-xgmi-pcie.tar.gz");
  const auto inventory = *read_inventory(machine_.root().string());
  std::vector<const Device*> gpus;
  for (const Device& device : inventory.devices)
    if (device.kind == DeviceKind::gpu) gpus.push_back(&device);
  ASSERT_EQ(gpus.size(), 8u);
  for (const Device* one : gpus) {
    EXPECT_EQ(one->peers.size(), 7u) << to_string(one->address);
    EXPECT_EQ(text_of(*one, "host_link"), "pcie 32 GB/s");
    for (const Device* other : gpus) {
      if (other == one) continue;
      const auto link = std::find_if(one->peers.begin(), one->peers.end(),
                                     [&](const PeerLink& peer) { return peer.to == other->address; });
      ASSERT_NE(link, one->peers.end());
      const bool is_near = text_of(*one, "xgmi_hive") == text_of(*other, "xgmi_hive");
      const PeerLink expected{other->address,       is_near ? "xgmi" : "pcie", is_near ? 1 : 0, 0,
                              is_near ? 50.0 : 0.0, is_near ? 15 : 72};
      EXPECT_EQ(*link, expected) << to_string(one->address) << " to " << to_string(other->address) << " is "
                                 << link->kind << " x" << link->up << " weight " << link->weight;
    }
  }
  const Device& first = *inventory.gpu_at(*parse_pci_address("0000:63:00.0"));
  EXPECT_EQ(text_of(first, "xgmi_hive"), "0xaefdf8293fefa6b7");
  EXPECT_EQ(first.uuid, "1801979520617338022");
}

TEST_F(CapturedSys, TheRealLibraryAgreesWithTheKernel) {
  unpack("kfd-mi210-xgmi-pcie.tar.gz");
  write_cards();
  const Inventory inventory = seen();
  ASSERT_EQ(inventory.libraries.size(), 1u) << "the namespace could not be made";
  EXPECT_EQ(inventory.libraries[0].state, LibraryState::working) << inventory.libraries[0].error;
  int gpus = 0;
  for (const Device& gpu : inventory.devices) {
    if (gpu.kind != DeviceKind::gpu) continue;
    ++gpus;
    EXPECT_TRUE(gpu.is_seen_by("kfd") && gpu.is_seen_by("pci") && gpu.is_seen_by("rocm_smi")) << to_string(gpu.address);
    EXPECT_EQ(to_number(text_of(gpu, "rocm_smi_unique_id").substr(2), 16), to_number(gpu.uuid));
    std::set<std::string> by_kernel, by_library;
    for (const PeerLink& peer : gpu.peers)
      if (peer.kind == "xgmi") by_kernel.insert(to_string(peer.to));
    for (const std::string& peer : split(text_of(gpu, "rocm_smi_xgmi"), ' ')) by_library.insert(peer);
    EXPECT_EQ(by_library, by_kernel) << to_string(gpu.address);
    EXPECT_EQ(text_of(gpu, "rocm_smi_error"), "");
  }
  EXPECT_EQ(gpus, 8);
}

TEST_F(CapturedSys, AGpuThatTheRealLibraryMissesIsNotSeenByIt) {
  unpack("kfd-mi210-xgmi-pcie.tar.gz");
  write_cards("0000:43:00.0");
  const Inventory inventory = seen();
  ASSERT_EQ(inventory.libraries.size(), 1u);
  for (const Device& gpu : inventory.devices)
    if (gpu.kind == DeviceKind::gpu)
      EXPECT_EQ(gpu.is_seen_by("rocm_smi"), to_string(gpu.address) != "0000:43:00.0") << to_string(gpu.address);
}

/// It is older than partitions, and knows the GPUs alone: none that is not there, none too few.
TEST_F(CapturedSys, PartitionsAreOneGpuForTheRealLibrary) {
  unpack("kfd-mi308-partitioned.tar.gz");
  write_cards();
  const Inventory inventory = seen();
  ASSERT_EQ(inventory.libraries.size(), 1u);
  int gpus = 0;
  for (const Device& gpu : inventory.devices) {
    if (gpu.kind != DeviceKind::gpu) continue;
    ++gpus;
    EXPECT_EQ(gpu.partitions, 4);
    EXPECT_TRUE(gpu.is_seen_by("rocm_smi")) << to_string(gpu.address);
    EXPECT_EQ(text_of(gpu, "rocm_smi_devices"), "1");
  }
  EXPECT_EQ(gpus, 8);
}

}  // namespace
}  // namespace muster
