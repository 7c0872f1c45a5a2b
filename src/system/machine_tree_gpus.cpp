// What the drivers of a described machine show of its GPUs, and their device files.
#include <fmt/format.h>

#include "model/described_vendor.hpp"
#include "model/gpu_vendor.hpp"
#include "system/tree_writer.hpp"

namespace muster {

namespace {

/// Files of the control group's devices, or of all users.
void write_files(const DescribedGpu& gpu, TreeWriter& tree) {
  if (gpu.file_mode == "none") return;
  for (const std::string& file : gpu.files)
    tree.write(file.substr(1), "", static_cast<unsigned>(std::stoul(gpu.file_mode, nullptr, 8)));
}

}  // namespace

std::string uuid_of(const MachineDescription& machine, const std::string& host, const DescribedGpu& gpu) {
  const DescribedVendor* vendor = terms_of_vendor(machine.gpus.vendor).described;
  return vendor == nullptr ? "" : vendor->uuid_of(number_of(machine.name + " " + host + " " + gpu.address));
}

void write_gpus(const MachineDescription& machine, const std::string& host, TreeWriter& tree) {
  const DescribedGpus& gpus = machine.gpus;
  const GpuVendor& vendor = terms_of_vendor(gpus.vendor);
  if (vendor.described == nullptr) return;
  vendor.described->write_driver(gpus, gpus.driver_version.empty() ? "0.0" : gpus.driver_version, tree);
  for (std::size_t i = 0; i < gpus.devices.size(); ++i) {
    const DescribedGpu& gpu = gpus.devices[i];
    const std::string folder =
        write_function(machine,
                       {gpu.address, gpus.id, std::string(vendor.described->class_code), std::string(vendor.driver),
                        gpu.domain, gpu.near, gpu.lanes, gpu.is_lost},
                       tree);
    const std::uint64_t hive = gpus.links.empty() ? 0 : number_of(machine.name + " " + host + " hive");
    vendor.described->write_gpu(gpus, i, {folder, uuid_of(machine, host, gpu), hive}, tree);
    write_files(gpu, tree);
  }
}

}  // namespace muster
