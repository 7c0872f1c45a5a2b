/// What GPUs of known models can do at most, according to their vendors. For limits, and for the label `model` of
/// readings.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster {

/// One model; of a GPU that is made of two, such as the MI250X, one half. 0: unknown.
struct DeviceModel {
  std::string_view name = {};      ///< the label: `H100 SXM`
  std::string_view part = {};      ///< of the name that a runtime gives it: `H100 80GB HBM3`
  int processors = 0;              ///< SMs, compute units; a device with far fewer is a share of one
  double memory = 0;               ///< GB/s of its memory
  double cache = 0;                ///< MiB of all that caches it for the whole device
  double fp64 = 0;                 ///< TFLOP/s of dense matrix products, by the fastest units that it has for them
  double fp32 = 0;                 ///< as above, without rounding to TF32
  double tf32 = 0;                 ///< as above
  double fp16 = 0;                 ///< as above
  double bf16 = 0;                 ///< as above
  double int8 = 0;                 ///< as above, whole numbers
  int links = 0;                   ///< NVLinks or xGMI links of a GPU
  double link = 0;                 ///< GB/s of one of them in one direction
  int pcie = 0;                    ///< generation of its 16 lanes
  double host = 0;                 ///< GB/s and direction to its host by another way than PCIe
  std::string_view host_way = {};  ///< `NVLink-C2C`, `xGMI`
  std::string_view source = {};    ///< origin
};

[[nodiscard]] std::span<const DeviceModel> device_models();
/// The model of a device that calls itself `name`; nullptr: none that is known. A MIG instance, and a device with far
/// fewer processors than its model (0: unknown) are shares of a GPU, which none of this is about.
[[nodiscard]] const DeviceModel* find_device_model(std::string_view name, int processors = 0);
/// The value of the label `model`: the name in the table, else what the device calls itself, fit to print.
[[nodiscard]] std::string model_label(std::string_view name, int processors = 0);
/// TFLOP/s of dense matrix products in `fp64`, `fp32`, `tf32`, `fp16` or `bf16` (also `double`, `float`, `half`,
/// `bfloat16`); 0: unknown.
[[nodiscard]] double peak_products(const DeviceModel& model, std::string_view precision);
/// As above, of a device that calls itself so.
[[nodiscard]] double peak_products(std::string_view name, int processors, std::string_view precision);

// What nothing real exceeds. 0: not known.

/// The model of a device that calls itself `name`, also of a share of one, which is never faster than the whole;
/// nullptr: none that is known.
[[nodiscard]] const DeviceModel* find_whole_model(std::string_view name);
/// TFLOP/s as peak_products, also of `int8`, at the highest clock.
[[nodiscard]] double most_products(const DeviceModel& model, std::string_view precision);
/// GB/s of a pass that reads and writes `traffic` bytes, of which caches may have kept `kept`. 0 also where that is
/// more than half.
[[nodiscard]] double most_of_memory(const DeviceModel& model, double traffic, double kept);
/// GB/s in one direction of all links of a GPU: NVLink or xGMI, to its host, PCIe.
[[nodiscard]] double most_of_links(const DeviceModel& model);

/// Bytes per second and direction of a PCIe link of `lanes` at `speed` GT/s per lane, without what headers of packets
/// take. Code of 128/130 from PCIe 3 (8 GT/s) on, before 8/10.
[[nodiscard]] double pcie_rate(int lanes, double speed);
/// GT/s per lane of a generation; 0: there is none such.
[[nodiscard]] double pcie_speed(int generation);

}  // namespace muster
