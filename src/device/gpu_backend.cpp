#include "device/gpu_backend.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <vector>

#include "device/gpu_meter.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

int place_of_backend(const GpuBackend* backend) {
  return terms_of_vendor(backend->vendor).place;
}

}  // namespace

std::span<const GpuBackend* const> gpu_backends() {
  static const std::vector<const GpuBackend*> sorted = [] {
    const auto listed = listed_gpu_backends();
    std::vector<const GpuBackend*> all(listed.begin(), listed.end());
    std::stable_sort(all.begin(), all.end(),
                     [](const auto* a, const auto* b) { return place_of_backend(a) < place_of_backend(b); });
    return all;
  }();
  return sorted;
}

const GpuBackend* find_gpu_backend(std::string_view vendor) {
  const auto all = gpu_backends();
  const auto found = std::find_if(all.begin(), all.end(), [&](const GpuBackend* one) { return one->vendor == vendor; });
  return found == all.end() ? nullptr : *found;
}

void add_gpu_links(Inventory& inventory, const CallWatch& watch) {
  for (const GpuBackend* backend : gpu_backends())
    if (backend->add_links != nullptr) backend->add_links(inventory, watch);
}

const DriverErrors* find_driver_errors(std::string_view kind) {
  for (const GpuBackend* backend : gpu_backends())
    if (!kind.empty() && backend->errors.kind == kind) return &backend->errors;
  return nullptr;
}

std::string labels_of_driver_errors() {
  std::string labels;
  for (const GpuBackend* backend : gpu_backends())
    if (!backend->errors.label.empty()) labels += (labels.empty() ? "" : ", ") + std::string(backend->errors.label);
  return labels;
}

std::unique_ptr<GpuMeter> open_gpu_meter(std::string_view vendor, const PciAddress& address, const std::string& root,
                                         CallWatch watch) {
  const GpuBackend* backend = find_gpu_backend(vendor);
  return backend == nullptr || backend->open_meter == nullptr ? nullptr
                                                              : backend->open_meter(address, root, std::move(watch));
}

// Extensions that only some libraries have: looked for in this process, not linked.
std::optional<bool> is_mpi_gpu_aware(std::string_view vendor) {
  const GpuBackend* backend = find_gpu_backend(vendor);
  if (backend == nullptr) return std::nullopt;
  if (backend->open_mpi_query != nullptr)
    if (auto* ask = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, backend->open_mpi_query))) return ask() == 1;
  if (backend->mpich_kind < 0) return std::nullopt;
  // MPICH's and Cray's, which count CUDA 0, Level Zero 1 and HIP 2.
  if (auto* ask = reinterpret_cast<int (*)(int, int*)>(::dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support"))) {
    int is_supported = 0;
    if (ask(backend->mpich_kind, &is_supported) == 0) return is_supported != 0;
  }
  return std::nullopt;
}

}  // namespace muster
