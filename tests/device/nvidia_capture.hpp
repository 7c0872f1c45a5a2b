/// Captures of nvidia-smi (`-q` as text or XML, `-L`, `nvlink -s`), made into described machines whose stand-in tells
/// the same.
#pragma once

#include <cstring>
#include <fmt/format.h>
#include <pugixml.hpp>
#include <regex>
#include <sstream>

#include "base/text.hpp"
#include "device/nvml_machine.hpp"

namespace muster::capture {

/// What is written of one GPU: `ecc_errors/volatile/dram_correctable` -> `0`. Paths of lists come several times.
struct Gpu {
  std::string address;
  std::vector<std::pair<std::string, std::string>> lines;

  [[nodiscard]] std::vector<std::string> all(const std::string& path) const {
    std::vector<std::string> values;
    for (const auto& [key, value] : lines)
      if (key == path) values.push_back(value);
    return values;
  }
  /// The first of the paths (separated by `|`) that is there; empty: none is, or it says `N/A`.
  [[nodiscard]] std::string first(const std::string& paths) const {
    for (const std::string& path : split(paths, '|'))
      for (const std::string& value : all(path)) return value == "N/A" || value.empty() ? "" : value;
    return {};
  }
};

struct Smi {
  std::string driver;
  std::vector<Gpu> gpus;
  std::vector<std::string> mig_uuids, mig_profiles;
  int nvlinks = 0;
};

inline void flatten(const pugi::xml_node& node, const std::string& path, Gpu& gpu) {
  for (const pugi::xml_node& child : node.children()) {
    if (child.type() != pugi::node_element) continue;
    const std::string here = path.empty() ? child.name() : path + "/" + child.name();
    if (std::none_of(child.begin(), child.end(),
                     [](const pugi::xml_node& n) { return n.type() == pugi::node_element; }))
      gpu.lines.emplace_back(here, trim(child.text().get()));
    flatten(child, here, gpu);
  }
}

inline Smi parse_xml(const std::string& text) {
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(text.c_str()));
  const auto log = document.child("nvidia_smi_log");
  Smi smi{log.child("driver_version").text().get(), {}, {}, {}, 0};
  for (const pugi::xml_node& node : log.children("gpu")) {
    Gpu gpu{node.attribute("id").value(), {}};
    flatten(node, "", gpu);
    smi.gpus.push_back(std::move(gpu));
  }
  return smi;
}

/// The lines below the heading `# STATE :: query (-q)`, which are indented by what they belong to.
inline void parse_query(std::istream& in, Smi& smi) {
  std::vector<std::pair<std::size_t, std::string>> above;
  for (std::string line; std::getline(in, line) && line.rfind("####", 0) != 0;) {
    const auto indent = line.find_first_not_of(' ');
    if (indent == line.npos) continue;
    const auto colon = line.find(" : ");
    const std::string key(trim(line.substr(0, colon)));
    const std::string value(colon == line.npos ? "" : trim(line.substr(colon + 3)));
    if (indent == 0 && key.rfind("GPU 0", 0) == 0) smi.gpus.push_back({key.substr(4), {}});
    if (indent == 0 && key == "Driver Version") smi.driver = value;
    while (!above.empty() && above.back().first >= indent) above.pop_back();
    std::string path;
    for (const auto& one : above)
      if (one.first > 0) path += one.second + "/";
    if (!smi.gpus.empty() && colon != line.npos) smi.gpus.back().lines.emplace_back(path + key, value);
    above.emplace_back(indent, key);
  }
}

inline Smi parse_text(const std::string& text, const std::string& state) {
  Smi smi;
  static const std::regex mig(R"(\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (\S+)\))");
  std::istringstream in(text);
  std::smatch found;
  for (std::string line; std::getline(in, line);) {
    if (line == "# " + state + " :: query (-q)") {
      std::getline(in, line);
      std::getline(in, line);
      parse_query(in, smi);
    } else if (std::regex_match(line, found, mig)) {
      smi.mig_profiles.push_back(found[1]);
      smi.mig_uuids.push_back(found[2]);
    } else if (std::regex_match(line, std::regex(R"(\s+Link \d+: 26\.562 GB/s)"))) {
      ++smi.nvlinks;
    }
  }
  return smi;
}

