// What the drivers of AMD and NVIDIA show of GPUs, and their device files.
#include <fmt/format.h>

#include "system/tree_writer.hpp"

namespace muster {

namespace {

/// Files of the control group's devices, or of all users.
void write_files(const DescribedGpu& gpu, TreeWriter& tree) {
  if (gpu.file_mode == "none") return;
  for (const std::string& file : gpu.files)
    tree.write(file.substr(1), "", static_cast<unsigned>(std::stoul(gpu.file_mode, nullptr, 8)));
}

std::string minor_of(const std::string& file) {
  return file.substr(file.find_last_not_of("0123456789") + 1);
}

constexpr std::string_view kfd = "sys/class/kfd/kfd/topology/nodes";

/// Bandwidth of one xGMI link in MB/s, as KFD has it.
constexpr int link_bandwidth = 50000;

int links_between(const DescribedGpus& gpus, const DescribedGpu& a, const DescribedGpu& b) {
  for (const DescribedLinks& links : gpus.links)
    if ((links.from == a.address && links.to == b.address) || (links.from == b.address && links.to == a.address))
      return links.count;
  return 0;
}

int parts_of(const DescribedGpus& gpus, const DescribedGpu& gpu) {
  return gpu.is_whole ? 1 : gpus.partitions;
}

/// KFD counts every partition; 0 is the processor.
std::size_t kfd_node(const DescribedGpus& gpus, std::size_t index) {
  std::size_t node = 1;
  for (std::size_t before = 0; before < index; ++before)
    node += static_cast<std::size_t>(parts_of(gpus, gpus.devices[before]));
  return node;
}

/// KFD's number for a kind of link: 11 is xGMI. Pairs without a link of their own reach one another over a third.
void write_links(const DescribedGpus& gpus, std::size_t index, TreeWriter& tree) {
  const std::size_t node = kfd_node(gpus, index);
  const std::string folder = fmt::format("{}/{}/io_links", kfd, node);
  const auto put = [&](std::size_t number, int type, std::size_t to, int weight, int least, int most) {
    tree.put(fmt::format("{}/{}/properties", folder, number),
             fmt::format("type {}\nversion_major 0\nversion_minor 0\nnode_from {}\nnode_to {}\nweight {}\n"
                         "min_bandwidth {}\nmax_bandwidth {}\nflags 1",
                         type, node, to, weight, least, most));
  };
  put(0, 2, 0, 20, 312, 32000);
  if (gpus.links.empty()) return;
  std::size_t number = 1;
  for (std::size_t other = 0; other < gpus.devices.size(); ++other) {
    if (other == index) continue;
    const int count = links_between(gpus, gpus.devices[index], gpus.devices[other]);
    put(number++, 11, kfd_node(gpus, other), count > 0 ? 15 : 30, count > 0 ? link_bandwidth : 0,
        count * link_bandwidth);
  }
}

void write_sensors(const std::string& folder, TreeWriter& tree) {
  constexpr std::string_view labels[] = {"edge", "junction", "mem"};
  for (int i = 0; i < 3; ++i) {
    const std::string sensor = fmt::format("{}/hwmon/hwmon0/temp{}_", folder, i + 1);
    tree.put(sensor + "label", labels[i]);
    tree.put(sensor + "input", std::to_string(40000 + 2000 * i));
    tree.put(sensor + "crit", "105000");
  }
  tree.put(folder + "/hwmon/hwmon0/power1_average", "90000000");
  tree.put(folder + "/hwmon/hwmon0/power1_cap", "560000000");
}

/// A GPU, or one of its partitions.
void write_kfd_node(const DescribedGpus& gpus, const DescribedGpu& gpu, std::size_t index, int part,
                    const std::string& unique, std::uint64_t hive, TreeWriter& tree) {
  const auto bus = static_cast<unsigned>(std::stoi(gpu.address.substr(5, 2), nullptr, 16));
  const auto slot =
      static_cast<unsigned>(std::stoi(gpu.address.substr(8, 2), nullptr, 16) << 3 | (gpu.address.back() - '0'));
  const unsigned number = static_cast<unsigned>(part) << (gpus.is_partition_low ? 0 : 28);
  const std::size_t node = kfd_node(gpus, index) + static_cast<std::size_t>(part);
  const std::string folder = fmt::format("{}/{}", kfd, node);
  tree.put(folder + "/gpu_id", std::to_string(9999 + node));
  tree.put(folder + "/mem_banks/0/properties", fmt::format("heap_type 1\nsize_in_bytes {}\nflags 0",
                                                           gpus.memory / static_cast<unsigned>(parts_of(gpus, gpu))));
  tree.put(folder + "/properties",
           fmt::format("cpu_cores_count 0\nsimd_count 440\nvendor_id {}\ndevice_id {}\nlocation_id {}\ndomain {}\n"
                       "drm_render_minor {}\nhive_id {}\nunique_id {}",
                       std::stoi(gpus.id.substr(0, 4), nullptr, 16), std::stoi(gpus.id.substr(5), nullptr, 16),
                       bus << 8 | slot | number, std::stoi(gpu.address.substr(0, 4), nullptr, 16),
                       minor_of(gpu.files[static_cast<std::size_t>(part)]), hive, unique));
}

void write_amd(const DescribedGpus& gpus, const DescribedGpu& gpu, std::size_t index, const std::string& folder,
               const std::string& unique, std::uint64_t hive, TreeWriter& tree) {
  tree.put(folder + "/product_name", gpus.model);
  tree.put(folder + "/vbios_version", gpus.firmware);
  tree.put(folder + "/mem_info_vram_total", std::to_string(gpus.memory));
  tree.put(folder + "/mem_info_vram_used", "11000000");
  tree.put(folder + "/ras/umc_err_count", "ue: 0\nce: 0");
  tree.put(folder + "/unique_id", fmt::format("{:016x}", std::stoull(unique)));
  write_sensors(folder, tree);
  write_links(gpus, index, tree);
  tree.put(fmt::format("{}/drm/renderD{}/dev", folder, minor_of(gpu.files.front())),
           "226:" + minor_of(gpu.files.front()));
  const auto modes = [&](const char* file, const std::string& mode) {
    if (!mode.empty()) tree.put(folder + "/" + file, mode);
  };
  modes("current_compute_partition", gpu.is_whole ? "SPX" : gpus.compute_partition);
  modes("current_memory_partition", gpu.is_whole ? "NPS1" : gpus.memory_partition);
  for (int part = 0; part < parts_of(gpus, gpu); ++part) write_kfd_node(gpus, gpu, index, part, unique, hive, tree);
}

void write_nvidia(const DescribedGpus& gpus, const DescribedGpu& gpu, const std::string& uuid, TreeWriter& tree) {
  tree.put(fmt::format("proc/driver/nvidia/gpus/{}/information", gpu.address),
           fmt::format("Model: \t\t {}\nIRQ:   \t\t 100\nGPU UUID: \t {}\nVideo BIOS: \t {}\n"
                       "Bus Type: \t PCIe\nBus Location: \t {}\nDevice Minor: \t {}\nGPU Excluded:\t No",
                       gpus.model, uuid, gpus.firmware.empty() ? "??.??.??.??.??" : gpus.firmware, gpu.address,
                       minor_of(gpu.files.front())));
}

void write_driver(const DescribedGpus& gpus, TreeWriter& tree) {
  const std::string version = gpus.driver_version.empty() ? "0.0" : gpus.driver_version;
  if (gpus.vendor == "amd") {
    tree.put("sys/module/amdgpu/version", version);
    tree.put("sys/class/kfd/kfd/topology/nodes/0/properties",
             "cpu_cores_count 64\nsimd_count 0\nlocation_id 0\ndomain 0");
    tree.write("dev/kfd", "", 0666);
    return;
  }
  tree.folder("proc/driver/nvidia/gpus");
  tree.put("sys/module/nvidia/version", version);
  tree.put("proc/driver/nvidia/version",
           fmt::format("NVRM version: NVIDIA UNIX Open Kernel Module  {}  Release Build", version));
  for (const char* file : {"dev/nvidiactl", "dev/nvidia-uvm"}) tree.write(file, "", 0666);
  tree.link("usr/lib64/libnvidia-ml.so.1", "usr/lib64/libnvidia-ml.so." + version);
}

}  // namespace

std::string uuid_of(const MachineDescription& machine, const std::string& host, const DescribedGpu& gpu) {
  const std::uint64_t unique = number_of(machine.name + " " + host + " " + gpu.address);
  if (machine.gpus.vendor == "amd") return std::to_string(unique);
  const std::string hex = fmt::format("{:016x}", unique);
  return fmt::format("GPU-{}-{}-{}-0000-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12), hex.substr(0, 12));
}

void write_gpus(const MachineDescription& machine, const std::string& host, TreeWriter& tree) {
  const DescribedGpus& gpus = machine.gpus;
  if (gpus.vendor.empty()) return;
  const bool is_amd = gpus.vendor == "amd";
  write_driver(gpus, tree);
  for (std::size_t i = 0; i < gpus.devices.size(); ++i) {
    const DescribedGpu& gpu = gpus.devices[i];
    const std::string folder =
        write_function(machine,
                       {gpu.address, gpus.id, is_amd ? "038000" : "030200", is_amd ? "amdgpu" : "nvidia", gpu.domain,
                        gpu.near, gpu.lanes, gpu.is_lost},
                       tree);
    if (is_amd)
      write_amd(gpus, gpu, i, folder, uuid_of(machine, host, gpu),
                gpus.links.empty() ? 0 : number_of(machine.name + " " + host + " hive"), tree);
    else
      write_nvidia(gpus, gpu, uuid_of(machine, host, gpu), tree);
    write_files(gpu, tree);
  }
}

}  // namespace muster
