// NVIDIA's management library: absent, broken, and where it knows other GPUs than the kernel.
#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "device/nvidia/judges/judges.hpp"
#include "probes/device_visibility/symptoms.hpp"

namespace muster::visibility {

namespace {

const LibraryReport* nvml_of(const NodeView& node) {
  for (const LibraryReport& library : node.inventory.libraries)
    if (library.name.rfind("libnvidia-ml", 0) == 0) return &library;
  return nullptr;
}

/// Codes are NVML's own.
std::string remedy_for(int code, const std::string& host) {
  switch (code) {
    case 0:
      return fmt::format(
          "install the driver's libraries on {} again, of the version of its kernel module; in a "
          "container, see which libraries were passed to it",
          host);
    case 4:
      return "let users open /dev/nvidiactl and /dev/nvidia*: NVreg_DeviceFileMode=0666, or the group in "
             "NVreg_DeviceFileGID; in a container, pass the device files to it";
    case 8:
      return fmt::format("drain {} and have the power cables of its GPUs checked", host);
    case 9:
      return fmt::format("load the driver on {}: modprobe nvidia; see dmesg there for the reason", host);
    case 10:
    case 999:
      return fmt::format(
          "look for NVRM and Xid in the kernel log of {}, reload the driver there or reboot it, and drain "
          "it if that does not help",
          host);
    case 12:
    case 17:
      return fmt::format(
          "see what {} withholds from this process (device files, container, SELinux): the kernel log and strace",
          host);
    case 14:
      return fmt::format("drain {}: the GPU's infoROM is corrupted; have it flashed again, or the GPU replaced", host);
    case 15:
      return fmt::format(
          "drain {}, look for Xid 79 in its kernel log and power-cycle it; if the GPU is lost again, have "
          "it reseated or replaced",
          host);
    case 16:
      return fmt::format("end what runs on the GPU and reset it on {}: nvidia-smi --gpu-reset -i ADDRESS", host);
    case 18:
      return fmt::format(
          "reboot {} or reload the kernel module, so that module and libraries are of one version; in a "
          "container, pass the host's libraries to it",
          host);
    default:
      return fmt::format("look for NVRM and Xid in the kernel log of {}, and reboot it", host);
  }
}

bool has_driver(const NodeView& node) {
  return node.inventory.versions.count("nvidia") != 0 || node.inventory.has_source("nvidia");
}

/// The kernel's sources have shown why nothing works.
bool is_explained(const NodeView& node, const LibraryReport& library) {
  const bool is_shut = std::any_of(node.inventory.files.begin(), node.inventory.files.end(),
                                   [](const DeviceFile& file) { return file.access != FileAccess::open; });
  if (is_shut) return true;
  const auto gpus = devices_of(node, DeviceKind::gpu);
  return library.code == 9 && std::any_of(gpus.begin(), gpus.end(), [&](const Device* gpu) {
           return problem_of(node, *gpu) == DeviceProblem::no_driver;
         });
}

Finding about_library(const NodeView& node, const LibraryReport& library, std::string reason, std::string remedy) {
  return {Verdict::fail,
          std::move(reason),
          {culprit_of(node),
           {CulpritKind::file, printable_line(library.file.empty() ? library.name : library.file, 120), node.host, -1}},
          std::move(remedy)};
}

void judge_state(const NodeView& node, const LibraryReport& library, Findings& findings) {
  const std::string name = printable_line(library.name, 60);
  if (library.state == LibraryState::absent) {
    if (has_driver(node))
      findings.push_back(about_library(node, library,
                                       fmt::format("{} has the kernel driver of NVIDIA, but no {}", node.host, name),
                                       "install the driver's libraries; in a container, pass them to it "
                                       "(NVIDIA_DRIVER_CAPABILITIES=compute,utility)"));
  } else if (library.state == LibraryState::broken && !is_explained(node, library)) {
    findings.push_back(about_library(
        node, library, fmt::format("{} on {} is unusable: {}", name, node.host, printable_line(library.error)),
        remedy_for(library.code, node.host)));
  }
}

/// The library's data on single GPUs, and its gaps.
void judge_refusals(const NodeView& node, const LibraryReport& library, Findings& findings) {
  bool is_reported = library.error.empty();
  for (const Device* gpu : devices_of(node, DeviceKind::gpu)) {
    const std::string error = reported(*gpu, "nvml_error");
    is_reported |= problem_of(node, *gpu) != DeviceProblem::none || !error.empty();
    if (error.empty() || problem_of(node, *gpu) != DeviceProblem::none || is_withheld(*gpu)) continue;
    findings.push_back(about(node, {gpu}, fmt::format("{}: {}", subject(node, {gpu}), error),
                             remedy_for(static_cast<int>(vendor_number(*gpu, "nvml_code")), node.host)));
  }
  if (!is_reported)
    findings.push_back(about_library(
        node, library, fmt::format("on {} a GPU can't be asked: {}", node.host, printable_line(library.error)),
        remedy_for(library.code, node.host)));
}

void judge_agreement(const NodeView& node, Findings& findings) {
  Symptoms symptoms;
  std::size_t known = 0;
  for (const Device* gpu : devices_of(node, DeviceKind::gpu)) known += gpu->is_seen_by("nvml");
  for (const Device* gpu : devices_of(node, DeviceKind::gpu)) {
    if (vendor_of(*gpu) != "nvidia" || !is_usable(node, *gpu) || !reported(*gpu, "nvml_error").empty()) continue;
    if (!gpu->is_seen_by("nvml"))
      symptoms.add(
          *gpu, {fmt::format("known to the kernel's driver, but not to NVML, which reports {}", counted(known, "GPU")),
                 fmt::format("see whether nvidia-smi -L on {} misses it; if it does, look for NVRM and Xid in the "
                             "kernel log, reset the GPU or reboot the node",
                             node.host)});
    if (const std::string other = reported(*gpu, "nvml_uuid"); !other.empty())
      symptoms.add(*gpu,
                   {fmt::format("the kernel's driver gives it UUID {}, NVML {}", printable_line(gpu->uuid, 60), other),
                    fmt::format("reboot {}: driver and NVML report different devices; in a container, check that its "
                                "/proc is the host's",
                                node.host)});
  }
  symptoms.report(node, findings);
}

}  // namespace

void judge_nvml(const NodeView& node, Findings& findings) {
  const LibraryReport* library = nvml_of(node);
  if (library == nullptr) return;
  judge_state(node, *library, findings);
  if (library->state != LibraryState::working) return;
  judge_refusals(node, *library, findings);
  judge_agreement(node, findings);
  if (!library->missing.empty())
    findings.push_back(
        make_note(fmt::format("the driver on {} is old: its {} lacks {}, their data is not judged", node.host,
                              printable_line(library->name, 60), printable_line(human_list(library->missing), 600))));
}

}  // namespace muster::visibility
