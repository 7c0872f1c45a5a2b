#include <fmt/format.h>

#include "device/collective_table.hpp"
#include "device/gpu_backend.hpp"
#include "device/gpu_blas_table.hpp"
#include "device/gpu_meter.hpp"
#include "device/nvidia/cuda.hpp"
#include "device/nvidia/files.hpp"
#include "device/nvidia/kernel_log.hpp"
#include "device/nvidia/models.hpp"
#include "device/nvidia/nvml.hpp"
#include "device/nvidia/nvml_watch.hpp"
#include "device/nvidia/xid.hpp"

namespace muster {

namespace {

std::unique_ptr<GpuMeter> meter_of_nvml(const PciAddress& address, const std::string& /*root*/, CallWatch watch) {
  return open_nvml_meter(address, std::move(watch));
}

std::unique_ptr<GpuWatch> watch_of_nvml(const Inventory& inventory, CallWatch watch) {
  return NvmlWatch::open(inventory, std::move(watch));
}

std::string uuid_of_bytes(const std::array<unsigned char, 16>& bytes) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

bool has_units_for(int capability, NumberType type) {
  if (type == NumberType::tf32 || type == NumberType::bfloat16) return capability >= 80;
  if (type == NumberType::float16) return capability >= 70;
  return type != NumberType::int8 || capability >= 61;
}

}  // namespace

extern const GpuBackend nvidia_backend;
constexpr GpuBackend nvidia_backend{.vendor = "nvidia",
                                    .open_runtime = open_cuda,
                                    .open_blas = open_cublas,
                                    .open_collectives = open_nccl,
                                    .open_meter = meter_of_nvml,
                                    .open_watch = watch_of_nvml,
                                    .uuid_text = uuid_of_bytes,
                                    .has_type = has_units_for,
                                    .models = nvidia_models,
                                    .add_files = add_nvidia,
                                    .forgive_files = forgive_files_made_on_demand,
                                    .add_libraries = add_nvml,
                                    .add_links = add_nvml_links,
                                    .log = {numbered_by_nvidia, nvidia_heading, nullptr},
                                    .errors = {"xid", "Xid", xid_meaning, has_nvlink_subcode, xid_of_recovery},
                                    .open_mpi_query = "MPIX_Query_cuda_support",
                                    .mpich_kind = 0};

}  // namespace muster
