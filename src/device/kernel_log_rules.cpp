// Messages about the host. Those about a vendor's GPUs are in its folder, terms/kernel_log.hpp.
#include <algorithm>
#include <array>
#include <vector>

#include "device/kernel_log.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

constexpr auto is_fault = Verdict::fail;
constexpr auto is_note = Verdict::pass;

constexpr std::string_view cpu =
    "drain the node, decode the record (mcelog, rasdaemon) and have the CPU or memory module that it names replaced";
constexpr std::string_view corrected = "watch their number (rasdaemon); have the part replaced when it keeps growing";
constexpr std::string_view module = "drain the node and have the memory module that the message names replaced";
constexpr std::string_view pcie = "drain the node, have card, riser and cable at this address reseated, then replaced";
constexpr std::string_view pcie_note = "watch their number; have card or riser reseated when it keeps growing";
constexpr std::string_view drive =
    "drain the node, see the drive's health (smartctl -a, nvme smart-log) and have it replaced";
constexpr std::string_view files = "drain the node, check the file system (fsck, xfs_repair) and its drive";
constexpr std::string_view hang =
    "see which file system or driver the task waited for (the call trace below the message)";
constexpr std::string_view memory = "reduce the memory of the job, or find the other program that used it";
constexpr std::string_view cable =
    "see the port's counters (ethtool -S, perfquery); have cable or transceiver replaced if it goes on";
constexpr std::string_view adapter =
    "drain the node, reset the adapter (mstfwreset) or power-cycle the node; update its firmware";
constexpr std::string_view cooling = "have fans, filters and heat sinks of the node checked";

constexpr std::array kinds = std::to_array<KernelKind>({
    {"mce", is_fault, "an uncorrected machine check or memory error of the host", cpu},
    {"memory_failure", is_fault, "a page of the host's memory was given up", module},
    {"mce_corrected", is_note, "machine checks that were corrected", corrected},
    {"cpu_hot", is_note, "a CPU was slowed down by heat", cooling},
    {"edac_uncorrected", is_fault, "uncorrected memory errors of the host", module},
    {"edac_corrected", is_note, "corrected memory errors of the host", corrected},
    {"aer_fatal", is_fault, "a fatal PCIe error", pcie},
    {"aer_nonfatal", is_note, "a non-fatal uncorrected PCIe error", pcie_note},
    {"aer_corrected", is_note, "corrected PCIe errors", pcie_note},
    {"nvme", is_fault, "a drive that does not answer or could not be started", drive},
    {"nvme_timeout", is_fault, "requests to the drive timed out", drive},
    {"disk_error", is_fault, "a drive could not read or write", drive},
    {"file_system", is_fault, "a file system that is damaged, read-only or shut down", files},
    {"mapped_device", is_note, "an error of a mapped device or array that is not on drives alone, or is gone",
     "see which drive or image is below it (lsblk), and that drive's health (smartctl -a)"},
    {"hung_task", is_note, "a task hung in the kernel", hang},
    {"soft_lockup", is_note, "a CPU was stuck in the kernel", hang},
    {"hard_lockup", is_fault, "a CPU was stuck with interrupts off", cpu},
    {"oom", is_note, "the kernel killed a program because memory was exhausted", memory},
    {"adapter", is_fault, "the adapter's firmware has failed", adapter},
    {"cable", is_fault, "cable or transceiver of the adapter has a fault", cable},
    {"link_flap", is_note, "a network link went down after it had been up", cable},
});

