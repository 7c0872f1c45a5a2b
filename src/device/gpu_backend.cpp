#include "device/gpu_backend.hpp"

#include <algorithm>
#include <vector>

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

}  // namespace muster
