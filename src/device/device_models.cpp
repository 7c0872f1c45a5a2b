#include "device/device_models.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::string_view v100 = "NVIDIA V100 Tensor Core GPU, data sheet";
constexpr std::string_view a100 = "NVIDIA A100 Tensor Core GPU, data sheet";
constexpr std::string_view h100 = "NVIDIA H100 Tensor Core GPU, data sheet (figures with sparsity halved)";
constexpr std::string_view h200 = "NVIDIA H200 Tensor Core GPU, data sheet (figures with sparsity halved)";
constexpr std::string_view gh200 = "NVIDIA GH200 Grace Hopper Superchip, data sheet (figures with sparsity halved)";
constexpr std::string_view mi200 = "AMD Instinct MI200 series, data sheets (of one of two dies)";
constexpr std::string_view frontier =
    "AMD Instinct MI250X, data sheet (of one of two dies); links: OLCF, Frontier User Guide";
constexpr std::string_view mi300 = "AMD Instinct MI300 series, data sheets";

// Figures per second are those of the data sheets, of dense products; whole numbers of 8 bits are twice as fast as
// halves from Turing and CDNA 3 on, and as fast as these on CDNA 1 and 2 (test DeviceModels.WholeNumbersAndHalves).
// Caches: NVIDIA's tuning guides for Volta (6 MB), Turing (4), Ampere (40), Hopper (50 of an H100) and Ada (96). Hopper
// with six stacks of memory: all of the die, 60 MB (NVIDIA H100 Tensor Core GPU Architecture, white paper), more than
// what is published of them. AMD: "AMD GPU specifications" of the ROCm documentation, L2 of all dies and, of the MI300
// series, the Infinity Cache (256 MiB and 4 for each XCD). docs/methods/gpu_copy.md lists the parts not held
// against its source.

