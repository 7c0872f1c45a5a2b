#include "measure/node_devices.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"
#include "model/gpu_vendor.hpp"

namespace muster::visibility {

namespace {

/// `4`, `a100:4`, `a100:2,v100:2`: the sum; nullopt: none of these.
std::optional<int> granted(std::string_view text) {
  int sum = 0;
  for (const std::string& part : split(text, ',')) {
    const auto number = parse_number_from(std::string_view(part).substr(part.rfind(':') + 1), 0);
    if (!number) return std::nullopt;
    sum += *number;
  }
  return sum;
}

/// A list of indices, not a number.
bool is_list(std::string_view variable) {
  return variable == "SLURM_JOB_GPUS" || variable == "SLURM_STEP_GPUS";
}

std::optional<int> granted_by(const NodeView& node, std::string_view variable) {
  const auto found = node.job.find(variable);
  if (found == node.job.end() || found->second.empty()) return std::nullopt;
  if (is_list(variable)) return static_cast<int>(split(found->second, ',').size());
  // Per task or socket: one task, on one socket, is what every node of a job has at least.
  const auto count = granted(found->second);
  if (!count || variable != "SLURM_GPUS" || *count == 0) return count;
  // Of the whole job: how they are spread is not known.
  const auto nodes = node.job.find("SLURM_NNODES");
  return nodes != node.job.end() && nodes->second == "1" ? *count : 1;
}

}  // namespace

bool are_links_known(const Device& gpu) {
  const auto all = gpu_vendors();
  return std::any_of(all.begin(), all.end(), [&](const GpuVendor* one) {
    return !one->links_source.empty() && gpu.is_seen_by(one->links_source);
  });
}

std::string driver_for(const Device& gpu) {
  const GpuVendor& vendor = terms_of_vendor(vendor_of(gpu));
  return std::string(!gpu.driver.empty() && gpu.driver == vendor.other_driver ? vendor.other_driver : vendor.driver);
}

bool is_withheld(const Device& gpu) {
  return std::any_of(gpu.files.begin(), gpu.files.end(),
                     [](const DeviceFile& file) { return file.access == FileAccess::withheld; });
}

DeviceProblem problem_of(const NodeView& node, const Device& gpu) {
  if (gpu.is_lost) return DeviceProblem::lost;
  if (node.inventory.has_source("pci") && !gpu.is_seen_by("pci")) return DeviceProblem::off_bus;
  const std::string driver = driver_for(gpu);
  if (gpu.is_seen_by("pci") && !driver.empty() && gpu.driver != driver) return DeviceProblem::no_driver;
  if (gpu.is_excluded) return DeviceProblem::excluded;
  const GpuVendor& vendor = terms_of_vendor(vendor_of(gpu));
  const std::string_view source = vendor.driver_source;
  const bool is_asked = !source.empty() && (vendor.is_source_there || node.inventory.has_source(source));
  // KFD hides from a control group what is not granted to it.
  return is_asked && !gpu.is_seen_by(source) && !is_withheld(gpu) ? DeviceProblem::unknown_to_driver
                                                                  : DeviceProblem::none;
}

bool is_usable(const NodeView& node, const Device& gpu) {
  if (problem_of(node, gpu) != DeviceProblem::none) return false;
  return std::all_of(gpu.files.begin(), gpu.files.end(), [](const DeviceFile& file) {
    return file.access == FileAccess::open || file.access == FileAccess::root_only;
  });
}

std::vector<const Device*> devices_of(const NodeView& node, DeviceKind kind) {
  std::vector<const Device*> devices;
  for (const Device& device : node.inventory.devices)
    if (device.kind == kind) devices.push_back(&device);
  return devices;
}

std::vector<std::string_view> senseless_grants(const NodeView& node) {
  std::vector<std::string_view> names;
  for (const std::string_view name : grant_variables) {
    const auto found = node.job.find(name);
    if (found != node.job.end() && !found->second.empty() && !is_list(name) && !granted(found->second))
      names.push_back(name);
  }
  return names;
}

std::optional<Wanted> granted_to(const NodeView& node) {
  for (const std::string_view name : grant_variables) {
    const auto count = granted_by(node, name);
    if (!count) continue;
    if (*count == 0) return std::nullopt;
    return Wanted{*count, true,
                  fmt::format("granted by the job ({}={})", name, printable_line(node.job.find(name)->second, 60))};
  }
  return std::nullopt;
}

std::vector<Wanted> wanted_of(const CaseView& view, const NodeView& node) {
  std::vector<Wanted> wanted;
  if (const auto count = parse_number_from(view.params.text("expected"), 0)) {
    wanted.push_back({*count, false, "expected by the check"});
    return wanted;
  }
  if (view.node.gpus) wanted.push_back({view.node.gpus->count, false, std::string(by_profile)});
  if (auto granted = granted_to(node)) wanted.push_back(std::move(*granted));
  return wanted;
}

Finding no_gpus_expected(std::size_t nodes, std::string remedy) {
  return {Verdict::skip,
          nodes == 1 ? "no GPU on this node and none expected"
                     : fmt::format("no GPU on these {} nodes and none expected", nodes),
          {},
          std::move(remedy)};
}

Culprit culprit_of(const NodeView& node) {
  return node_culprit(node.host);
}

Culprit culprit_of(const NodeView& node, const Device& device) {
  const std::string uuid = device.uuid.empty() ? std::string() : fmt::format(" ({})", device.uuid);
  return {CulpritKind::device, printable_line(label_of(device) + uuid, 120), node.host, -1};
}

std::string subject(const NodeView& node, const std::vector<const Device*>& devices) {
  if (devices.size() == 1) return fmt::format("{} on {}", printable_line(label_of(*devices[0]), 80), node.host);
  std::vector<std::string> names;
  for (const Device* device : devices)
    names.push_back(device->kind == DeviceKind::gpu    ? to_string(device->address)
                    : device->kind == DeviceKind::part ? printable_line(label_of(*device), 80)
                                                       : printable_line(label_of(*device).substr(4), 80));
  const DeviceKind kind = devices.empty() ? DeviceKind::gpu : devices[0]->kind;
  if (kind == DeviceKind::part) return fmt::format("{} on {}", human_list(names), node.host);
  return fmt::format("{} {} on {}", kind == DeviceKind::gpu ? "GPUs" : "NICs", human_list(names), node.host);
}

Finding about(const NodeView& node, const std::vector<const Device*>& devices, std::string reason, std::string remedy) {
  Finding finding;
  finding.reason = std::move(reason);
  finding.remedy = std::move(remedy);
  for (const Device* device : devices) finding.culprits.push_back(culprit_of(node, *device));
  return finding;
}

}  // namespace muster::visibility
