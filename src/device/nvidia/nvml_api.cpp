#include "device/nvidia/nvml_api.hpp"

#include <initializer_list>

namespace muster::nvml {

namespace {

/// Fills functions by the first of their names that the library has.
class Filler {
 public:
  Filler(const Library& library, std::vector<std::string>& missing) : library_(library), missing_(missing) {}

  template <class Function>
  bool maybe(Function*& function, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (library_.fill(function, name)) return true;
    return false;
  }
  template <class Function>
  void need(Function*& function, std::initializer_list<const char*> names) {
    if (!maybe(function, names)) missing_.emplace_back(*names.begin());
  }

 private:
  const Library& library_;
  std::vector<std::string>& missing_;
};

void fill_health(Functions& to, Filler& from) {
  from.need(to.temperature, {"nvmlDeviceGetTemperature"});
  from.maybe(to.temperature_limit, {"nvmlDeviceGetTemperatureThreshold"});
  from.need(to.power, {"nvmlDeviceGetPowerUsage"});
  from.need(to.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  from.need(to.clock, {"nvmlDeviceGetClockInfo"});
  from.need(to.clock_able, {"nvmlDeviceGetMaxClockInfo"});
  from.need(to.throttle_reasons,
            {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  from.need(to.ecc_mode, {"nvmlDeviceGetEccMode"});
  from.need(to.ecc_total, {"nvmlDeviceGetTotalEccErrors"});
  from.need(to.ecc_at, {"nvmlDeviceGetMemoryErrorCounter"});
  from.need(to.remapped_rows, {"nvmlDeviceGetRemappedRows"});
  from.need(to.retired_pages, {"nvmlDeviceGetRetiredPages"});
  from.need(to.retirement_pending, {"nvmlDeviceGetRetiredPagesPendingStatus"});
  from.need(to.persistence, {"nvmlDeviceGetPersistenceMode"});
  from.need(to.compute_mode, {"nvmlDeviceGetComputeMode"});
}

/// Not missed where they are not there.
void fill_watching(Functions& to, Filler& from) {
  from.maybe(to.pcie_replays, {"nvmlDeviceGetPcieReplayCounter"});
  from.maybe(to.link_errors, {"nvmlDeviceGetNvLinkErrorCounter"});
  from.maybe(to.create_events, {"nvmlEventSetCreate"});
  from.maybe(to.register_events, {"nvmlDeviceRegisterEvents"});
  from.maybe(to.wait_for_event, {"nvmlEventSetWait_v2", "nvmlEventSetWait"});
  from.maybe(to.free_events, {"nvmlEventSetFree"});
}

void fill_parts_and_links(Functions& to, Filler& from) {
  from.need(to.mig_mode, {"nvmlDeviceGetMigMode"});
  from.need(to.mig_most, {"nvmlDeviceGetMaxMigDeviceCount"});
  from.need(to.mig_by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  from.need(to.gpu_instance, {"nvmlDeviceGetGpuInstanceId"});
  from.need(to.compute_instance, {"nvmlDeviceGetComputeInstanceId"});
  from.need(to.mig_attributes, {"nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes"});
  from.need(to.link_state, {"nvmlDeviceGetNvLinkState"});
  from.need(to.link_version, {"nvmlDeviceGetNvLinkVersion"});
  from.need(to.link_remote, {"nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetNvLinkRemotePciInfo"});
  from.need(to.fields, {"nvmlDeviceGetFieldValues"});
  // Only from Hopper's drivers on.
  from.maybe(to.fabric_v2, {"nvmlDeviceGetGpuFabricInfoV"});
  from.maybe(to.fabric, {"nvmlDeviceGetGpuFabricInfo"});
  if (from.maybe(to.processes, {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}))
    return;
  to.are_processes_short = true;
  from.need(to.processes, {"nvmlDeviceGetComputeRunningProcesses"});
}

}  // namespace

Functions functions_of(const Library& library, std::vector<std::string>& missing) {
  Functions to;
  Filler from(library, missing);
  from.need(to.init, {"nvmlInit_v2", "nvmlInit"});
  from.need(to.shutdown, {"nvmlShutdown"});
  from.need(to.error_string, {"nvmlErrorString"});
  from.need(to.driver_version, {"nvmlSystemGetDriverVersion"});
  from.need(to.nvml_version, {"nvmlSystemGetNVMLVersion"});
  from.need(to.cuda_version, {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  from.need(to.count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  from.need(to.by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  from.need(to.by_bus_id, {"nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"});
  from.need(to.name, {"nvmlDeviceGetName"});
  from.need(to.uuid, {"nvmlDeviceGetUUID"});
  from.need(to.serial, {"nvmlDeviceGetSerial"});
  from.need(to.vbios, {"nvmlDeviceGetVbiosVersion"});
  from.need(to.pci, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"});
  from.need(to.link_generation, {"nvmlDeviceGetCurrPcieLinkGeneration"});
  from.need(to.link_width, {"nvmlDeviceGetCurrPcieLinkWidth"});
  from.need(to.link_generation_able, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  from.need(to.link_width_able, {"nvmlDeviceGetMaxPcieLinkWidth"});
  from.maybe(to.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  from.need(to.memory, {"nvmlDeviceGetMemoryInfo"});
  fill_health(to, from);
  fill_watching(to, from);
  fill_parts_and_links(to, from);
  return to;
}

bool can_be_asked(const Functions& functions) {
  return functions.init != nullptr && functions.count != nullptr && functions.by_index != nullptr &&
         functions.pci != nullptr;
}

}  // namespace muster::nvml
