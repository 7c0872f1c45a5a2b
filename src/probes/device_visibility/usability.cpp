// GPUs that are there and can't be used: sources that disagree, device files, memory errors.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "measure/node_devices.hpp"
#include "model/gpu_vendor.hpp"

namespace muster::visibility {

namespace {

std::string has(const std::vector<const Device*>& devices) {
  return devices.size() == 1 ? "has" : "have";
}

std::string is(const std::vector<const Device*>& devices) {
  return devices.size() == 1 ? "is" : "are";
}

std::string bound_to(const std::vector<const Device*>& gpus) {
  const std::string needed = driver_for(*gpus[0]);
  if (needed.empty()) return fmt::format("{} no driver bound", has(gpus));
  if (gpus[0]->driver.empty()) return fmt::format("{} no driver bound, {} is needed", has(gpus), needed);
  return fmt::format("{} bound to {} instead of {}", is(gpus), printable_line(gpus[0]->driver, 40), needed);
}

Finding problem_finding(const NodeView& node, DeviceProblem problem, const std::vector<const Device*>& gpus) {
  const std::string who = subject(node, gpus);
  const std::string driver = driver_for(*gpus[0]);
  switch (problem) {
    case DeviceProblem::lost:
      return about(node, gpus,
                   fmt::format("{} {} fallen off the bus: PCI configuration space reads 0xffff", who, has(gpus)),
                   fmt::format("drain {}, look for the cause in its kernel log (Xid 79, PCIe errors), power-cycle it; "
                               "if it comes back, have the card reseated or replaced",
                               node.host));
    case DeviceProblem::off_bus:
      return about(
          node, gpus, fmt::format("{} {} known to the driver but gone from the PCI bus", who, is(gpus)),
          fmt::format("drain {} and power-cycle it; if lspci still misses the GPU, have it reseated or replaced",
                      node.host));
    case DeviceProblem::no_driver:
      return about(node, gpus, fmt::format("{} {}", who, bound_to(gpus)),
                   fmt::format("load the driver on {}{}; see dmesg there for the reason", node.host,
                               driver.empty() ? std::string() : ": modprobe " + driver));
    case DeviceProblem::excluded:
      return about(node, gpus, fmt::format("{} {} excluded by the driver's settings", who, is(gpus)),
                   "take it out of NVreg_ExcludedGpus in /etc/modprobe.d, or have the GPU replaced if it was put there "
                   "for a reason");
    default:
      return about(node, gpus,
                   fmt::format("{} {} on the PCI bus and bound to {}, but the driver does not know {}", who, is(gpus),
                               driver, gpus.size() == 1 ? "it" : "them"),
                   fmt::format("look for why the driver gave up in the kernel log of {} (dmesg: {}), reset the GPU or "
                               "power-cycle the node; in a container, see which GPUs were passed to it",
                               node.host, log_marks_of(terms_of_vendor(vendor_of(*gpus[0])))));
  }
}

/// What a container shows only in part is not a fault while the job has what it was granted.
bool has_its_share(const CaseView& view, const NodeView& node) {
  const auto gpus = devices_of(node, DeviceKind::gpu);
  const auto usable = std::count_if(gpus.begin(), gpus.end(), [&](const Device* gpu) { return is_usable(node, *gpu); });
  const auto wanted = wanted_of(view, node);
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const Wanted& one) { return one.is_least && usable >= one.count; });
}

struct Files {
  std::vector<std::string> paths;
  std::vector<const Device*> gpus;
  std::vector<Culprit> shared;
};

