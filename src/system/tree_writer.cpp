#include "system/tree_writer.hpp"

#include <fmt/format.h>

namespace muster {

std::string kernel_map(const CpuMask& mask, int cpus) {
  std::string text;
  for (int group = (cpus - 1) / 32; group >= 0; --group) {
    std::uint32_t bits = 0;
    for (int bit = 0; bit < 32; ++bit)
      if (mask.has(group * 32 + bit)) bits |= 1u << bit;
    text += fmt::format("{}{:08x}", text.empty() ? "" : ",", bits);
  }
  return text;
}

std::uint64_t number_of(std::string_view words) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char letter : words) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  return hash;
}

std::string write_function(const MachineDescription& machine, const PciFunction& function, TreeWriter& tree) {
  const std::string bus = function.address.substr(0, 7);
  const std::string folder = fmt::format("sys/devices/pci{}/{}", bus, function.address);
  const std::string vendor = function.id.substr(0, 4);
  const std::string device = function.id.substr(5);
  tree.put(folder + "/class", "0x" + function.class_code);
  tree.put(folder + "/vendor", "0x" + vendor);
  tree.put(folder + "/device", "0x" + device);
  tree.put(folder + "/numa_node", std::to_string(function.domain));
  const CpuMask near = function.near.empty() ? machine.cpus() : function.near;
  tree.put(folder + "/local_cpus", kernel_map(near, machine.cores * machine.smt));
  tree.put(folder + "/local_cpulist", near.list());
  tree.put(folder + "/max_link_width", "16");
  tree.put(folder + "/max_link_speed", "16.0 GT/s PCIe");
  tree.put(folder + "/current_link_width", function.is_lost ? "63" : std::to_string(function.lanes));
  tree.put(folder + "/current_link_speed", function.is_lost ? "Unknown" : "16.0 GT/s PCIe");
  std::string config(64, function.is_lost ? '\xff' : '\0');
  const auto byte = [](const std::string& hex, std::size_t at) {
    return static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
  };
  if (!function.is_lost) config.replace(0, 4, {byte(vendor, 2), byte(vendor, 0), byte(device, 2), byte(device, 0)});
  tree.write(folder + "/config", config);
  tree.link("sys/bus/pci/devices/" + function.address, folder);
  tree.folder("sys/bus/pci/drivers/" + function.driver);
  tree.link(folder + "/driver", "sys/bus/pci/drivers/" + function.driver);
  return folder;
}

}  // namespace muster
