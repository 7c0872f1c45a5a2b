#include "device/amd/terms/kernel_log.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

extern const DescribedVendor described_amd;

namespace {

constexpr std::string_view pci_vendors[] = {"1002"};
constexpr std::string_view pci_classes[] = {"0300", "0302", "0380", "1200"};
// From the PCI ID Repository, pci-ids.ucw.cz.
constexpr NamedId pci_models[] = {
    {"1002:66a1", "AMD Instinct MI50/MI60"}, {"1002:738c", "AMD Instinct MI100"},
    {"1002:7408", "AMD Instinct MI250X"},    {"1002:740c", "AMD Instinct MI250X/MI250"},
    {"1002:740f", "AMD Instinct MI210"},     {"1002:74a0", "AMD Instinct MI300A"},
    {"1002:74a1", "AMD Instinct MI300X"},    {"1002:74a5", "AMD Instinct MI325X"},
};
constexpr std::string_view shared_files[] = {"/dev/kfd"};
constexpr std::string_view file_prefixes[] = {"/dev/kfd", "/dev/dri"};
// HIP takes CUDA's variable where its own is not set; both count among what ROCR left.
constexpr std::string_view inner_variables[] = {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"};
constexpr std::string_view selection_variables[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                                    "GPU_DEVICE_ORDINAL"};
// Not initialized, no driver, no device, no device 0 (ROCm 5).
constexpr int no_device_codes[] = {3, 35, 100, 101};
constexpr std::string_view library_folders[] = {"/opt/rocm/lib/"};
constexpr std::string_view components[] = {"rsmi"};
constexpr std::string_view driver_calls[] = {"hip", "rsmi_", "amdsmi_"};
constexpr std::string_view query_programs[] = {"rocm-smi", "rocminfo"};

}  // namespace

extern const GpuVendor amd_gpus;
constexpr GpuVendor amd_gpus{
    .name = "amd",
    .maker = "AMD",
    .place = 2,
    .pci_vendors = pci_vendors,
    .pci_models = pci_models,
    .pci_classes = pci_classes,
    .driver = "amdgpu",
    .driver_source = "kfd",
    .driver_file = "/dev/kfd",
    .shared_files = shared_files,
    .has_render_files = true,
    .file_prefixes = file_prefixes,
    .files_missing =
        "see whether the driver loaded (dmesg: amdgpu, kfd); in a container, pass /dev/kfd and /dev/dri to it",
    .files_denied = "put the user into the groups that own them (render, video), or set their mode by a udev rule",
    .log_marks = "amdgpu",
    .error_mark = "amdgpu",
    .kernel_kinds = amd_log::kinds,
    .kernel_patterns = amd_log::patterns,
    .visible_variable = "ROCR_VISIBLE_DEVICES",
    .inner_variables = inner_variables,
    .selection = SelectionRules::hip,
    .selection_variables = selection_variables,
    .stack = "ROCm",
    .collectives = "RCCL",
    .transport = "rccl",
    .compiler = "HIPRTC",
    .toolkit = "ROCm",
    .runtime_library = "libamdhip64",
    .runtime_missing =
        "install ROCm's runtime (hip-runtime-amd) there, or load the module that has it; in a "
        "container, have it in the image",
    .no_device_codes = no_device_codes,
    .are_parts_devices = true,
    .links_source = "kfd",
    .are_links_inside = true,
    .library_folders = library_folders,
    .hwloc_components = components,
    .driver_calls = driver_calls,
    .hung_call =
        "{0} of AMD's driver did not return: look for amdgpu and kfd in the kernel log of {1} (dmesg) and "
        "see whether rocm-smi answers there; reset the GPU (rocm-smi --gpureset) or reboot the node",
    .query_programs = query_programs,
    .state_command = "rocm-smi",
    .memory_command = "rocm-smi --showrasinfo",
    .links_command = "rocm-smi --shownodesbw",
    .described = &described_amd};

}  // namespace muster
