/// The data of NVIDIA's management library on this node's GPUs, joined into an inventory that the kernel's sources
/// filled. docs/methods/device_visibility.md has the names of the values.
#pragma once

#include "device/call_watch.hpp"
#include "device/gpu_meter.hpp"
#include "device/inventory.hpp"

namespace muster {

/// Opens `libnvidia-ml.so.1` and asks it all; does nothing on a node where the kernel knows neither a GPU nor a driver
/// of NVIDIA, nor on a simulated machine without stand-ins. The library's own data becomes a LibraryReport; a
/// GPU that it refuses to query has the value `nvml_error`. May take seconds where no process keeps the GPUs awake,
/// and for ever where the driver hangs: `watch` is called before every call.
void add_nvml(Inventory& inventory, const CallWatch& watch = {});
/// As above, of the links of the GPUs alone: PCIe and NVLink.
void add_nvml_links(Inventory& inventory, const CallWatch& watch = {});

/// Power and clock by libnvidia-ml, whose power is the mean of the last second from Ampere on.
[[nodiscard]] std::unique_ptr<GpuMeter> open_nvml_meter(const PciAddress& address, CallWatch watch);

/// `hw_slowdown, sw_thermal` of NVML's bits; empty: none.
[[nodiscard]] std::string throttle_names(std::uint64_t bits);

}  // namespace muster
