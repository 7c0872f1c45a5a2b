// GPUs of AMD in the files of a described machine: amdgpu's below /sys, KFD's, and what stand-ins of ROCm follow.
#include <fmt/format.h>

#include "model/described_vendor.hpp"

namespace muster {

namespace {

// What the stand-ins know (tests/house/driver_lines_test.py compares): functions, with a mark those that
// are about no GPU.
constexpr std::string_view calls_of_amd =
    "amdsmi_get_gpu_device_bdf amdsmi_get_gpu_memory_total amdsmi_get_gpu_memory_usage amdsmi_get_gpu_total_ecc_count "
    "amdsmi_get_lib_version* amdsmi_get_processor_handles amdsmi_get_processor_type amdsmi_get_socket_handles* "
    "amdsmi_get_temp_metric amdsmi_init* amdsmi_shut_down* amdsmi_status_code_to_string* amdsmi_topo_get_link_type "
    "amdsmi_topo_get_numa_node_number hipDeviceCanAccessPeer hipDeviceEnablePeerAccess hipDeviceGet "
    "hipDeviceGetAttribute hipDeviceGetName hipDeviceGetPCIBusId hipDeviceGetUuid hipDeviceTotalMem "
    "hipEventCreateWithFlags hipEventElapsedTime hipEventDestroy hipEventRecord hipFree hipGetDeviceCount* hipHostFree "
    "hipHostGetDevicePointer hipHostMalloc hipInit* hipMalloc hipMemGetInfo hipMemcpyAsync hipMemcpyPeerAsync "
    "hipMemsetD32Async hipModuleGetFunction hipModuleLaunchKernel hipModuleLoadData hipSetDevice "
    "hipStreamCreateWithFlags hipStreamDestroy hipStreamSynchronize hipStreamWaitEvent hipblasCreate hipblasDestroy "
    "hipblasGemmEx_v2 hipblasSetAtomicsMode hipblasSetStream hiprtcCompileProgram* rsmi_dev_ecc_count_get "
    "rsmi_dev_memory_total_get rsmi_dev_memory_usage_get rsmi_dev_pci_id_get rsmi_dev_power_ave_get "
    "rsmi_dev_temp_metric_get rsmi_dev_unique_id_get rsmi_init* rsmi_num_monitor_devices* rsmi_shut_down* "
    "rsmi_status_string* rsmi_topo_get_link_type rsmi_topo_get_numa_node_number rsmi_version_get* ";

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
void write_kfd_node(const DescribedGpus& gpus, std::size_t index, int part, const DescribedPlace& place,
                    TreeWriter& tree) {
  const DescribedGpu& gpu = gpus.devices[index];
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
                       minor_of(gpu.files[static_cast<std::size_t>(part)]), place.hive, place.uuid));
}

void write_amd(const DescribedGpus& gpus, std::size_t index, const DescribedPlace& place, TreeWriter& tree) {
  const DescribedGpu& gpu = gpus.devices[index];
  const std::string& folder = place.folder;
  tree.put(folder + "/product_name", gpus.model);
  tree.put(folder + "/vbios_version", gpus.firmware);
  tree.put(folder + "/mem_info_vram_total", std::to_string(gpus.memory));
  tree.put(folder + "/mem_info_vram_used", "11000000");
  tree.put(folder + "/ras/umc_err_count", "ue: 0\nce: 0");
  tree.put(folder + "/unique_id", fmt::format("{:016x}", std::stoull(place.uuid)));
  write_sensors(folder, tree);
  write_links(gpus, index, tree);
  tree.put(fmt::format("{}/drm/renderD{}/dev", folder, minor_of(gpu.files.front())),
           "226:" + minor_of(gpu.files.front()));
  const auto modes = [&](const char* file, const std::string& mode) {
    if (!mode.empty()) tree.put(folder + "/" + file, mode);
  };
  modes("current_compute_partition", gpu.is_whole ? "SPX" : gpus.compute_partition);
  modes("current_memory_partition", gpu.is_whole ? "NPS1" : gpus.memory_partition);
  for (int part = 0; part < parts_of(gpus, gpu); ++part) write_kfd_node(gpus, index, part, place, tree);
}

/// Each partition has its own.
std::vector<std::string> render_files(std::size_t index, int partitions) {
  std::vector<std::string> files;
  const auto parts = static_cast<std::size_t>(partitions);
  for (std::size_t part = 0; part < parts; ++part)
    files.push_back(fmt::format("/dev/dri/renderD{}", 128 + index * parts + part));
  return files;
}

/// As KFD writes it.
std::string decimal(std::uint64_t unique) {
  return std::to_string(unique);
}

void write_amdgpu(const DescribedGpus& /*gpus*/, const std::string& version, TreeWriter& tree) {
  tree.put("sys/module/amdgpu/version", version);
  tree.put("sys/class/kfd/kfd/topology/nodes/0/properties",
           "cpu_cores_count 64\nsimd_count 0\nlocation_id 0\ndomain 0");
  tree.write("dev/kfd", "", 0666);
}

}  // namespace

extern const DescribedVendor described_amd;
constexpr DescribedVendor described_amd{.class_code = "038000",
                                        .calls = calls_of_amd,
                                        .files_of = render_files,
                                        .uuid_of = decimal,
                                        .write_driver = write_amdgpu,
                                        .write_gpu = write_amd};

}  // namespace muster