Finding file_finding(const NodeView& node, FileAccess access, const Files& files) {
  // Vendors share folders of files.
  const GpuVendor* shared = vendor_by_prefix(&GpuVendor::file_prefixes, files.paths[0]);
  const GpuVendor& vendor = !files.gpus.empty() ? terms_of_vendor(vendor_of(*files.gpus[0]))
                            : shared == nullptr ? terms_of_vendor({})
                                                : *shared;
  const std::string list = printable_line(human_list(files.paths), 300);
  std::string reason;
  std::string remedy;
  if (access == FileAccess::missing) {
    reason = fmt::format("{} {} missing on {}", list, files.paths.size() == 1 ? "is" : "are", node.host);
    remedy = vendor.files_missing;
  } else if (access == FileAccess::denied) {
    reason = fmt::format("this user may not open {} on {}", list, node.host);
    remedy = vendor.files_denied;
  } else if (access == FileAccess::root_only) {
    reason = fmt::format("only root may open {} on {}", list, node.host);
    remedy = "set mode or group of the device files so that users' jobs may open them";
  } else {
    reason = fmt::format("the job's control group refuses {} on {}", list, node.host);
    remedy = "request GPUs: --gpus-per-node, or --gres=gpu";
  }
  Finding finding = about(node, files.gpus, std::move(reason), std::move(remedy));
  finding.culprits.insert(finding.culprits.end(), files.shared.begin(), files.shared.end());
  return finding;
}

/// All GPUs of the node are closed to this job: they were not requested.
bool are_all_withheld(const std::vector<const Device*>& gpus) {
  return !gpus.empty() && std::all_of(gpus.begin(), gpus.end(), [](const Device* gpu) { return is_withheld(*gpu); });
}

}  // namespace

void judge_problems(const CaseView& view, const NodeView& node, Findings& findings) {
  std::map<std::pair<DeviceProblem, std::string>, std::vector<const Device*>> groups;
  for (const Device* gpu : devices_of(node, DeviceKind::gpu))
    if (const DeviceProblem problem = problem_of(node, *gpu); problem != DeviceProblem::none)
      groups[{problem, gpu->driver + driver_for(*gpu)}].push_back(gpu);
  for (const auto& [key, gpus] : groups) {
    if (key.first == DeviceProblem::unknown_to_driver && has_its_share(view, node)) continue;
    findings.push_back(problem_finding(node, key.first, gpus));
  }
}

void judge_files(const NodeView& node, Findings& findings) {
  const auto gpus = devices_of(node, DeviceKind::gpu);
  if (are_all_withheld(gpus)) {
    findings.push_back(
        about(node, gpus,
              fmt::format("{} on {} closed to this job by its control group",
                          gpus.size() == 1 ? std::string("the only GPU") : fmt::format("all {} GPUs", gpus.size()),
                          node.host + (gpus.size() == 1 ? " is" : " are")),
              "request GPUs: --gpus-per-node, or --gres=gpu"));
    return;
  }
  std::map<FileAccess, Files> groups;
  for (const DeviceFile& file : node.inventory.files) {
    if (file.access == FileAccess::open) continue;
    groups[file.access].paths.push_back(file.path);
    groups[file.access].shared.push_back({CulpritKind::file, printable_line(file.path, 80), node.host, -1});
  }
  for (const Device* gpu : gpus) {
    if (problem_of(node, *gpu) != DeviceProblem::none || is_withheld(*gpu)) continue;
    for (const DeviceFile& file : gpu->files) {
      if (file.access == FileAccess::open) continue;
      groups[file.access].paths.push_back(file.path);
      groups[file.access].gpus.push_back(gpu);
    }
  }
  for (const auto& [access, files] : groups) findings.push_back(file_finding(node, access, files));
}

void judge_memory(const NodeView& node, Findings& findings) {
  for (const Device* gpu : devices_of(node, DeviceKind::gpu))
    if (gpu->uncorrected > 0)
      findings.push_back(
          about(node, {gpu},
                fmt::format("{} has {} since its driver was loaded", subject(node, {gpu}),
                            counted(static_cast<std::size_t>(gpu->uncorrected), "uncorrected memory error")),
                fmt::format("drain {} and reset the GPU; have it replaced if the errors come back", node.host)));
}

}  // namespace muster::visibility
