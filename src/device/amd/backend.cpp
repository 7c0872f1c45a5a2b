#include "device/amd/files.hpp"
#include "device/amd/hip.hpp"
#include "device/amd/kernel_log.hpp"
#include "device/amd/libraries.hpp"
#include "device/amd/models.hpp"
#include "device/collective_table.hpp"
#include "device/gpu_backend.hpp"
#include "device/gpu_blas_table.hpp"
#include "device/gpu_health.hpp"
#include "device/gpu_meter.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

std::unique_ptr<GpuMeter> meter_of_files(const PciAddress& address, const std::string& root, CallWatch /*watch*/) {
  return open_amdgpu_meter(address, root);
}

/// The files of the driver, read at each look.
class FilesWatch final : public GpuWatch {
 public:
  bool look(Device& gpu) const override {
    Inventory inventory;
    inventory.devices.push_back(std::move(gpu));
    const Machine machine(root_of("/"));
    add_amdgpu_files(machine, inventory);
    gpu = std::move(inventory.devices[0]);
    return true;
  }
  bool glance(Device& gpu) const override { return look(gpu); }
  [[nodiscard]] std::vector<int> xids(const PciAddress& /*gpu*/) override { return {}; }
};

std::unique_ptr<GpuWatch> watch_of_files(const Inventory& /*inventory*/, CallWatch /*watch*/) {
  return std::make_unique<FilesWatch>();
}

/// 16 hexadecimal digits as text.
std::string uuid_of_digits(const std::array<unsigned char, 16>& bytes) {
  std::string text(bytes.begin(), bytes.end());
  text = text.substr(0, text.find('\0'));
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos && !text.empty() ? "GPU-" + text : "";
}

void add_files_of_amd(const Machine& machine, Inventory& inventory) {
  add_kfd(machine, inventory);
  add_amdgpu_files(machine, inventory);
}

/// No unit of its GPUs leaves bits of a float out.
bool has_type_of_amd(int /*capability*/, NumberType type) {
  return type != NumberType::tf32;
}

}  // namespace

extern const GpuBackend amd_backend;
constexpr GpuBackend amd_backend{.vendor = "amd",
                                 .open_runtime = open_hip,
                                 .open_blas = open_hipblas,
                                 .open_collectives = open_rccl,
                                 .open_meter = meter_of_files,
                                 .open_watch = watch_of_files,
                                 .uuid_text = uuid_of_digits,
                                 .has_type = has_type_of_amd,
                                 .models = amd_models,
                                 .add_files = add_files_of_amd,
                                 .forgive_files = nullptr,
                                 .add_libraries = add_amd_libraries,
                                 .add_links = nullptr,
                                 .log = {nullptr, nullptr, amdgpu_words},
                                 .errors = {},
                                 .open_mpi_query = "MPIX_Query_rocm_support",
                                 .mpich_kind = 2};

}  // namespace muster
