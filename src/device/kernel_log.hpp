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
  std::string words;  ///< the driver's message
  friend bool operator==(const KernelEvent&, const KernelEvent&) = default;
};

/// Of records as /dev/kmsg gives them (`PRIORITY,NUMBER,MICROSECONDS,FLAGS;MESSAGE`), in order:
/// `NVRM: Xid (PCI:0000:c1:00): 79, ...`; of amdgpu resets, timeouts of rings, and uncorrectable errors. A record
/// counts where it is of the kernel's facility and its message begins so: names of programs, which users choose, stand
/// in messages too. All records are of this boot, as their clock began with it.
[[nodiscard]] std::vector<KernelEvent> parse_kernel_log(std::string_view text);

struct KernelLog {
  std::string file;  ///< it came from, without the root folder; empty: none can be read
  std::vector<KernelEvent> events;
};

/// /dev/kmsg below `root`; not the files of a log daemon, in which lines of other users look like the kernel's. Never
/// waits, needs no right that it has not.
[[nodiscard]] KernelLog read_kernel_log(const std::string& root);

}  // namespace muster
