#include "device/nvidia/judges/judges.hpp"

#include <fmt/format.h>
#include <map>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "probes/device_visibility/symptoms.hpp"
#include "probes/device_visibility/vendor_judges.hpp"

namespace muster::visibility {

namespace {

void judge_nvidia_versions(const NodeView& node, Findings& findings) {
  const auto& versions = node.inventory.versions;
  const auto library = versions.find("libnvidia-ml");
  const auto module = versions.find("nvidia");
  if (library == versions.end() || module == versions.end() || library->second == module->second) return;
  // NVML itself has reported it.
  for (const LibraryReport& report : node.inventory.libraries)
    if (report.state == LibraryState::broken && report.code == 18) return;
  findings.push_back(
      {Verdict::fail,
       fmt::format("on {} the kernel runs driver nvidia {}, but its libraries are {}: programs refuse to start",
                   node.host, printable_line(module->second, 40), printable_line(library->second, 40)),
       {culprit_of(node)},
       fmt::format("reboot {} or reload the kernel module; in a container, pass the host's libraries to it",
                   node.host)});
}

struct Imex {
  std::vector<const NodeView*> open;
  std::vector<const NodeView*> shut;
};

/// IMEX carries memory between nodes of one domain. A node alone, or domains in which no node has a channel, do not use
/// it; a node without one among others that have one can't be reached over NVLink.
void judge_imex(const Nodes& nodes, Findings& findings) {
  std::map<std::string, Imex> domains;
  for (const NodeView& node : nodes)
    for (const Device* gpu : devices_of(node, DeviceKind::gpu)) {
      const auto domain = gpu->values.find("fabric_domain");
      const auto imex = gpu->values.find("imex");
      if (domain == gpu->values.end() || imex == gpu->values.end()) continue;
      Imex& there = domains[printable_line(domain->second, 60)];
      auto& side = imex->second == "open" ? there.open : there.shut;
      if (!is_in(&node, side)) side.push_back(&node);
    }
  for (const auto& [domain, there] : domains) {
    if (there.open.empty() || there.open.size() <= there.shut.size()) continue;
    for (const NodeView* node : there.shut) {
      findings.push_back(
          {Verdict::fail,
           fmt::format("{} has no IMEX channel that this job may open (/dev/nvidia-caps-imex-channels), {} of {} nodes "
                       "of its NVLink domain have: memory of other nodes can't be reached over NVLink",
                       node->host, there.open.size(), there.open.size() + there.shut.size()),
           {culprit_of(*node)},
           fmt::format(
               "see whether nvidia-imex runs on {} and whether the scheduler gives the job a channel there (Slurm's "
               "switch/nvidia_imex)",
               node->host)});
    }
  }
}

std::string reported_of_health(const Nodes& nodes) {
  std::size_t gpus = 0, parts = 0;
  std::map<std::string, int> profiles;
  int links = 0;
  for (const NodeView& node : nodes)
    for (const Device& device : node.inventory.devices) {
      if (!device.is_seen_by("nvml")) continue;
      gpus += device.kind == DeviceKind::gpu;
      parts += device.kind == DeviceKind::part;
      if (const auto profile = device.values.find("profile"); profile != device.values.end())
        ++profiles[printable_line(profile->second, 20)];
      for (const PeerLink& peer : device.peers) links += peer.kind == "nvlink" ? peer.up : 0;
    }
  if (gpus == 0) return {};
  std::string text = fmt::format("NVML reports {}: memory, clocks and modes are healthy", counted(gpus, "GPU"));
  if (links > 0) text += fmt::format(", {} NVLinks are up", links);
  if (parts > 0) text += ", with " + counted(parts, "MIG instance");
  std::vector<std::string> kinds;
  for (const auto& [profile, count] : profiles) kinds.push_back(fmt::format("{}x {}", count, profile));
  if (!kinds.empty()) text += " (" + human_list(kinds) + ")";
  return text;
}

}  // namespace

std::vector<const Device*> reported_by_nvml(const NodeView& node) {
  std::vector<const Device*> gpus;
  for (const Device* gpu : devices_of(node, DeviceKind::gpu))
    if (gpu->is_seen_by("nvml") && problem_of(node, *gpu) == DeviceProblem::none && !is_withheld(*gpu))
      gpus.push_back(gpu);
  return gpus;
}

extern const VendorJudges nvidia_judges;
constexpr VendorJudges nvidia_judges{.vendor = "nvidia",
                                     .libraries = judge_nvml,
                                     .versions = judge_nvidia_versions,
                                     .health = judge_nvml_health,
                                     .siblings = judge_siblings,
                                     .sources = nullptr,
                                     .links = nullptr,
                                     .nodes = judge_imex,
                                     .evidence = reported_of_health};

}  // namespace muster::visibility
