/// This node's hardware in the kernel's log since this boot.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/pci_address.hpp"
#include "model/kernel_patterns.hpp"

namespace muster {

/// All but numbered errors, which have a catalogue of their own (device/driver_errors.hpp).
[[nodiscard]] std::span<const KernelKind> kernel_kinds();
[[nodiscard]] std::span<const KernelPattern> kernel_patterns();
/// nullptr: there is none of this name.
[[nodiscard]] const KernelKind* find_kernel_kind(std::string_view name);

/// One message about hardware.
struct KernelEvent {
  std::string kind;              ///< `xid`, or one of those above
  std::optional<PciAddress> at;  ///< the device, where the message names one by address
  std::string part;              ///< `nvme0`, `MC0`, `sda`: what else the message names; may be empty
  int code = 0;                  ///< of Xid and SXid
  std::string words;             ///< the driver's message
  friend bool operator==(const KernelEvent&, const KernelEvent&) = default;
};

/// Of records as /dev/kmsg gives them (`PRIORITY,NUMBER,MICROSECONDS,FLAGS;MESSAGE`), in order:
/// numbered errors of drivers and whatever a pattern is for. A record counts where it is of the kernel's
/// facility and its message has the driver's whole form: names of programs, which users choose, stand in messages too.
/// All records are of this boot, as their clock began with it. `is_of_drives`: a mapped device (`dm-0`, `md127p1`) is
/// on drives of the node alone, so that its errors are those of a drive.
[[nodiscard]] std::vector<KernelEvent> parse_kernel_log(std::string_view text,
                                                        const std::function<bool(std::string_view)>& is_of_drives = {});

struct KernelLog {
  std::string file;  ///< it came from, without the root folder; empty: none can be read
  std::vector<KernelEvent> events;
  std::int64_t begins = 0;    ///< in s after boot, where earlier records were overwritten; 0: the log is whole
  std::uint64_t missing = 0;  ///< records between the first and the last
};

/// /dev/kmsg below `root`; not the files of a log daemon, in which lines of other users look like the kernel's. Never
/// waits, needs no right that it has not.
[[nodiscard]] KernelLog read_kernel_log(const std::string& root);

}  // namespace muster
