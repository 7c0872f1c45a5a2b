// How many GPUs there are, and of which kind, against the check, the profile and the job.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "measure/node_devices.hpp"
#include "model/expected_node.hpp"

namespace muster::visibility {

namespace {

/// Nodes with the same thing wrong.
struct Shortfall {
  std::vector<std::string> hosts;
  std::vector<Culprit> culprits;
  bool is_in_job = false;
};

std::string remedy_for(int found, const Wanted& wanted, bool is_in_job) {
  if (found > wanted.count)
    return "correct the expected number in the profile or check, or find out why there are more";
  if (wanted.is_least) return "end the job and report its nodes: the scheduler granted GPUs that can't be used there";
  if (found > 0)
    return "drain the node and power-cycle it; a GPU that stays away from lspci has to be reseated or replaced";
  if (!is_in_job)
    return "run on a compute node, not on a login node; if this is one, see whether lspci shows its GPUs, and drain it";
  return "see whether lspci shows the GPUs on the node, drain it and power-cycle it; on a node that has none, correct "
         "what expects them";
}

std::string sentence(int found, const Wanted& wanted, const std::vector<std::string>& hosts) {
  const std::string count = found == 0 ? "no GPU" : counted(static_cast<std::size_t>(found), "GPU");
  const char* can = wanted.is_least && found > 0 ? " can be used" : "";
  return fmt::format("{}{} on {}, {} {}", count, can, human_list(hosts), wanted.count, wanted.by);
}

bool is_sound(const NodeView& node, const Device& gpu) {
  return is_usable(node, gpu) || is_withheld(gpu);
}

/// Too few for the job, without another reason.
bool lacks_unexplained(const NodeView& node, const Wanted& wanted, int& found) {
  const auto gpus = devices_of(node, DeviceKind::gpu);
  found = static_cast<int>(
      std::count_if(gpus.begin(), gpus.end(), [&](const Device* gpu) { return is_usable(node, *gpu); }));
  const bool are_sound = std::all_of(gpus.begin(), gpus.end(), [&](const Device* gpu) { return is_sound(node, *gpu); });
  const bool is_all_withheld = found == 0 && !gpus.empty();
  return found < wanted.count && are_sound && !is_all_withheld;
}

/// What can't be understood is not taken for nothing.
void judge_grants(const NodeView& node, Findings& findings) {
  for (const std::string_view name : senseless_grants(node)) {
    findings.push_back(
        {Verdict::unmeasured,
         fmt::format("{}={} on {} is not a number of GPUs: what the job was granted is not known", name,
                     printable_line(node.job.find(name)->second, 60), node.host),
         {{CulpritKind::setting, std::string(name), node.host, -1}},
         "find where it is set (job script, prolog), and unset it there; expected = N sets the number instead"});
  }
}

}  // namespace

void judge_counts(const CaseView& view, const Nodes& nodes, Findings& findings) {
  std::map<std::tuple<int, int, std::string>, std::pair<Wanted, Shortfall>> groups;
  for (const NodeView& node : nodes) {
    judge_grants(node, findings);
    // Where /sys is hidden only a job's GPUs are missed: it can't use what is not shown.
    const bool is_hidden = !node.inventory.has_source("pci") && node.inventory.devices.empty();
    for (const Wanted& wanted : wanted_of(view, node)) {
      if (is_hidden && !wanted.is_least) continue;
      int found = static_cast<int>(devices_of(node, DeviceKind::gpu).size());
      if (wanted.is_least ? !lacks_unexplained(node, wanted, found) : found == wanted.count) continue;
      auto& [message, shortfall] = groups[{found, wanted.count, wanted.by}];
      message = wanted;
      shortfall.hosts.push_back(node.host);
      shortfall.culprits.push_back(culprit_of(node));
      shortfall.is_in_job |= node.job.count("SLURM_JOB_ID") != 0;
      break;
    }
  }
  for (auto& [key, group] : groups) {
    auto& [wanted, shortfall] = group;
    const int found = std::get<0>(key);
    Finding finding;
    finding.reason = sentence(found, wanted, shortfall.hosts);
    finding.culprits = std::move(shortfall.culprits);
    finding.remedy = remedy_for(found, wanted, shortfall.is_in_job);
    if (wanted.by == by_profile) soften(view.node, "gpus", finding);
    findings.push_back(std::move(finding));
  }
}

void judge_models(const CaseView& view, const NodeView& node, Findings& findings) {
  if (!view.node.gpus) return;
  const GpuExpectation& promised = *view.node.gpus;
  std::vector<const Device*> foreign;
  std::vector<const Device*> other;
  for (const Device* gpu : devices_of(node, DeviceKind::gpu)) {
    if (!promised.vendor.empty() && vendor_of(*gpu) != promised.vendor)
      foreign.push_back(gpu);
    else if (!promised.name.empty() && !matches_profile(model_of(*gpu), promised.name))
      other.push_back(gpu);
  }
  const auto report = [&](const std::vector<const Device*>& gpus, const std::string& sentence) {
    if (gpus.empty()) return;
    findings.push_back(about(node, gpus,
                             fmt::format("{} {} {}", subject(node, gpus), gpus.size() == 1 ? "is" : "are", sentence),
                             "correct the profile, or have the right GPUs put in"));
    soften(view.node, "gpus", findings.back());
  };
  if (!foreign.empty())
    report(foreign, fmt::format("of vendor {}, the profile promises {}", printable_line(vendor_of(*foreign[0]), 40),
                                promised.vendor));
  if (!other.empty())
    report(other, fmt::format("called \"{}\", the profile expects a name like {}",
                              printable_line(model_of(*other[0]), 80), promised.name));
}

}  // namespace muster::visibility