// The first that fits counts.
constexpr std::array patterns = std::to_array<KernelPattern>({
    {"mce", "mce", "[Hardware Error]: CPU ", "machine check", "exception"},
    {"mce", "mce", "Uncorrected hardware memory error", "", ""},
    {"mce", "", "[Hardware Error]: Uncorrected, ", "", ""},
    {"mce", "", "[Hardware Error]: Deferred error, ", "", ""},
    {"mce", "", "[Hardware Error]: System Fatal error", "", ""},
    {"mce", "apei", "[Hardware Error]: event severity: fatal", "", ""},
    {"mce", "apei", "[Hardware Error]: event severity: recoverable", "", ""},
    {"memory_failure", "", "Memory failure: 0x", "", ""},
    {"mce_corrected", "mce", "[Hardware Error]: Machine check events logged", "", ""},
    {"mce_corrected", "", "[Hardware Error]: Corrected error, ", "", ""},
    {"mce_corrected", "apei", "[Hardware Error]: event severity: corrected", "", ""},
    {"cpu_hot", "mce", "CPU%: ", "temperature above threshold", ""},
    {"edac_uncorrected", "EDAC", "% UE &", " on ", "page:0x"},
    {"edac_uncorrected", "EDAC", "UE - no information available: ", "", ""},
    {"edac_uncorrected", "EDAC", "UE page 0x", ", offset 0x", ", row "},
    {"edac_uncorrected", "EDAC", "UE row %, ", "channel", ""},
    {"edac_corrected", "EDAC", "% CE &", " on ", "page:0x"},
    {"edac_corrected", "EDAC", "CE - no information available: ", "", ""},
    {"edac_corrected", "EDAC", "CE page 0x", ", offset 0x", ", row "},
    {"edac_corrected", "EDAC", "CE row %, ", "channel", ""},
    {"aer_fatal", "*", "AER: ", "uncorrect", "(fatal) error"},
    {"aer_fatal", "*", "PCIe Bus Error: severity=Uncorrect", "(fatal)", ""},
    {"aer_fatal", "*", "AER: ", "recovery failed", ""},
    {"aer_nonfatal", "*", "AER: ", "uncorrect", "(non-fatal) error"},
    {"aer_nonfatal", "*", "PCIe Bus Error: severity=Uncorrect", "(non-fatal)", ""},
    {"aer_corrected", "*", "AER: ", "correct", "error"},
    {"aer_corrected", "*", "PCIe Bus Error: severity=Correct", "", ""},
    {"nvme", "nvme", "controller is down", "", ""},
    {"nvme", "nvme", "Removing after probe failure", "", ""},
    {"nvme", "nvme", "Device not ready", "", ""},
    {"nvme", "nvme", "Disabling device after reset failure", "", ""},
    {"nvme_timeout", "nvme", "I/O % ", "QID ", " timeout"},
    {"nvme_timeout", "nvme", "I/O tag % ", "QID ", " timeout"},
    {"disk_error", "disk", "", "", ""},
    {"file_system", "EXT4-fs error", "$:%: &", "", ""},
    {"file_system", "EXT4-fs", "Remounting filesystem read-only", "", ""},
    {"file_system", "XFS", "Metadata corruption detected", "", ""},
    {"file_system", "XFS", "Corruption ", "", ""},
    {"file_system", "XFS", "Log I/O Error ", "shutting down filesystem", ""},
    {"file_system", "XFS", "Log I/O error ", "shutting down filesystem", ""},
    {"file_system", "XFS", "I/O Error Detected", "shutting down filesystem", ""},
    {"file_system", "XFS", "I/O error ", "shutting down filesystem", ""},
    {"file_system", "XFS", "Metadata I/O Error ", "shutting down filesystem", ""},
    {"file_system", "XFS", "All device paths lost", "shutting down filesystem", ""},
    {"file_system", "XFS", "Block device removal ", "shutting down filesystem", ""},
    {"file_system", "XFS", "xfs_do_force_shutdown(0x", " called from line ", "return address"},
    {"file_system", "XFS", "Filesystem has been shut down due to ", " error", ""},
    {"mapped_device", "mapped disk", "", "", ""},
    {"mapped_device", "mapped EXT4-fs error", "$:%: &", "", ""},
    {"mapped_device", "mapped EXT4-fs", "Remounting filesystem read-only", "", ""},
    {"mapped_device", "mapped XFS", "Metadata corruption detected", "", ""},
    {"mapped_device", "mapped XFS", "Corruption ", "", ""},
    {"mapped_device", "mapped XFS", "Log I/O Error ", "shutting down filesystem", ""},
    {"mapped_device", "mapped XFS", "Log I/O error ", "shutting down filesystem", ""},
    {"mapped_device", "mapped XFS", "I/O Error Detected", "shutting down filesystem", ""},
    {"mapped_device", "mapped XFS", "I/O error ", "shutting down filesystem", ""},
    {"mapped_device", "mapped XFS", "Metadata I/O Error ", "shutting down filesystem", ""},
    {"mapped_device", "mapped XFS", "All device paths lost", "shutting down filesystem", ""},
    {"mapped_device", "mapped XFS", "Block device removal ", "shutting down filesystem", ""},
    {"mapped_device", "mapped XFS", "xfs_do_force_shutdown(0x", " called from line ", "return address"},
    {"mapped_device", "mapped XFS", "Filesystem has been shut down due to ", " error", ""},
    {"hung_task", "", "INFO: task ", " blocked for more than ", ""},
    {"soft_lockup", "watchdog", "BUG: soft lockup - CPU#% stuck for ", "", ""},
    {"soft_lockup", "", "BUG: soft lockup - CPU#% stuck for ", "", ""},
    {"soft_lockup", "NMI watchdog", "BUG: soft lockup - CPU#% stuck for ", "", ""},
    {"hard_lockup", "NMI watchdog", "Watchdog detected hard LOCKUP on cpu %", "", ""},
    {"hard_lockup", "watchdog", "Watchdog detected hard LOCKUP on cpu %", "", ""},
    {"hard_lockup", "watchdog", "CPU%: Watchdog detected hard LOCKUP on cpu %", "", ""},
    {"hard_lockup", "watchdog", "CPU % self-detected hard LOCKUP @ ", "", ""},
    {"hard_lockup", "watchdog", "CPU % detected hard LOCKUP on other CPUs ", "", ""},
    {"oom", "", "Out of memory: Killed process ", "", ""},
    {"oom", "", "Memory cgroup out of memory: Killed process ", "", ""},
    {"adapter", "mlx5_core", "", "health compromised", ""},
    {"adapter", "mlx5_core", "", "health recovery failed", ""},
    {"cable", "mlx5_core", "Port module event[error]", "", ""},
    {"link_flap", "*", "", "link is down", ""},
    {"link_flap", "*", "", "link down", ""},
    {"link_flap", "*", "", "link_down", ""},
    {"link_up", "*", "", "link is up", ""},
    {"link_up", "*", "", "link up", ""},
    {"link_up", "*", "", "link_up", ""},
});

/// Those of all vendors, then those of the host.
template <class Rule>
std::vector<Rule> joined(std::span<const Rule> GpuVendor::*of_vendor, std::span<const Rule> of_host) {
  std::vector<Rule> all;
  for (const GpuVendor* vendor : gpu_vendors())
    all.insert(all.end(), (vendor->*of_vendor).begin(), (vendor->*of_vendor).end());
  all.insert(all.end(), of_host.begin(), of_host.end());
  return all;
}

}  // namespace

std::span<const KernelKind> kernel_kinds() {
  static const auto all = joined<KernelKind>(&GpuVendor::kernel_kinds, kinds);
  return all;
}

std::span<const KernelPattern> kernel_patterns() {
  static const auto all = joined<KernelPattern>(&GpuVendor::kernel_patterns, patterns);
  return all;
}

const KernelKind* find_kernel_kind(std::string_view name) {
  const auto all = kernel_kinds();
  const auto found = std::find_if(all.begin(), all.end(), [&](const KernelKind& kind) { return kind.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace muster
