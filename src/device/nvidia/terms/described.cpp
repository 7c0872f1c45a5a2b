// GPUs of NVIDIA in the files of a described machine: the driver's below /proc, and what stand-ins of its libraries
// follow.
#include <fmt/format.h>

#include "model/described_vendor.hpp"

namespace muster {

namespace {

// What the stand-ins know (tests/house/driver_lines_test.py compares): functions, with a mark those that
// are about no GPU.
constexpr std::string_view calls_of_nvidia =
    "cuCtxEnablePeerAccess cuCtxSetCurrent cuDeviceCanAccessPeer cuDeviceGet cuDeviceGetAttribute cuDeviceGetCount* "
    "cuDeviceGetName cuDeviceGetPCIBusId cuDeviceGetUuid_v2 cuDevicePrimaryCtxRetain cuDeviceTotalMem_v2 cuEventCreate "
    "cuEventDestroy_v2 cuEventElapsedTime_v2 cuEventRecord cuInit* cuLaunchKernel cuMemAlloc_v2 cuMemFreeHost "
    "cuMemFree_v2 cuMemGetInfo_v2 cuMemHostAlloc cuMemHostGetDevicePointer_v2 cuMemcpyAsync cuMemcpyPeerAsync "
    "cuMemsetD32Async cuModuleGetFunction cuModuleLoadData cuStreamCreate cuStreamDestroy_v2 cuStreamSynchronize "
    "cuStreamWaitEvent cublasCreate_v2 cublasDestroy_v2 cublasGemmEx cublasSetAtomicsMode cublasSetMathMode "
    "cublasSetStream_v2 cublasSetWorkspace_v2 nvmlDeviceGetAttributes_v2 nvmlDeviceGetClockInfo "
    "nvmlDeviceGetComputeInstanceId nvmlDeviceGetComputeMode nvmlDeviceGetComputeRunningProcesses "
    "nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetCount* nvmlDeviceGetCount_v2* "
    "nvmlDeviceGetCurrPcieLinkGeneration nvmlDeviceGetCurrPcieLinkWidth nvmlDeviceGetCurrentClocksEventReasons "
    "nvmlDeviceGetCurrentClocksThrottleReasons nvmlDeviceGetEccMode nvmlDeviceGetEnforcedPowerLimit "
    "nvmlDeviceGetFieldValues nvmlDeviceGetGpuFabricInfoV nvmlDeviceGetGpuInstanceId nvmlDeviceGetHandleByIndex "
    "nvmlDeviceGetHandleByIndex_v2 nvmlDeviceGetHandleByPciBusId_v2 nvmlDeviceGetMaxClockInfo "
    "nvmlDeviceGetMaxMigDeviceCount nvmlDeviceGetMaxPcieLinkGeneration nvmlDeviceGetMaxPcieLinkWidth "
    "nvmlDeviceGetMemoryErrorCounter nvmlDeviceGetMemoryInfo nvmlDeviceGetMemoryInfo_v2 "
    "nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceGetMigMode nvmlDeviceGetName nvmlDeviceGetNvLinkErrorCounter "
    "nvmlDeviceGetNvLinkRemotePciInfo_v2 nvmlDeviceGetNvLinkState nvmlDeviceGetNvLinkVersion nvmlDeviceGetPciInfo "
    "nvmlDeviceGetPciInfo_v3 nvmlDeviceGetPcieReplayCounter nvmlDeviceGetPersistenceMode nvmlDeviceGetPowerUsage "
    "nvmlDeviceGetRemappedRows nvmlDeviceGetRetiredPages nvmlDeviceGetRetiredPagesPendingStatus nvmlDeviceGetSerial "
    "nvmlDeviceGetTemperature nvmlDeviceGetTemperatureThreshold nvmlDeviceGetTotalEccErrors nvmlDeviceGetUUID "
    "nvmlDeviceGetVbiosVersion nvmlDeviceRegisterEvents nvmlEventSetCreate* nvmlEventSetFree* nvmlEventSetWait* "
    "nvmlEventSetWait_v2* nvmlInit* nvmlInit_v2* nvmlShutdown* nvmlSystemGetCudaDriverVersion_v2* "
    "nvmlSystemGetDriverVersion* nvmlSystemGetNVMLVersion* nvrtcCompileProgram* ";

std::vector<std::string> numbered_file(std::size_t index, int /*partitions*/) {
  return {fmt::format("/dev/nvidia{}", index)};
}

std::string uuid_of_number(std::uint64_t unique) {
  const std::string hex = fmt::format("{:016x}", unique);
  return fmt::format("GPU-{}-{}-{}-0000-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12), hex.substr(0, 12));
}

void write_module(const DescribedGpus& /*gpus*/, const std::string& version, TreeWriter& tree) {
  tree.folder("proc/driver/nvidia/gpus");
  tree.put("sys/module/nvidia/version", version);
  tree.put("proc/driver/nvidia/version",
           fmt::format("NVRM version: NVIDIA UNIX Open Kernel Module  {}  Release Build", version));
  for (const char* file : {"dev/nvidiactl", "dev/nvidia-uvm"}) tree.write(file, "", 0666);
  tree.link("usr/lib64/libnvidia-ml.so.1", "usr/lib64/libnvidia-ml.so." + version);
}

void write_nvidia(const DescribedGpus& gpus, std::size_t index, const DescribedPlace& place, TreeWriter& tree) {
  const DescribedGpu& gpu = gpus.devices[index];
  tree.put(fmt::format("proc/driver/nvidia/gpus/{}/information", gpu.address),
           fmt::format("Model: \t\t {}\nIRQ:   \t\t 100\nGPU UUID: \t {}\nVideo BIOS: \t {}\n"
                       "Bus Type: \t PCIe\nBus Location: \t {}\nDevice Minor: \t {}\nGPU Excluded:\t No",
                       gpus.model, place.uuid, gpus.firmware.empty() ? "??.??.??.??.??" : gpus.firmware, gpu.address,
                       minor_of(gpu.files.front())));
}

}  // namespace

extern const DescribedVendor described_nvidia;
constexpr DescribedVendor described_nvidia{.class_code = "030200",
                                           .calls = calls_of_nvidia,
                                           .files_of = numbered_file,
                                           .uuid_of = uuid_of_number,
                                           .write_driver = write_module,
                                           .write_gpu = write_nvidia};

}  // namespace muster
