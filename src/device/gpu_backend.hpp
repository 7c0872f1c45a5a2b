/// How a vendor's libraries are opened and its readings made. Of each vendor in `device/<vendor>/backend.cpp`, which
/// the build finds.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "device/call_watch.hpp"
#include "device/device_models.hpp"
#include "device/driver_errors.hpp"
#include "device/gpu_blas.hpp"
#include "device/kernel_log_forms.hpp"
#include "device/machine.hpp"
#include "device/pci_address.hpp"

namespace muster {

class GpuMeter;
class GpuWatch;
struct CollectiveLibrary;
struct GpuRuntime;

/// Each function may be left out: muster then does without what it gives.
struct GpuBackend {
  std::string_view vendor;  ///< GpuVendor::name
  GpuRuntime (*open_runtime)(const CallWatch& watch) = nullptr;
  GpuBlasLibrary (*open_blas)(const CallWatch& watch) = nullptr;
  CollectiveLibrary (*open_collectives)(const CallWatch& watch) = nullptr;
  /// `root`: of the machine's files. Returns nullptr if it has no source.
  std::unique_ptr<GpuMeter> (*open_meter)(const PciAddress& address, const std::string& root,
                                          CallWatch watch) = nullptr;
  /// For GPUs of the inventory. Returns nullptr if it has no source.
  std::unique_ptr<GpuWatch> (*open_watch)(const Inventory& inventory, CallWatch watch) = nullptr;
  /// Of what the runtime gives as the GPU's UUID. Empty: it is none.
  std::string (*uuid_text)(const std::array<unsigned char, 16>& bytes) = nullptr;
  /// Whether its GPUs multiply numbers of the type; `capability`: as GpuDevice has it.
  bool (*has_type)(int capability, NumberType type) = nullptr;
  std::span<const DeviceModel> models = {};  ///< where a name holds that of another one, the longer stands first
  /// What its driver shows in files, once the inventory has the PCI bus.
  void (*add_files)(const Machine& machine, Inventory& inventory) = nullptr;
  /// Removes device files that are made when they are needed.
  void (*forgive_files)(const Machine& machine, Inventory& inventory) = nullptr;
  /// Data of its management libraries, where its files do not have it: all of it, and of links alone.
  void (*add_libraries)(Inventory& inventory, const CallWatch& watch) = nullptr;
  void (*add_links)(Inventory& inventory, const CallWatch& watch) = nullptr;
  KernelLogForms log = {};
  DriverErrors errors = {};
  const char* open_mpi_query = nullptr;  ///< function of Open MPI: 1 when it takes messages from such GPUs' memory
  int mpich_kind = -1;                   ///< number for MPICH's `MPIX_GPU_query_support`; -1: none
};

/// All, in the order in which they are opened: that of `GpuVendor::place`.
[[nodiscard]] std::span<const GpuBackend* const> gpu_backends();
/// As the build found them.
[[nodiscard]] std::span<const GpuBackend* const> listed_gpu_backends();
/// nullptr: not among them.
[[nodiscard]] const GpuBackend* find_gpu_backend(std::string_view vendor);
/// Links between GPUs that only libraries know, of all vendors.
void add_gpu_links(Inventory& inventory, const CallWatch& watch);

/// Whether the MPI library of this process takes messages from memory of GPUs of `vendor`, as the library itself
/// answers; nullopt where it has nothing to answer with.
[[nodiscard]] std::optional<bool> is_mpi_gpu_aware(std::string_view vendor);

}  // namespace muster
