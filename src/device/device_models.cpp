#include "device/device_models.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.hpp"
#include "device/gpu_backend.hpp"

namespace muster {

namespace {

constexpr double least_share = 0.8;

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::span<const DeviceModel> device_models() {
  static const std::vector<DeviceModel> all = [] {
    std::vector<DeviceModel> models;
    for (const GpuBackend* backend : gpu_backends())
      models.insert(models.end(), backend->models.begin(), backend->models.end());
    return models;
  }();
  return all;
}

const DeviceModel* find_device_model(std::string_view name, int processors) {
  if (holds(name, "MIG")) return nullptr;
  const auto models = device_models();
  const auto found =
      std::find_if(models.begin(), models.end(), [&](const DeviceModel& model) { return holds(name, model.part); });
  if (found == models.end()) return nullptr;
  return processors > 0 && processors < least_share * found->processors ? nullptr : &*found;
}

const DeviceModel* find_whole_model(std::string_view name) {
  const auto models = device_models();
  const auto found =
      std::find_if(models.begin(), models.end(), [&](const DeviceModel& model) { return holds(name, model.part); });
  return found == models.end() ? nullptr : &*found;
}

double most_products(const DeviceModel& model, std::string_view precision) {
  // Highest clocks lie up to 16 % above those that data sheets count with (H100 NVL: 1785 and 1545 MHz).
  constexpr double above_sheet = 1.2;
  return above_sheet * (precision == "int8" ? model.int8 : peak_products(model, precision));
}

double most_of_memory(const DeviceModel& model, double traffic, double kept) {
  return model.memory <= 0 || model.cache <= 0 || kept > traffic / 2 ? 0 : model.memory * traffic / (traffic - kept);
}

double most_of_links(const DeviceModel& model) {
  if (model.links <= 0 || model.link <= 0) return 0;
  constexpr int lanes = 16;
  return model.links * model.link + model.host + 1e-9 * pcie_rate(lanes, pcie_speed(model.pcie));
}

std::string model_label(std::string_view name, int processors) {
  const DeviceModel* model = find_device_model(name, processors);
  return model == nullptr ? printable_line(name, 60) : std::string(model->name);
}

double peak_products(const DeviceModel& model, std::string_view precision) {
  if (precision == "fp64" || precision == "double") return model.fp64;
  if (precision == "fp32" || precision == "float") return model.fp32;
  if (precision == "tf32") return model.tf32;
  if (precision == "fp16" || precision == "half") return model.fp16;
  return precision == "bf16" || precision == "bfloat16" ? model.bf16 : 0;
}

double peak_products(std::string_view name, int processors, std::string_view precision) {
  const DeviceModel* model = find_device_model(name, processors);
  return model == nullptr ? 0 : peak_products(*model, precision);
}

double pcie_rate(int lanes, double speed) {
  const double code = speed < 8 ? 0.8 : 128.0 / 130.0;
  return lanes <= 0 || speed <= 0 ? 0 : lanes * speed * 1e9 / 8 * code;
}

double pcie_speed(int generation) {
  constexpr std::array speeds = {0.0, 2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  return generation < 0 || generation >= static_cast<int>(speeds.size()) ? 0
                                                                         : speeds[static_cast<std::size_t>(generation)];
}

}  // namespace muster
