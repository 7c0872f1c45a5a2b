// xGMI links between AMD's GPUs: each end reports them, GPUs of one hive reach all others of it, and most have as
// many.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.hpp"
#include "device/amd/judges/judges.hpp"

namespace muster::visibility {

namespace {

std::string remedy(const NodeView& node) {
  return fmt::format("drain {} and power-cycle it; if the link stays away, have the GPUs' board or bridge replaced",
                     node.host);
}

const PeerLink* xgmi_to(const Device& from, const Device& to) {
  const auto found = std::find_if(from.peers.begin(), from.peers.end(),
                                  [&](const PeerLink& link) { return link.kind == "xgmi" && link.to == to.address; });
  return found == from.peers.end() ? nullptr : &*found;
}

std::vector<const Device*> linked_gpus(const NodeView& node) {
  std::vector<const Device*> gpus = devices_of(node, DeviceKind::gpu);
  std::erase_if(gpus, [&](const Device* gpu) {
    return vendor_of(*gpu) != "amd" || problem_of(node, *gpu) != DeviceProblem::none || !gpu->is_seen_by("kfd");
  });
  return gpus;
}

std::string links(int count) {
  return count == 0 ? "no direct xGMI link" : counted(static_cast<std::size_t>(count), "xGMI link");
}

/// What A sees of B and B of A.
void judge_ends(const NodeView& node, const Device& a, const Device& b, Findings& findings) {
  const PeerLink* there = xgmi_to(a, b);
  const PeerLink* back = xgmi_to(b, a);
  if (there == nullptr && back == nullptr) return;
  if (there == nullptr || back == nullptr) {
    const Device& sees = there != nullptr ? a : b;
    const Device& blind = there != nullptr ? b : a;
    findings.push_back(
        about(node, {&blind, &sees},
              fmt::format("{} shows no xGMI link to {}, which shows one back", named(node, blind), names_of({&sees})),
              remedy(node)));
    return;
  }
  if (there->up == back->up) return;
  const bool is_fewer = there->up < back->up;
  const Device& fewer = is_fewer ? a : b;
  const Device& more = is_fewer ? b : a;
  findings.push_back(
      about(node, {&fewer, &more},
            fmt::format("{} shows {} to {}, which shows {} back", named(node, fewer),
                        links(std::min(there->up, back->up)), names_of({&more}), std::max(there->up, back->up)),
            remedy(node)));
}

/// GPUs of one hive are all linked, directly or over others.
void judge_hive(const NodeView& node, const std::vector<const Device*>& gpus, Findings& findings) {
  std::map<std::string, std::vector<const Device*>> hives;
  for (const Device* gpu : gpus) hives[value_of(*gpu, "xgmi_hive")].push_back(gpu);
  for (const auto& [hive, members] : hives) {
    if (hive.empty()) continue;
    for (std::size_t i = 0; i < members.size(); ++i)
      for (std::size_t k = i + 1; k < members.size(); ++k) {
        const Device& a = *members[i];
        const Device& b = *members[k];
        if (xgmi_to(a, b) != nullptr || xgmi_to(b, a) != nullptr) continue;
        findings.push_back(about(node, {&a, &b},
                                 fmt::format("{} has no xGMI link to {}, though both are in hive {}", named(node, a),
                                             names_of({&b}), printable_line(hive, 40)),
                                 remedy(node)));
      }
  }
  // Cards without xGMI are in none; one among those that have it has lost it.
  const auto alone = hives.find("");
  if (alone == hives.end()) return;
  for (const Device* gpu : alone->second) {
    const auto like = std::count_if(gpus.begin(), gpus.end(), [&](const Device* other) {
      return other->device_id == gpu->device_id && !value_of(*other, "xgmi_hive").empty();
    });
    if (like < 2 || static_cast<std::size_t>(like) <= alone->second.size()) continue;
    findings.push_back(about(node, {gpu},
                             fmt::format("{} is in no xGMI hive, while {} of its model there are", named(node, *gpu),
                                         counted(static_cast<std::size_t>(like), "other GPU")),
                             remedy(node)));
  }
}

int links_of(const Device& gpu) {
  int count = 0;
  for (const PeerLink& link : gpu.peers) count += link.kind == "xgmi" ? link.up : 0;
  return count;
}

/// Where more than two thirds have one number of links, that is how the board is made. An MI250X board is not made so.
void judge_siblings(const NodeView& node, const std::vector<const Device*>& gpus, Findings& findings) {
  std::map<std::string, std::map<int, std::vector<const Device*>>> models;
  for (const Device* gpu : gpus) models[gpu->device_id][links_of(*gpu)].push_back(gpu);
  for (const auto& [model, counts] : models) {
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    std::size_t all = 0;
    for (const auto& [count, some] : counts) all += some.size();
    if (most->second.size() * 3 <= all * 2) continue;
    for (const auto& [count, some] : counts) {
      if (count >= most->first) continue;
      const bool is_one = some.size() == 1;
      findings.push_back(about(
          node, some,
          fmt::format("{} {} {}, {} there have {}",
                      is_one ? named(node, *some[0]) : fmt::format("GPUs {} on {}", names_of(some), node.host),
                      is_one ? "has" : "have", links(count), counted(most->second.size(), "other GPU"), most->first),
          remedy(node)));
    }
  }
}

/// A library's data against the kernel's, for GPUs that both report.
void judge_library(const NodeView& node, const std::vector<const Device*>& gpus, std::string_view source,
                   std::string_view name, Findings& findings) {
  if (!node.inventory.has_source(source)) return;
  for (const Device* gpu : gpus) {
    if (!gpu->is_seen_by(source)) continue;
    const std::string reported = value_of(*gpu, fmt::format("{}_xgmi", source));
    std::vector<const Device*> missed;
    for (const Device* other : gpus)
      if (other->is_seen_by(source) && xgmi_to(*gpu, *other) != nullptr &&
          reported.find(to_string(other->address)) == reported.npos)
        missed.push_back(other);
    if (missed.empty()) continue;
    std::vector<const Device*> all{gpu};
    all.insert(all.end(), missed.begin(), missed.end());
    findings.push_back(about(node, all,
                             fmt::format("{} has an xGMI link to {} by the kernel, and none by {}", named(node, *gpu),
                                         names_of(missed), name),
                             remedy(node)));
  }
}

}  // namespace

void judge_xgmi(const NodeView& node, Findings& findings) {
  const auto gpus = linked_gpus(node);
  const std::size_t before = findings.size();
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (std::size_t k = i + 1; k < gpus.size(); ++k) judge_ends(node, *gpus[i], *gpus[k], findings);
  judge_hive(node, gpus, findings);
  // A link that is already reported is not counted again.
  if (findings.size() == before) judge_siblings(node, gpus, findings);
  judge_library(node, gpus, "rocm_smi", "ROCm SMI", findings);
  judge_library(node, gpus, "amd_smi", "AMD SMI", findings);
}

}  // namespace muster::visibility
