// What the drivers of AMD and NVIDIA show of GPUs, and their device files.
#include <fmt/format.h>

#include "system/tree_writer.hpp"

namespace muster {

namespace {

/// Files of the control group's devices, or of everybody.
void write_files(const DescribedGpu& gpu, TreeWriter& tree) {
  if (gpu.file_mode == "none") return;
  for (const std::string& file : gpu.files)
    tree.write(file.substr(1), "", static_cast<unsigned>(std::stoul(gpu.file_mode, nullptr, 8)));
}

std::string minor_of(const DescribedGpu& gpu) {
  const std::string& file = gpu.files.front();
  return file.substr(file.find_last_not_of("0123456789") + 1);
}

void write_amd(const DescribedGpus& gpus, const DescribedGpu& gpu, std::size_t index, const std::string& folder,
               std::uint64_t unique, TreeWriter& tree) {
  tree.put(folder + "/product_name", gpus.model);
  tree.put(folder + "/vbios_version", gpus.firmware);
  tree.put(folder + "/mem_info_vram_total", std::to_string(gpus.memory));
  tree.put(folder + "/mem_info_vram_used", "11000000");
  tree.put(folder + "/ras/umc_err_count", "ue: 0\nce: 0");
  tree.put(fmt::format("{}/drm/renderD{}/dev", folder, minor_of(gpu)), "226:" + minor_of(gpu));
  const int bus = std::stoi(gpu.address.substr(5, 2), nullptr, 16);
  const int slot = std::stoi(gpu.address.substr(8, 2), nullptr, 16) << 3 | (gpu.address.back() - '0');
  tree.put(fmt::format("sys/class/kfd/kfd/topology/nodes/{}/properties", index + 1),
           fmt::format("cpu_cores_count 0\nsimd_count 440\nvendor_id {}\ndevice_id {}\nlocation_id {}\ndomain {}\n"
                       "drm_render_minor {}\nunique_id {}",
                       std::stoi(gpus.id.substr(0, 4), nullptr, 16), std::stoi(gpus.id.substr(5), nullptr, 16),
                       bus << 8 | slot, std::stoi(gpu.address.substr(0, 4), nullptr, 16), minor_of(gpu), unique));
}

void write_nvidia(const DescribedGpus& gpus, const DescribedGpu& gpu, std::uint64_t unique, TreeWriter& tree) {
  const std::string hex = fmt::format("{:016x}", unique);
  tree.put(fmt::format("proc/driver/nvidia/gpus/{}/information", gpu.address),
           fmt::format("Model: \t\t {}\nIRQ:   \t\t 100\nGPU UUID: \t GPU-{}-{}-{}-0000-{}\nVideo BIOS: \t {}\n"
                       "Bus Type: \t PCIe\nBus Location: \t {}\nDevice Minor: \t {}\nGPU Excluded:\t No",
                       gpus.model, hex.substr(0, 8), hex.substr(8, 4), hex.substr(12), hex.substr(0, 12),
                       gpus.firmware.empty() ? "??.??.??.??.??" : gpus.firmware, gpu.address, minor_of(gpu)));
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
    const std::uint64_t unique = number_of(machine.name + " " + host + " " + gpu.address);
    if (is_amd)
      write_amd(gpus, gpu, i, folder, unique, tree);
    else
      write_nvidia(gpus, gpu, unique, tree);
    write_files(gpu, tree);
  }
}

}  // namespace muster
