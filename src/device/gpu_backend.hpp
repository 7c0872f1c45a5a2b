/// How a vendor's libraries are opened and its readings made. Of each vendor in `device/<vendor>/backend.cpp`.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "device/call_watch.hpp"
#include "device/pci_address.hpp"

namespace muster {

class GpuMeter;
class GpuWatch;
struct CollectiveLibrary;
struct GpuBlasLibrary;
struct GpuRuntime;
struct Inventory;

struct GpuBackend {
  std::string_view vendor;  ///< GpuVendor::name
  GpuRuntime (*open_runtime)(const CallWatch& watch);
  GpuBlasLibrary (*open_blas)(const CallWatch& watch);
  CollectiveLibrary (*open_collectives)(const CallWatch& watch);
  /// `root`: of the machine's files. nullptr: no source.
  std::unique_ptr<GpuMeter> (*open_meter)(const PciAddress& address, const std::string& root, CallWatch watch);
  /// For GPUs of the inventory. nullptr: no source.
  std::unique_ptr<GpuWatch> (*open_watch)(const Inventory& inventory, CallWatch watch);
  /// Of what the runtime gives as the GPU's UUID. Empty: it is none.
  std::string (*uuid_text)(const std::array<unsigned char, 16>& bytes);
  const char* open_mpi_query;  ///< function of Open MPI: 1 when it takes messages from such GPUs' memory
  int mpich_kind;              ///< number for MPICH's `MPIX_GPU_query_support`
};

/// All, in the order in which they are opened.
[[nodiscard]] std::span<const GpuBackend* const> gpu_backends();
/// nullptr: not among them.
[[nodiscard]] const GpuBackend* find_gpu_backend(std::string_view vendor);

}  // namespace muster
