// Power and clock of a GPU by NVML, which stays open as long as the meter.
#include "device/nvidia/nvml.hpp"
#include "device/nvidia/nvml_session.hpp"

namespace muster {

namespace {

class NvmlMeter final : public GpuMeter {
 public:
  NvmlMeter(const nvml::Functions& functions, CallWatch watch)
      : functions_(functions), watch_(std::move(watch)), session_(functions_, watch_) {}
  NvmlMeter(const NvmlMeter&) = delete;
  NvmlMeter& operator=(const NvmlMeter&) = delete;
  ~NvmlMeter() override {
    if (is_open_) static_cast<void>(session_.call("nvmlShutdown", functions_.shutdown));
  }

  [[nodiscard]] bool open(const PciAddress& address) {
    if (session_.call("nvmlInit_v2", functions_.init) != 0) return false;
    is_open_ = true;
    const std::string text = to_string(address);
    return session_.call("nvmlDeviceGetHandleByPciBusId", functions_.by_bus_id, text.c_str(), &handle_) == 0;
  }

  [[nodiscard]] GpuReading read() override {
    GpuReading reading;
    std::uint32_t value = 0;
    constexpr int of_multiprocessors = 1;
    if (session_.call("nvmlDeviceGetPowerUsage", functions_.power, handle_, &value) == 0) reading.watts = value * 1e-3;
    if (session_.call("nvmlDeviceGetClockInfo", functions_.clock, handle_, of_multiprocessors, &value) == 0)
      reading.megahertz = value;
    return reading;
  }

 private:
  nvml::Functions functions_;
  CallWatch watch_;
  nvml::Session session_;
  nvml::Handle handle_ = nullptr;
  bool is_open_ = false;
};

}  // namespace

std::unique_ptr<GpuMeter> open_nvml_meter(const PciAddress& address, CallWatch watch) {
  const Library library = watch("dlopen libnvidia-ml.so.1", [] { return Library::open({"libnvidia-ml.so.1"}); });
  if (!library.is_open()) return nullptr;
  std::vector<std::string> missing;
  const nvml::Functions functions = nvml::functions_of(library, missing);
  if (!nvml::can_be_asked(functions)) return nullptr;
  auto meter = std::make_unique<NvmlMeter>(functions, std::move(watch));
  if (!meter->open(address)) return nullptr;
  return meter;
}

}  // namespace muster