/// Where a name holds that of another one, the longer stands first.
constexpr std::array models = {
    DeviceModel{.name = "V100 SXM2",
                .part = "V100-SXM2",
                .processors = 80,
                .memory = 900,
                .cache = 6,
                .fp64 = 7.8,
                .fp32 = 15.7,
                .fp16 = 125,
                .links = 6,
                .link = 25,
                .pcie = 3,
                .source = v100},
    DeviceModel{.name = "T4",
                .part = "Tesla T4",
                .processors = 40,
                .memory = 320,
                .cache = 4,
                .fp32 = 8.1,
                .fp16 = 65,
                .int8 = 130,
                .pcie = 3,
                .source = "NVIDIA T4 Tensor Core GPU, data sheet"},
    DeviceModel{.name = "A100 SXM 40GB",
                .part = "A100-SXM4-40GB",
                .processors = 108,
                .memory = 1555,
                .cache = 40,
                .fp64 = 19.5,
                .fp32 = 19.5,
                .tf32 = 156,
                .fp16 = 312,
                .bf16 = 312,
                .int8 = 624,
                .links = 12,
                .link = 25,
                .pcie = 4,
                .source = a100},
    DeviceModel{.name = "A100 SXM 80GB",
                .part = "A100-SXM4-80GB",
                .processors = 108,
                .memory = 2039,
                .cache = 40,
                .fp64 = 19.5,
                .fp32 = 19.5,
                .tf32 = 156,
                .fp16 = 312,
                .bf16 = 312,
                .int8 = 624,
                .links = 12,
                .link = 25,
                .pcie = 4,
                .source = a100},
    DeviceModel{.name = "A100 PCIe 40GB",
                .part = "A100-PCIE-40GB",
                .processors = 108,
                .memory = 1555,
                .cache = 40,
                .fp64 = 19.5,
                .fp32 = 19.5,
                .tf32 = 156,
                .fp16 = 312,
                .bf16 = 312,
                .int8 = 624,
                .links = 12,
                .link = 25,
                .pcie = 4,
                .source = a100},
    DeviceModel{.name = "A100 PCIe 80GB",
                .part = "A100 80GB PCIe",
                .processors = 108,
                .memory = 1935,
                .cache = 40,
                .fp64 = 19.5,
                .fp32 = 19.5,
                .tf32 = 156,
                .fp16 = 312,
                .bf16 = 312,
                .int8 = 624,
                .links = 12,
                .link = 25,
                .pcie = 4,
                .source = a100},
    DeviceModel{.name = "H100 SXM",
                .part = "H100 80GB HBM3",
                .processors = 132,
                .memory = 3352,
                .cache = 50,
                .fp64 = 67,
                .fp32 = 67,
                .tf32 = 494.5,
                .fp16 = 989.5,
                .bf16 = 989.5,
                .int8 = 1979,
                .links = 18,
                .link = 25,
                .pcie = 5,
                .source = h100},
    DeviceModel{.name = "H100 PCIe",
                .part = "H100 PCIe",
                .processors = 114,
                .memory = 2039,
                .cache = 50,
                .fp64 = 51,
                .fp32 = 51,
                .tf32 = 378,
                .fp16 = 756.5,
                .bf16 = 756.5,
                .int8 = 1513,
                .links = 12,
                .link = 25,
                .pcie = 5,
                .source = h100},
    DeviceModel{.name = "H100 NVL",
                .part = "H100 NVL",
                .processors = 132,
                .memory = 3938,
                .cache = 60,
                .fp64 = 60,
                .fp32 = 60,
                .tf32 = 417.5,
                .fp16 = 835.5,
                .bf16 = 835.5,
                .int8 = 1671,
                .links = 12,
                .link = 25,
                .pcie = 5,
                .source = h100},
    DeviceModel{.name = "GH200 144GB",
                .part = "GH200 144G",
                .processors = 132,
                .memory = 4900,
                .cache = 60,
                .fp64 = 67,
                .fp32 = 67,
                .tf32 = 494.5,
                .fp16 = 990,
                .bf16 = 990,
                .int8 = 1979,
                .links = 18,
                .link = 25,
                .pcie = 5,
                .host = 450,
                .host_way = "NVLink-C2C",
                .source = gh200},
    DeviceModel{.name = "GH200 96GB",
                .part = "GH200",
                .processors = 132,
                .memory = 4000,
                .cache = 60,
                .fp64 = 67,
                .fp32 = 67,
                .tf32 = 494.5,
                .fp16 = 990,
                .bf16 = 990,
                .int8 = 1979,
                .links = 18,
                .link = 25,
                .pcie = 5,
                .host = 450,
                .host_way = "NVLink-C2C",
                .source = gh200},
    DeviceModel{.name = "H200 NVL",
                .part = "H200 NVL",
                .processors = 132,
                .memory = 4800,
                .cache = 60,
                .fp64 = 60,
                .fp32 = 60,
                .tf32 = 417.5,
                .fp16 = 835.5,
                .bf16 = 835.5,
                .int8 = 1671,
                .links = 18,
                .link = 25,
                .pcie = 5,
                .source = h200},
    DeviceModel{.name = "H200 SXM",
                .part = "NVIDIA H200",
                .processors = 132,
                .memory = 4800,
                .cache = 60,
                .fp64 = 67,
                .fp32 = 67,
                .tf32 = 494.5,
                .fp16 = 989.5,
                .bf16 = 989.5,
                .int8 = 1979,
                .links = 18,
                .link = 25,
                .pcie = 5,
                .source = h200},
    DeviceModel{.name = "L40S",
                .part = "L40S",
                .processors = 142,
                .memory = 864,
                .cache = 96,
                .fp32 = 91.6,
                .tf32 = 183,
                .fp16 = 362,
                .bf16 = 362,
                .int8 = 733,
                .pcie = 4,
                .source = "NVIDIA L40S GPU, data sheet"},
    DeviceModel{.name = "MI100",
                .part = "MI100",
                .processors = 120,
                .memory = 1229,
                .cache = 8,
                .fp64 = 11.5,
                .fp32 = 46.1,
                .fp16 = 184.6,
                .bf16 = 92.3,
                .int8 = 184.6,
                .pcie = 4,
                .source = "AMD Instinct MI100, data sheet"},
    DeviceModel{.name = "MI210",
                .part = "MI210",
                .processors = 104,
                .memory = 1638,
                .cache = 8,
                .fp64 = 45.3,
                .fp32 = 45.3,
                .fp16 = 181,
                .bf16 = 181,
                .int8 = 181,
                .pcie = 4,
                .source = mi200},
    DeviceModel{.name = "MI250X",
                .part = "MI250X",
                .processors = 110,
                .memory = 1638,
                .cache = 8,
                .fp64 = 47.9,
                .fp32 = 47.9,
                .fp16 = 191.5,
                .bf16 = 191.5,
                .int8 = 191.5,
                .links = 8,
                .link = 50,
                .pcie = 4,
                .host = 36,
                .host_way = "xGMI",
                .source = frontier},
    DeviceModel{.name = "MI250",
                .part = "MI250",
                .processors = 104,
                .memory = 1638,
                .cache = 8,
                .fp64 = 45.3,
                .fp32 = 45.3,
                .fp16 = 181,
                .bf16 = 181,
                .int8 = 181,
                .pcie = 4,
                .source = mi200},
    DeviceModel{.name = "MI300A",
                .part = "MI300A",
                .processors = 228,
                .memory = 5325,
                .cache = 280,
                .fp64 = 122.6,
                .fp32 = 122.6,
                .tf32 = 490.3,
                .fp16 = 980.6,
                .bf16 = 980.6,
                .int8 = 1961.2,
                .pcie = 5,
                .source = mi300},
    DeviceModel{.name = "MI300X",
                .part = "MI300X",
                .processors = 304,
                .memory = 5325,
                .cache = 288,
                .fp64 = 163.4,
                .fp32 = 163.4,
                .tf32 = 653.7,
                .fp16 = 1307.4,
                .bf16 = 1307.4,
                .int8 = 2614.9,
                .links = 7,
                .link = 64,
                .pcie = 5,
                .source = mi300},
    DeviceModel{.name = "MI325X",
                .part = "MI325X",
                .processors = 304,
                .memory = 6000,
                .cache = 288,
                .fp64 = 163.4,
                .fp32 = 163.4,
                .tf32 = 653.7,
                .fp16 = 1307.4,
                .bf16 = 1307.4,
                .int8 = 2614.9,
                .links = 7,
                .link = 64,
                .pcie = 5,
                .source = mi300},
};

constexpr double least_share = 0.8;

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::span<const DeviceModel> device_models() {
  return models;
}

const DeviceModel* find_device_model(std::string_view name, int processors) {
  if (holds(name, "MIG")) return nullptr;
  const auto found =
      std::find_if(models.begin(), models.end(), [&](const DeviceModel& model) { return holds(name, model.part); });
  if (found == models.end()) return nullptr;
  return processors > 0 && processors < least_share * found->processors ? nullptr : &*found;
}

const DeviceModel* find_whole_model(std::string_view name) {
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
