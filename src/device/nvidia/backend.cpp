#include <fmt/format.h>

#include "device/collective_table.hpp"
#include "device/gpu_backend.hpp"
#include "device/gpu_blas_table.hpp"
#include "device/gpu_meter.hpp"
#include "device/nvidia/cuda.hpp"
#include "device/nvidia/nvml_watch.hpp"

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

}  // namespace

extern const GpuBackend nvidia_backend;
constexpr GpuBackend nvidia_backend{.vendor = "nvidia",
                                    .open_runtime = open_cuda,
                                    .open_blas = open_cublas,
                                    .open_collectives = open_nccl,
                                    .open_meter = meter_of_nvml,
                                    .open_watch = watch_of_nvml,
                                    .uuid_text = uuid_of_bytes,
                                    .open_mpi_query = "MPIX_Query_cuda_support",
                                    .mpich_kind = 0};

}  // namespace muster
