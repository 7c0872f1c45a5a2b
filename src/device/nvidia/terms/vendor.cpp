#include "device/nvidia/terms/kernel_log.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

extern const DescribedVendor described_nvidia;

namespace {

// The second is that of its network devices.
constexpr std::string_view pci_vendors[] = {"10de", "15b3"};
constexpr std::string_view pci_classes[] = {"0300", "0302", "0380"};
// From the PCI ID Repository, pci-ids.ucw.cz.
constexpr NamedId pci_models[] = {
    {"10de:15f8", "Tesla P100-PCIE-16GB"},
    {"10de:1db1", "Tesla V100-SXM2-16GB"},
    {"10de:1db5", "Tesla V100-SXM2-32GB"},
    {"10de:1db8", "Tesla V100-SXM3-32GB"},
    {"10de:1eb8", "Tesla T4"},
    {"10de:20b0", "NVIDIA A100-SXM4-40GB"},
    {"10de:20b2", "NVIDIA A100-SXM4-80GB"},
    {"10de:20b5", "NVIDIA A100 80GB PCIe"},
    {"10de:20f1", "NVIDIA A100-PCIE-40GB"},
    {"10de:2330", "NVIDIA H100 80GB HBM3"},
    {"10de:2331", "NVIDIA H100 PCIe"},
    {"10de:2335", "NVIDIA H200"},
    {"10de:2342", "NVIDIA GH200 120GB"},
    {"10de:26b9", "NVIDIA L40S"},
};
constexpr std::string_view shared_files[] = {"/dev/nvidiactl", "/dev/nvidia-uvm"};
constexpr std::string_view file_prefixes[] = {"/dev/nvidia"};
constexpr std::string_view services[] = {"nvidia-cuda-mps", "nv-hostengine", "nvidia-persiste"};
constexpr std::string_view order_settings[] = {"CUDA_DEVICE_ORDER=PCI_BUS_ID"};
constexpr std::string_view selection_variables[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                                                    "NVIDIA_VISIBLE_DEVICES"};
// Not initialized, a stub, no driver, no device.
constexpr int no_device_codes[] = {3, 34, 35, 100};
constexpr std::string_view components[] = {"cuda", "nvml"};
constexpr std::string_view driver_calls[] = {"nvml", "cu"};
constexpr std::string_view library_calls[] = {"nvrtc"};
constexpr std::string_view query_programs[] = {"nvidia-smi"};

}  // namespace

extern const GpuVendor nvidia_gpus;
// The driver has its folder in /proc from the moment it is loaded; without that folder it runs no GPU.
constexpr GpuVendor nvidia_gpus{
    .name = "nvidia",
    .maker = "NVIDIA",
    .place = 1,
    .pci_vendors = pci_vendors,
    .pci_models = pci_models,
    .pci_classes = pci_classes,
    .driver = "nvidia",
    .driver_source = "nvidia",
    .is_source_there = true,
    .driver_file = "/dev/nvidiactl",
    .shared_files = shared_files,
    .file_prefixes = file_prefixes,
    .files_missing =
        "start nvidia-persistenced or run nvidia-modprobe -c 0 -u on the node; in a container, pass the "
        "device files to it",
    .files_denied = "set their mode: NVreg_DeviceFileMode=0666, or the group in NVreg_DeviceFileGID",
    .service_folder = "/tmp/nvidia-mps",
    .service_variable = "CUDA_MPS_PIPE_DIRECTORY",
    .services = services,
    .log_marks = "NVRM, Xid",
    .error_mark = "Xid",
    .kernel_kinds = nvidia_log::kinds,
    .kernel_patterns = nvidia_log::patterns,
    .visible_variable = "CUDA_VISIBLE_DEVICES",
    .order_settings = order_settings,
    .selection = SelectionRules::cuda,
    .selection_variables = selection_variables,
    .precision_variable = "NVIDIA_TF32_OVERRIDE",
    .stack = "CUDA",
    .collectives = "NCCL",
    .transport = "nccl",
    .compiler = "NVRTC",
    .toolkit = "the CUDA toolkit",
    .runtime_library = "libcuda",
    .runtime_missing =
        "install the driver's libraries (libcuda.so.1) there, of the version of its kernel module; in a "
        "container, pass them to it (nvidia-container-toolkit)",
    .no_device_codes = no_device_codes,
    .is_uuid_of_runtime = true,
    .links_source = "nvml",
    .refusal_value = "nvml_error",
    .hwloc_components = components,
    .driver_calls = driver_calls,
    .library_calls = library_calls,
    .hung_call =
        "{0} of NVIDIA's driver did not return: look for NVRM and Xid in the kernel log of {1} (dmesg), "
        "see whether nvidia-smi answers there and, behind NVSwitches, whether nvidia-fabricmanager runs; "
        "reset the GPU (nvidia-smi --gpu-reset) or reboot the node",
    .query_programs = query_programs,
    .state_command = "nvidia-smi -q",
    .memory_command = "nvidia-smi -q",
    .links_command = "nvidia-smi nvlink -s -e",
    .described = &described_nvidia};

}  // namespace muster
