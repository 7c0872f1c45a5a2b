#include "probes/cpu_affinity/own_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <set>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "model/gpu_vendor.hpp"

namespace muster::affinity {

namespace {

using Gpus = std::vector<const Device*>;

Gpus usable(const Inventory& inventory) {
  Gpus gpus;
  for (const Device& device : inventory.devices) {
    const bool is_withheld = std::any_of(device.files.begin(), device.files.end(),
                                         [](const DeviceFile& file) { return file.access == FileAccess::withheld; });
    if (device.kind == DeviceKind::gpu && !device.is_lost && !device.is_excluded && !is_withheld)
      gpus.push_back(&device);
  }
  return gpus;
}

/// ROCR counts partitions, in the order in which KFD lists them.
Gpus as_counted(Gpus gpus) {
  if (std::none_of(gpus.begin(), gpus.end(), [](const Device* gpu) { return gpu->partitions > 1; })) return gpus;
  std::stable_sort(gpus.begin(), gpus.end(),
                   [](const Device* a, const Device* b) { return a->compute_order < b->compute_order; });
  Gpus parts;
  for (const Device* gpu : gpus) parts.insert(parts.end(), static_cast<std::size_t>(std::max(1, gpu->partitions)), gpu);
  return parts;
}

/// `3`, and `3.1` of ZE_AFFINITY_MASK, whose second number is a tile.
std::optional<std::size_t> index_in(std::string_view word) {
  return parse_number<std::size_t>(word.substr(0, word.find('.')));
}

/// nullopt: it names a device that can't be determined here (a MIG instance), or one that is absent.
std::optional<Gpus> choose(const Gpus& gpus, const std::string& text) {
  Gpus chosen;
  for (const std::string& item : split(text, ',')) {
    const std::string_view word = trim(item);
    if (const auto index = index_in(word); index && *index < gpus.size()) {
      if (!is_in(gpus[*index], chosen)) chosen.push_back(gpus[*index]);
      continue;
    }
    const auto named = std::find_if(gpus.begin(), gpus.end(), [&](const Device* gpu) {
      return word.size() > 4 && !gpu->uuid.empty() && gpu->uuid.rfind(word, 0) == 0;
    });
    if (named == gpus.end()) return std::nullopt;
    chosen.push_back(*named);
  }
  return chosen;
}

std::vector<std::string_view> variables_for(const std::string& vendor, const Visible& visible) {
  const GpuVendor& terms = terms_of_vendor(vendor);
  std::vector<std::string_view> names{terms.visible_variable};
  const auto& inner = terms.inner_variables;
  const auto set = std::find_if(inner.begin(), inner.end(),
                                [&](std::string_view name) { return visible.find(name) != visible.end(); });
  if (set != inner.end()) names.push_back(*set);
  return names;
}

}  // namespace

Visible read_visible() {
  Visible visible;
  const auto read = [&](std::string_view name) {
    if (const char* value = std::getenv(std::string(name).c_str())) visible[std::string(name)] = value;
  };
  for (const GpuVendor* vendor : gpu_vendors()) {
    if (!vendor->visible_variable.empty()) read(vendor->visible_variable);
    for (const std::string_view name : vendor->inner_variables) read(name);
  }
  return visible;
}

OwnGpu own_gpu(const Inventory& inventory, const Visible& visible) {
  Gpus gpus = usable(inventory);
  if (gpus.empty()) return {};
  std::set<std::string> vendors;
  for (const Device* gpu : gpus) vendors.insert(vendor_of(*gpu));
  if (vendors.size() != 1) return {};
  const auto all = static_cast<std::size_t>(inventory.count_gpus());
  std::vector<std::string> because;
  for (const std::string_view name : variables_for(*vendors.begin(), visible)) {
    const auto variable = visible.find(name);
    if (variable == visible.end() || variable->second.empty()) continue;
    auto chosen = choose(because.empty() ? as_counted(gpus) : gpus, variable->second);
    if (!chosen) return {};
    gpus = std::move(*chosen);
    because.push_back(fmt::format("{}={}", name, printable_line(variable->second, 60)));
  }
  if (because.empty() && all > gpus.size()) because.emplace_back("its control group");
  // The only GPU of a node does not belong to one rank: all ranks see it.
  if (gpus.size() != 1 || because.empty()) return {};
  return {to_string(gpus[0]->address), join(because, " ")};
}

std::vector<std::string> usable_gpus(const Inventory& inventory) {
  std::vector<std::string> addresses;
  for (const Device* gpu : usable(inventory)) addresses.push_back(to_string(gpu->address));
  return addresses;
}

std::vector<std::string> nics_on(const Inventory& inventory, const std::vector<int>& domains) {
  std::vector<std::string> names;
  for (const Device& device : inventory.devices)
    if (device.kind == DeviceKind::nic && is_in(device.numa_node, domains))
      names.push_back(printable_line(label_of(device), 80));
  return names;
}

}  // namespace muster::affinity
