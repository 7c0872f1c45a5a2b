#include <algorithm>
#include <array>

#include "device/kernel_log.hpp"

namespace muster {

namespace {

constexpr auto is_fault = Verdict::fail;
constexpr auto is_note = Verdict::pass;

constexpr std::string_view reseat =
    "drain and power-cycle the node; have the GPU reseated, then replaced, if it comes again";
constexpr std::string_view reset = "drain the node and reset the GPU or reboot; have it replaced if it comes again";
constexpr std::string_view train =
    "drain the node, reset all its GPUs or reboot; have cable, bridge or board replaced if it comes again";
constexpr std::string_view sxid_note =
    "watch the links of the switch (nvidia-smi nvlink -e); have it looked at when the number keeps growing";
constexpr std::string_view ras_note = "watch their number; above a few each hour have the GPU replaced";
constexpr std::string_view program = "see what ran then; when it comes with other programs too, have the GPU replaced";
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
constexpr std::string_view memory = "ask the job for less memory, or look for what else used it";
constexpr std::string_view cable =
    "see the port's counters (ethtool -S, perfquery); have cable or transceiver replaced if it goes on";
constexpr std::string_view adapter =
    "drain the node, reset the adapter (mstfwreset) or power-cycle the node; update its firmware";
constexpr std::string_view cooling = "have fans, filters and heat sinks of the node checked";

constexpr std::array kinds = std::to_array<KernelKind>({
    {"gpu_lost", is_fault, "it has fallen off the bus", reseat},
    {"gpu_init", is_fault, "the driver could not initialise it", reseat},
    {"nvlink_training", is_fault, "an NVLink could not be brought up", train},
    {"sxid_fatal", is_fault, "a fatal error of an NVSwitch", train},
    {"sxid", is_note, "an error of an NVSwitch that it survived", sxid_note},
    {"amd_uncorrected", is_fault, "uncorrected errors of the GPU (RAS)", reset},
    {"amd_corrected", is_note, "corrected errors of the GPU (RAS)", ras_note},
    {"amd_bad_pages", is_fault, "more bad pages of memory than the GPU may have",
     "drain the node and have the GPU replaced"},
    {"amd_fatal", is_fault, "a fatal error of the GPU", reset},
    {"amd_lost", is_fault, "the driver has lost the GPU", reseat},
    {"amd_reset_failed", is_fault, "a reset of the GPU failed", reset},
    {"amd_init", is_fault, "the driver could not initialise it", reseat},
    {"amd_ring", is_note, "a queue of the GPU did not finish in time", program},
    {"amd_reset", is_note, "the driver reset the GPU", program},
    {"mce", is_fault, "an uncorrected machine check or memory error of the host", cpu},
    {"memory_failure", is_fault, "a page of the host's memory was given up", module},
    {"mce_corrected", is_note, "machine checks that were corrected", corrected},
    {"cpu_hot", is_note, "a CPU was slowed down by heat", cooling},
    {"edac_uncorrected", is_fault, "uncorrected memory errors of the host", module},
    {"edac_corrected", is_note, "corrected memory errors of the host", corrected},
    {"aer_fatal", is_fault, "a PCIe error that the device did not survive", pcie},
    {"aer_nonfatal", is_note, "an uncorrected PCIe error that was survived", pcie_note},
    {"aer_corrected", is_note, "corrected PCIe errors", pcie_note},
    {"nvme", is_fault, "a drive that does not answer or could not be started", drive},
    {"nvme_timeout", is_fault, "requests to the drive timed out", drive},
    {"disk_error", is_fault, "a drive could not read or write", drive},
    {"file_system", is_fault, "a file system that is damaged, read-only or shut down", files},
    {"mapped_device", is_note, "an error of a mapped device on an image, or of one that is gone",
     "see which drive or image is below it (lsblk, dmsetup deps), and that drive's health (smartctl -a)"},
    {"hung_task", is_note, "a task hung in the kernel", hang},
    {"soft_lockup", is_note, "a CPU was stuck in the kernel", hang},
    {"hard_lockup", is_fault, "a CPU was stuck with interrupts off", cpu},
    {"oom", is_note, "a program was killed for want of memory", memory},
    {"adapter", is_fault, "the adapter's firmware has failed", adapter},
    {"cable", is_fault, "cable or transceiver of the adapter has a fault", cable},
    {"link_flap", is_note, "a network link went down after it had been up", cable},
});

// The first that fits counts.
constexpr std::array patterns = std::to_array<KernelPattern>({
    {"gpu_lost", "NVRM", "", "fallen off the bus", ""},
    {"gpu_init", "NVRM", "", "RmInitAdapter failed", ""},
    {"gpu_init", "NVRM", "", "rm_init_adapter failed", ""},
    {"nvlink_training", "NVRM", "", "link", "failed to train"},
    {"nvlink_training", "NVRM", "", "link", "training failed"},
    {"nvlink_training", "NVRM", "", "link", "failed to update rx detect"},
    {"nvlink_training", "nvidia-nvlink", "Link ", "failed to train", ""},
    {"nvlink_training", "nvidia-nvlink", "link ", "failed to train", ""},
    {"nvlink_training", "nvidia-nvlink", "Link training failed", "", ""},
    {"nvlink_training", "nvidia-nvlink", "link training failed", "", ""},
    {"nvlink_training", "nvidia-nvlink", "Failed to update Rx Detect Link", "", ""},
    {"nvlink_training", "nvidia-nvswitch", "", "link", "failed to train"},
    {"nvlink_training", "nvidia-nvswitch", "", "link", "training failed"},
    {"nvlink_training", "nvidia-nvswitch", "", "link", "failed to update rx detect"},
    {"amd_uncorrected", "amdgpu", "", " uncorrectable hardware error", ""},
    {"amd_uncorrected", "amdgpu", "uncorrectable hardware error", "", ""},
    {"amd_corrected", "amdgpu", "", " correctable hardware error", ""},
    {"amd_bad_pages", "amdgpu", "", "threshold", "bad page"},
    {"amd_bad_pages", "amdgpu", "", "threshold", "RAS record"},
    {"amd_init", "amdgpu", "", "fatal error during GPU init", ""},
    {"amd_init", "amdgpu", "", "probe", "failed with error"},
    {"amd_fatal", "amdgpu", "", "fatal error", ""},
    {"amd_lost", "amdgpu", "", "GPU is lost", ""},
    {"amd_lost", "amdgpu", "", "device lost from bus", ""},
    {"amd_reset_failed", "amdgpu", "GPU reset", "failed", ""},
    {"amd_reset_failed", "amdgpu", "GPU Recovery", "failed", ""},
    {"amd_ring", "amdgpu", "", "ring ", "timeout"},
    {"amd_ring", "", "[drm:amdgpu_job_timedout", "ring ", "timeout"},
    {"amd_reset", "amdgpu", "GPU reset begin", "", ""},
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

}  // namespace

std::span<const KernelKind> kernel_kinds() {
  return kinds;
}

std::span<const KernelPattern> kernel_patterns() {
  return patterns;
}

const KernelKind* find_kernel_kind(std::string_view name) {
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const KernelKind& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace muster
