// Captures of nvidia-smi become machines, and the inventory of each says what the capture says.
#include "device/nvidia_capture.hpp"

#include <algorithm>
#include <cctype>

namespace muster {
namespace {

using capture::Gpu;
using capture::Smi;

std::string value(const Device& device, const std::string& key) {
  const auto found = device.values.find(key);
  return found == device.values.end() ? "" : found->second;
}

struct Wanted {
  std::string file, state;  ///< `idle`, `load`; empty: XML
  std::size_t gpus, parts;
  int nvlinks;
};

void PrintTo(const Wanted& wanted, std::ostream* out) {
  *out << wanted.file << (wanted.state.empty() ? "" : ", ") << wanted.state;
}

class NvidiaCapture : public testing::TestWithParam<Wanted> {
 protected:
  void SetUp() override {
    const char* captures = std::getenv("MUSTER_CAPTURES");
    if (captures == nullptr || *captures == 0) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
    const auto text = read_file(fs::path(captures) / "nvidia" / GetParam().file);
    ASSERT_TRUE(text) << to_string(text.error());
    smi_ = GetParam().state.empty() ? capture::parse_xml(*text) : capture::parse_text(*text, GetParam().state);
  }
  Smi smi_;
};

std::string sum(const std::string& a, const std::string& b) {
  return std::to_string(std::atoi(a.c_str()) + std::atoi(b.c_str()));
}

std::string or_none(const std::string& text) {
  return text.empty() ? "none" : text;
}

void add_lines(const Smi& smi, const Gpu& gpu, std::size_t index, std::vector<std::string>& lines) {
  const auto set = [&](const std::string& key, const std::string& text) {
    lines.push_back(fmt::format("set {} {} {}", index, key, text));
  };
  for (const auto& [key, paths] : capture::numbers) set(key, or_none(capture::number_in(gpu.first(paths))));
  for (const auto& [key, paths] : capture::switches) {
    const std::string text = gpu.first(paths);
    set(key, text.empty() ? "none" : text == "Enabled" || text == "Yes" ? "on" : "off");
  }
  for (const char* kind : {"corrected", "uncorrected"}) {
    const auto of = [&](const std::string& place) {
      for (const auto& [key, paths] : capture::numbers)
        if (key == place + "_" + kind) return gpu.first(paths);
      return std::string();
    };
    set(fmt::format("ecc_{}", kind), sum(of("sram"), of("dram")));
  }
  set("uuid", gpu.first("GPU UUID|uuid"));
  set("serial", gpu.first("Serial Number|serial"));
  set("firmware", gpu.first("VBIOS Version|vbios_version"));
  set("throttle_bits", std::to_string(capture::throttle_bits(gpu)));
  set("fabric_state", gpu.first("Fabric/State|fabric/state") == "Completed" ? "3" : "none");
  set("nvlinks", std::to_string(smi.nvlinks));
  if (const auto list = capture::processes_of(gpu); !list.empty()) set("processes", join(list, " "));
  const auto instances = capture::of_parts(gpu, "GPU Instance ID", "gpu_instance_id");
  if (instances.empty()) return;
  std::vector<std::string> memory, profiles = smi.mig_profiles;
  const auto total = capture::of_parts(gpu, "Shared FB Memory Usage/Total", "fb_memory_usage/total");
  const auto used = capture::of_parts(gpu, "Shared FB Memory Usage/Used", "fb_memory_usage/used");
  for (std::size_t i = 0; i < instances.size(); ++i) {
    memory.push_back(capture::number_in(total.at(i)) + ":" + capture::number_in(used.at(i)));
    if (smi.mig_profiles.empty()) profiles.push_back("1g.20gb");  // XML has no name of it
  }
  set("mig_profiles", join(profiles, " "));
  set("mig_instances", join(instances, " "));
  set("mig_memory", join(memory, " "));
  if (!smi.mig_uuids.empty()) set("mig_uuids", join(smi.mig_uuids, " "));
}

MachineDescription machine_of(const Smi& smi) {
  MachineDescription machine = shipped_machine("vista");
  machine.gpus.devices.clear();
  machine.gpus.driver.clear();
  machine.nics.clear();
  const Gpu& first = smi.gpus.at(0);
  const std::string ids = first.first("PCI/Device Id|pci/pci_device_id");  // 0x233010DE
  machine.gpus.id = "10de:";
  for (const char letter : ids.substr(ids.size() - 8, 4)) machine.gpus.id += static_cast<char>(std::tolower(letter));
  machine.gpus.model = first.first("Product Name|product_name");
  machine.gpus.driver_version = smi.driver;
  machine.gpus.firmware = first.first("VBIOS Version|vbios_version");
  for (std::size_t i = 0; i < smi.gpus.size(); ++i) {
    DescribedGpu gpu;
    gpu.address = to_string(*parse_pci_address(smi.gpus[i].address));
    gpu.domain = 0;
    gpu.files = {fmt::format("/dev/nvidia{}", i)};
    machine.gpus.devices.push_back(gpu);
    add_lines(smi, smi.gpus[i], i, machine.gpus.driver);
  }
  return machine;
}

void expect_parts(const Smi& smi, const Gpu& gpu, const Inventory& inventory, const Device& whole) {
  const auto instances = capture::of_parts(gpu, "GPU Instance ID", "gpu_instance_id");
  const auto total = capture::of_parts(gpu, "Shared FB Memory Usage/Total", "fb_memory_usage/total");
  const auto used = capture::of_parts(gpu, "Shared FB Memory Usage/Used", "fb_memory_usage/used");
  std::size_t seen = 0;
  for (const Device& part : inventory.devices) {
    if (part.kind != DeviceKind::part || part.address != whole.address) continue;
    const auto index = static_cast<std::size_t>(part.part);
    EXPECT_EQ(part.parent, whole.uuid);
    EXPECT_EQ(value(part, "gpu_instance"), instances.at(index));
    EXPECT_EQ(value(part, "memory_total"), capture::number_in(total.at(index)));
    EXPECT_EQ(value(part, "memory_used"), capture::number_in(used.at(index)));
    if (!smi.mig_uuids.empty()) {
      EXPECT_EQ(part.uuid, smi.mig_uuids.at(index));
    }
    if (!smi.mig_profiles.empty()) {
      EXPECT_EQ(value(part, "profile"), smi.mig_profiles.at(index));
    }
    ++seen;
  }
  EXPECT_EQ(seen, instances.size());
}

void expect_gpu(const Smi& smi, const Gpu& gpu, const Inventory& inventory) {
  const Device* device = inventory.gpu_at(*parse_pci_address(gpu.address));
  ASSERT_NE(device, nullptr) << gpu.address;
  EXPECT_TRUE(device->is_seen_by("nvml") && device->is_seen_by("pci") && device->is_seen_by("nvidia"));
  EXPECT_EQ(device->uuid, gpu.first("GPU UUID|uuid"));
  EXPECT_EQ(value(*device, "nvml_uuid"), "") << "the sources agree";
  EXPECT_EQ(value(*device, "nvml_error"), "");
  EXPECT_EQ(device->name, gpu.first("Product Name|product_name"));
  EXPECT_EQ(device->firmware, gpu.first("VBIOS Version|vbios_version"));
  for (const auto& [key, paths] : capture::numbers) {
    std::string wanted = capture::number_in(gpu.first(paths));
    EXPECT_EQ(value(*device, key), wanted) << key;
  }
  for (const auto& [key, paths] : capture::switches) {
    const std::string text = gpu.first(paths);
    const bool is_on = text == "Enabled" || text == "Yes";
    const bool is_word = key == "persistence" || key == "ecc" || key == "mig";
    EXPECT_EQ(value(*device, key), text.empty() ? "" : is_word ? is_on ? "on" : "off" : is_on ? "yes" : "no") << key;
  }
  const std::string names = throttle_names(static_cast<std::uint64_t>(capture::throttle_bits(gpu)));
  EXPECT_EQ(value(*device, "throttled_by"), names.empty() ? "nothing" : names);
  for (const std::string& process : capture::processes_of(gpu)) {
    const auto colon = process.find(':');
    EXPECT_NE(value(*device, "processes").find(process.substr(0, colon) + " (" + process.substr(colon + 1) + " MiB)"),
              std::string::npos);
  }
  int up = 0;
  for (const PeerLink& peer : device->peers) up += peer.up;
  EXPECT_EQ(up, smi.nvlinks);
  expect_parts(smi, gpu, inventory, *device);
}

TEST_P(NvidiaCapture, IsInTheInventory) {
  ASSERT_EQ(smi_.gpus.size(), GetParam().gpus);
  EXPECT_EQ(smi_.nvlinks, GetParam().nvlinks);
  std::map<std::string, std::string> uuids;
  for (const Gpu& gpu : smi_.gpus) uuids[to_string(*parse_pci_address(gpu.address))] = gpu.first("GPU UUID|uuid");
  const Asked reported = asked(machine_of(smi_), MUSTER_STAND_INS "/drivers", uuids);
  std::size_t gpus = 0, parts = 0;
  for (const Device& device : reported.inventory.devices) {
    gpus += device.kind == DeviceKind::gpu;
    parts += device.kind == DeviceKind::part;
  }
  EXPECT_EQ(gpus, GetParam().gpus);
  EXPECT_EQ(parts, GetParam().parts);
  EXPECT_EQ(reported.inventory.versions.at("nvidia"), smi_.driver);
  for (const Gpu& gpu : smi_.gpus) expect_gpu(smi_, gpu, reported.inventory);
}

INSTANTIATE_TEST_SUITE_P(All, NvidiaCapture,
                         testing::Values(Wanted{"h100-80gb-hbm3.txt", "idle", 1, 0, 18},
                                         Wanted{"h100-80gb-hbm3.txt", "load", 1, 0, 18},
                                         Wanted{"h100-mig.txt", "idle", 1, 4, 0},
                                         Wanted{"h100-mig.txt", "load", 1, 4, 0}, Wanted{"l40s.txt", "idle", 1, 0, 0},
                                         Wanted{"l40s.txt", "load", 1, 0, 0}, Wanted{"a100-sxm4-v12.xml", "", 1, 4, 0},
                                         Wanted{"tesla-t4.xml", "", 1, 0, 0}),
                         [](const auto& wanted) {
                           std::string name = fs::path(wanted.param.file).stem().string() + "_" + wanted.param.state;
                           std::replace_if(
                               name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace muster
