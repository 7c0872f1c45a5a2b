/// Power and clock of one GPU while it works: a light reading, made again and again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "device/call_watch.hpp"
#include "device/pci_address.hpp"

namespace muster {

struct GpuReading {
  std::optional<double> watts;
  std::optional<double> megahertz;  ///< of its multiprocessors
};

class GpuMeter {
 public:
  virtual ~GpuMeter() = default;
  /// Milliseconds, as a rule. What can't be had is left out.
  [[nodiscard]] virtual GpuReading read() = 0;
};

/// Of the GPU at `address`; a part of a GPU has that of the whole. nullptr: no source.
[[nodiscard]] std::unique_ptr<GpuMeter> open_gpu_meter(std::string_view vendor, const PciAddress& address,
                                                       const std::string& root, CallWatch watch);

}  // namespace muster
