/// What the kernel's log says of GPUs since this boot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/pci_address.hpp"

namespace muster {

/// One error of a driver's.
struct KernelEvent {
  PciAddress at;
  int xid = 0;        ///< of NVIDIA's driver; 0: amdgpu's
  std::string words;  ///< the line, without what stands before the driver's own words
  friend bool operator==(const KernelEvent&, const KernelEvent&) = default;
};

/// In order: `NVRM: Xid (PCI:0000:c1:00): 79, ...`; of amdgpu resets, timeouts of rings, and uncorrectable errors.
/// Lines before the last boot (`Linux version`) are left out.
[[nodiscard]] std::vector<KernelEvent> parse_kernel_log(std::string_view text);

struct KernelLog {
  std::string file;  ///< it came from, without the root folder; empty: none can be read
  std::vector<KernelEvent> events;
};

/// /dev/kmsg, else /var/log/kern.log, else /var/log/messages, below `root`. Never waits, needs no right that it has
/// not.
[[nodiscard]] KernelLog read_kernel_log(const std::string& root);

}  // namespace muster
