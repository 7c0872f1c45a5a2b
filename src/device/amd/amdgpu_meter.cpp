// Power and clock of a GPU by the sensors of amdgpu (kernel documentation, gpu/amdgpu/thermal: power1_average or, from
// gfx94 on, power1_input in millionths of a watt, freq1_input in hertz, the clock of the shaders).
#include <cstdlib>
#include <fmt/format.h>

#include "device/amd/files.hpp"
#include "device/machine.hpp"

namespace muster {

namespace {

class AmdgpuMeter final : public GpuMeter {
 public:
  AmdgpuMeter(Machine machine, std::string folder) : machine_(std::move(machine)), folder_(std::move(folder)) {}

  [[nodiscard]] GpuReading read() override {
    GpuReading reading;
    reading.watts = scaled("power1_average", 1e-6);
    if (!reading.watts) reading.watts = scaled("power1_input", 1e-6);
    reading.megahertz = scaled("freq1_input", 1e-6);
    return reading;
  }

 private:
  [[nodiscard]] std::optional<double> scaled(const char* file, double scale) const {
    const double value = std::strtod(machine_.text(folder_ + "/" + file).c_str(), nullptr);
    if (value > 0) return value * scale;
    return std::nullopt;
  }

  Machine machine_;
  std::string folder_;
};

}  // namespace

std::unique_ptr<GpuMeter> open_amdgpu_meter(const PciAddress& address, const std::string& root) {
  Machine machine(root);
  const std::string sensors = fmt::format("sys/bus/pci/devices/{}/hwmon", to_string(address));
  const auto names = machine.names(sensors);
  if (names.empty()) return nullptr;
  return std::make_unique<AmdgpuMeter>(std::move(machine), sensors + "/" + names.front());
}

}  // namespace muster
