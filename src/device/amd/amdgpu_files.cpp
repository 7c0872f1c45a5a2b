// What amdgpu shows of each GPU below its PCI device: memory, errors, sensors, how it is cut in parts.
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <utility>

#include "base/text.hpp"
#include "device/amd/files.hpp"
#include "device/amd/gpu_metrics.hpp"
#include "device/amd/numbers.hpp"
#include "device/parse.hpp"

namespace muster {

namespace {

class Files {
 public:
  Files(const Machine& machine, Device& device)
      : machine_(machine), device_(device), folder_("sys/bus/pci/devices/" + to_string(device.address)) {}

  void read() {
    announce("memory_total", mebibytes(text("mem_info_vram_total")));
    announce("memory_used", mebibytes(text("mem_info_vram_used")));
    announce("compute_partition", text("current_compute_partition"));
    announce("memory_partition", text("current_memory_partition"));
    announce("unique_id", text("unique_id"));
    announce("pcie_clock", chosen(text("pp_dpm_pcie")));
    announce("pcie_replays", text("pcie_replay_count"));
    for (const auto& [key, value] : parse_gpu_metrics(machine_.head(folder_ + "/gpu_metrics", 4096)))
      announce(key, value);
    read_errors();
    read_bad_pages();
    read_sensors();
  }

 private:
  [[nodiscard]] std::string text(std::string_view file) const {
    return machine_.text(fmt::format("{}/{}", folder_, file));
  }
  void announce(const std::string& key, std::string value) {
    if (!value.empty()) device_.values[key] = std::move(value);
  }

  [[nodiscard]] static std::string mebibytes(std::string_view bytes) {
    return bytes.empty() ? std::string() : std::to_string(to_number(bytes) >> 20);
  }

  /// `1: 16.0GT/s, x16 *` of several lines.
  [[nodiscard]] static std::string chosen(std::string_view text) {
    for (const std::string_view line : lines(text)) {
      const auto colon = line.find(':');
      const auto star = line.find('*');
      if (colon != line.npos && star != line.npos && star > colon)
        return std::string(trim(line.substr(colon + 1, star - colon - 1)));
    }
    return {};
  }

  void read_errors() {
    constexpr std::string_view end = "_err_count";
    for (const std::string& name : machine_.names(folder_ + "/ras")) {
      if (name.size() <= end.size() || name.compare(name.size() - end.size(), end.size(), end) != 0) continue;
      const auto counts = parse_table(text("ras/" + name), ':');
      if (counts.empty()) continue;
      announce("ras_" + name.substr(0, name.size() - end.size()),
               fmt::format("{} {}", number_at(counts, "ue"), number_at(counts, "ce")));
    }
  }

  /// `0x00000001 : 0x00001000 : R`: retired, P: to be retired at the next reset, F: could not be.
  void read_bad_pages() {
    int retired = 0;
    int pending = 0;
    int failed = 0;
    const std::string pages = text("ras/gpu_vram_bad_pages");
    for (const std::string_view line : lines(pages)) {
      const std::string_view state = trim(line.substr(line.rfind(':') + 1));
      retired += state == "R";
      pending += state == "P";
      failed += state == "F";
    }
    if (retired + pending + failed == 0) return;
    announce("bad_pages_retired", std::to_string(retired));
    announce("bad_pages_pending", std::to_string(pending));
    announce("bad_pages_failed", std::to_string(failed));
  }

  /// Thousandths of a degree, millionths of a watt.
  void report_scaled(const std::string& key, const std::string& value, double scale) {
    if (const auto number = to_number(value); number > 0)
      announce(key, fmt::format("{:g}", static_cast<double>(number) / scale));
  }

  void read_sensors() {
    const auto names = machine_.names(folder_ + "/hwmon");
    if (names.empty()) return;
    const std::string folder = "hwmon/" + names.front();
    for (int i = 1; i <= 3; ++i) {
      const std::string sensor = fmt::format("{}/temp{}_", folder, i);
      const std::string label = text(sensor + "label");
      const std::string place = label == "mem" ? "memory" : label;
      if (place != "edge" && place != "junction" && place != "memory") continue;
      report_scaled("temperature_" + place, text(sensor + "input"), 1000);
      report_scaled("temperature_limit_" + place, text(sensor + "crit"), 1000);
    }
    const std::string average = text(folder + "/power1_average");
    report_scaled("power", average.empty() ? text(folder + "/power1_input") : average, 1e6);
    report_scaled("power_limit", text(folder + "/power1_cap"), 1e6);
  }

  const Machine& machine_;
  Device& device_;
  std::string folder_;
};

}  // namespace

void add_amdgpu_files(const Machine& machine, Inventory& inventory) {
  for (Device& device : inventory.devices)
    if (device.kind == DeviceKind::gpu && device.vendor_id == "1002" && device.driver == "amdgpu" && !device.is_lost)
      Files(machine, device).read();
}

}  // namespace muster