/// A value of the inventory, where captures have it, as text or as XML.
struct Place {
  std::string key, paths;
};
inline const std::vector<Place> numbers = {
    {"pcie_width", "PCI/GPU Link Info/Link Width/Current|pci/pci_gpu_link_info/link_widths/current_link_width"},
    {"pcie_width_able", "PCI/GPU Link Info/Link Width/Max|pci/pci_gpu_link_info/link_widths/max_link_width"},
    {"pcie_generation", "PCI/GPU Link Info/PCIe Generation/Current|pci/pci_gpu_link_info/pcie_gen/current_link_gen"},
    {"pcie_generation_able", "PCI/GPU Link Info/PCIe Generation/Max|pci/pci_gpu_link_info/pcie_gen/max_link_gen"},
    {"memory_total", "FB Memory Usage/Total|fb_memory_usage/total"},
    {"memory_used", "FB Memory Usage/Used|fb_memory_usage/used"},
    {"memory_reserved", "FB Memory Usage/Reserved|fb_memory_usage/reserved"},
    {"temperature", "Temperature/GPU Current Temp|temperature/gpu_temp"},
    {"temperature_slowdown", "temperature/gpu_temp_slow_threshold"},
    {"power", "GPU Power Readings/Average Power Draw|gpu_power_readings/power_draw|power_readings/power_draw"},
    {"power_limit",
     "GPU Power Readings/Current Power "
     "Limit|gpu_power_readings/current_power_limit|power_readings/enforced_power_limit"},
    {"clock_sm", "Clocks/SM|clocks/sm_clock"},
    {"clock_memory", "Clocks/Memory|clocks/mem_clock"},
    {"clock_sm_able", "Max Clocks/SM|max_clocks/sm_clock"},
    {"clock_memory_able", "Max Clocks/Memory|max_clocks/mem_clock"},
    {"sram_corrected", "ECC Errors/Volatile/SRAM Correctable|ecc_errors/volatile/sram_correctable"},
    {"dram_corrected", "ECC Errors/Volatile/DRAM Correctable|ecc_errors/volatile/dram_correctable"},
    {"dram_uncorrected", "ECC Errors/Volatile/DRAM Uncorrectable|ecc_errors/volatile/dram_uncorrectable"},
    {"sram_uncorrected", "ECC Errors/Volatile/SRAM Uncorrectable SEC-DED|ecc_errors/volatile/sram_uncorrectable"},
    {"remapped_rows_corrected", "Remapped Rows/Correctable Error|remapped_rows/remapped_row_corr"},
    {"remapped_rows_uncorrected", "Remapped Rows/Uncorrectable Error|remapped_rows/remapped_row_unc"},
    {"retired_pages_corrected",
     "Retired Pages/Single Bit ECC|retired_pages/multiple_single_bit_retirement/retired_count"},
    {"retired_pages_uncorrected", "Retired Pages/Double Bit ECC|retired_pages/double_bit_retirement/retired_count"},
};
/// `Enabled`, `Yes` and their like.
inline const std::vector<Place> switches = {
    {"persistence", "Persistence Mode|persistence_mode"},
    {"ecc", "ECC Mode/Current|ecc_mode/current_ecc"},
    {"mig", "MIG Mode/Current|mig_mode/current_mig"},
    {"row_remap_pending", "Remapped Rows/Pending|remapped_rows/remapped_row_pending"},
    {"row_remap_failed", "Remapped Rows/Remapping Failure Occurred|remapped_rows/remapped_row_failure"},
    {"page_retirement_pending", "Retired Pages/Pending Page Blacklist|retired_pages/pending_retirement"},
};
/// Bit of each throttle reason, behind `Clocks Event Reasons/`, `clocks_event_reasons/clocks_event_reason_`, ...
inline const std::vector<std::tuple<int, std::string, std::string>> reasons = {
    {0x1, "Idle", "gpu_idle"},
    {0x2, "Applications Clocks Setting", "applications_clocks_setting"},
    {0x4, "SW Power Cap", "sw_power_cap"},
    {0x8, "HW Slowdown", "hw_slowdown"},
    {0x10, "Sync Boost", "sync_boost"},
    {0x20, "SW Thermal Slowdown", "sw_thermal_slowdown"},
    {0x40, "HW Slowdown/HW Thermal Slowdown", "hw_thermal_slowdown"},
    {0x80, "HW Slowdown/HW Power Brake Slowdown", "hw_power_brake_slowdown"},
    {0x100, "Display Clock Setting", "display_clocks_setting"},
};

/// `16x`, `71.27 W`, `345 MHz`: the number as text.
inline std::string number_in(const std::string& text) {
  return text.substr(0, text.find_first_not_of("0123456789.-"));
}

inline int throttle_bits(const Gpu& gpu) {
  int bits = 0;
  for (const auto& [bit, text, xml] : reasons)
    if (gpu.first("Clocks Event Reasons/" + text + "|clocks_event_reasons/clocks_event_reason_" + xml +
                  "|clocks_throttle_reasons/clocks_throttle_reason_" + xml) == "Active")
      bits |= bit;
  return bits;
}

inline std::vector<std::string> of_parts(const Gpu& gpu, const std::string& text, const std::string& xml) {
  auto values = gpu.all("MIG Device/" + text);
  return values.empty() ? gpu.all("mig_devices/mig_device/" + xml) : values;
}

/// `PID:MIB` of each that computes.
inline std::vector<std::string> processes_of(const Gpu& gpu) {
  const auto pids = gpu.all("Processes/Process ID");
  const auto used = gpu.all("Processes/Process ID/Used GPU Memory");
  std::vector<std::string> list;
  for (std::size_t i = 0; i < pids.size(); ++i) list.push_back(pids[i] + ":" + number_in(used.at(i)));
  return list;
}

}  // namespace muster::capture
