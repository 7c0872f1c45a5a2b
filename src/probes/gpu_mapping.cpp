// The device that each rank uses, by PCI address. docs/methods/gpu_mapping.md
#include <cstdlib>
#include <fmt/format.h>
#include <set>

#include "base/text.hpp"
#include "device/inventory.hpp"
#include "measure/node_ranks.hpp"
#include "measure/not_run.hpp"
#include "measure/rank_gpus.hpp"
#include "measure/torchrun.hpp"
#include "muster/probe.hpp"
#include "stats/stats.hpp"
#include "system/layout.hpp"
#include "system/rank_launcher.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

constexpr ParamSpec gpu_mapping_params[] = {
    {"root", ParamType::text, "/", "Folder below which /sys, /proc and /dev are read.", {}, {}, {}},
    {"choice",
     ParamType::text,
     "auto",
     "Device of a rank among the visible ones: that of LOCAL_RANK (auto: the only one, where there is one device and "
     "no such variable), or the first.",
     "auto|local_rank|first",
     {},
     {}},
    {"share",
     ParamType::text,
     "refused",
     "Whether ranks of a node may share a device; then ranks are assigned in turn.",
     "refused|allowed",
     {},
     {}},
    {"idle",
     ParamType::text,
     "auto",
     "Whether devices may be left without a rank; auto: not where the profile sets their number.",
     "auto|refused|allowed",
     {},
     {}},
    {"near",
     ParamType::text,
     "required",
     "Whether a rank must run in the NUMA domain of its device.",
     "required|reported",
     {},
     {}},
};

constexpr MetricSpec gpu_mapping_metrics[] = {
    {"visible", "1", Better::neither, "GPUs that the rank's environment leaves visible, where that is known.", false},
};

gpu_mapping::Variables read_variables() {
  gpu_mapping::Variables variables;
  for (const std::string_view name : gpu_mapping::selection_variables())
    if (const char* value = std::getenv(std::string(name).c_str())) variables.emplace(name, value);
  environment::replace_devices(environment::parse_environment(environ), variables);
  return variables;
}

/// The node's cores, caches and domains, reported by its first rank, so that a right mask can be named.
void add_layout(const std::string& root, const Inventory& inventory, Observation& seen) {
  const auto layout = read_layout(this_machine().topology);
  if (!layout) return seen.facts.push_back({"layout_error", to_string(layout.error())});
  std::vector<std::string> addresses;
  for (const Device& device : inventory.devices)
    if (device.kind == DeviceKind::gpu) addresses.push_back(to_string(device.address));
  if (addresses.empty()) return;
  for (Fact& fact : to_facts(*layout, addresses)) seen.facts.push_back(std::move(fact));
  seen.facts.push_back({"node_cpus", node_cpus(root).list()});
  seen.facts.push_back({"launcher", launcher_of_rank()});
}

Result<Observation> run_gpu_mapping(RunContext& context) {
  context.recorder.step("inventory");
  const std::string root = root_of(context.params.text("root"));
  auto inventory = read_inventory(root);
  if (!inventory) return tl::unexpected(inventory.error());
  const auto mask = own_mask();
  if (!mask) return tl::unexpected(mask.error());
  const gpu_mapping::Asker asker{context.place.local_rank, *mask, read_variables()};
  const gpu_mapping::Habit habit{context.params.text("choice"), context.params.text("share") == "allowed"};
  Observation seen;
  seen.facts = gpu_mapping::observe(Machine(root), *inventory, asker, habit);
  for (Fact& fact : environment::torchrun_processes(environment::parse_environment(environ)))
    seen.facts.push_back(std::move(fact));
  environment::add_not_run(context, seen);
  // hwloc reads this machine, whatever another root folder shows.
  if (context.place.local_rank == 0 && root == root_of("/")) add_layout(root, *inventory, seen);
  if (const std::string* visible = seen.fact("visible")) {
    const auto count = static_cast<double>(visible->empty() ? 0 : split(*visible, ' ').size());
    seen.readings.push_back({"visible", {}, summarize(std::span(&count, 1))});
  }
  return seen;
}

/// What the order of devices rests on where no runtime was asked.
void add_assumptions(const gpu_mapping::Nodes& nodes, std::vector<std::string>& evidence) {
  std::set<std::string> assumed;
  for (const auto& node : nodes)
    for (const auto& rank : node.ranks)
      if (rank.has("assumed")) assumed.insert(rank.fact("assumed"));
  for (const std::string& one : assumed) evidence.push_back("assumed: " + one);
}

/// nullopt: the launch line starts no torchrun.
std::optional<std::string> torchrun_evidence(const gpu_mapping::Nodes& nodes) {
  std::size_t tasks = 0;
  std::set<std::optional<std::size_t>> processes;
  for (const auto& node : nodes)
    for (const auto& rank : node.ranks) {
      ++tasks;
      processes.insert(rank.processes());
    }
  if (tasks == 0 || processes.count(0) != 0) return std::nullopt;
  const bool is_known = processes.size() == 1 && *processes.begin();
  return fmt::format(
      "{} starts {} in {} on {}, each with a GPU of its own", gpu_mapping::starter_on(nodes[0]).command,
      is_known ? fmt::format("{} process{}", **processes.begin(), **processes.begin() == 1 ? "" : "es") : "processes",
      counted(tasks, "task"), counted(nodes.size(), "node"));
}

void add_evidence(const CaseView& view, const gpu_mapping::Nodes& nodes, std::vector<std::string>& evidence) {
  if (auto torchrun = torchrun_evidence(nodes)) {
    evidence.push_back(std::move(*torchrun));
    return add_assumptions(nodes, evidence);
  }
  std::size_t ranks = 0;
  std::set<std::pair<std::string, std::string>> devices;
  std::set<std::size_t> sizes;
  for (const auto& node : nodes) sizes.insert(node.ranks.size());
  for (const auto& node : nodes)
    for (const auto& rank : node.ranks) {
      ++ranks;
      devices.emplace(node.host, rank.fact("device"));
    }
  if (ranks == 0) return;
  const bool is_shared = view.params.text("share") == "allowed";
  evidence.push_back(fmt::format("{} on {} {} {}{}{}", counted(ranks, "rank"), counted(nodes.size(), "node"),
                                 ranks == 1 ? "uses" : "use", counted(devices.size(), "GPU"),
                                 is_shared || ranks == 1 ? "" : ", each its own",
                                 nodes.size() > 1 && sizes.size() == 1 ? ", in the same order on all nodes" : ""));
  const auto nearness = gpu_mapping::near_tally(nodes);
  if (nearness.near > 0)
    evidence.push_back(
        fmt::format("{} of {} run in the NUMA domain of their GPU", nearness.near, counted(ranks, "rank")));
  if (nearness.unknown > 0)
    evidence.push_back(fmt::format("of {} the kernel does not report the CPUs near their GPU",
                                   counted(static_cast<std::size_t>(nearness.unknown), "rank")));
  add_assumptions(nodes, evidence);
}

ProbeJudgement judge_gpu_mapping(const CaseView& view) {
  ProbeJudgement judgement;
  auto& findings = judgement.findings;
  gpu_mapping::Nodes nodes = gpu_mapping::nodes_of(view, findings);
  gpu_mapping::judge_absence(view, nodes, findings);
  gpu_mapping::judge_faults(nodes, findings);
  gpu_mapping::judge_range(nodes, findings);
  gpu_mapping::judge_sharing(view, nodes, findings);
  gpu_mapping::judge_torchruns(view, nodes, findings);
  gpu_mapping::judge_processes(nodes, findings);
  gpu_mapping::judge_unknown(nodes, findings);
  gpu_mapping::judge_idle(view, nodes, findings);
  gpu_mapping::judge_order(nodes, findings);
  gpu_mapping::note_cages(nodes, findings);
  set_subject(findings, 0, Subject::mapping);
  const std::size_t mapped = findings.size();
  gpu_mapping::judge_near(view, nodes, findings);
  set_subject(findings, mapped, Subject::nearness);
  environment::judge_not_run(view, {"_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK", "LOCAL_RANK"},
                             findings);
  bool is_sound = true;
  for (const Finding& finding : findings) is_sound &= finding.verdict == Verdict::pass;
  if (is_sound) add_evidence(view, nodes, judgement.evidence);
  return judgement;
}

constexpr std::string_view gpu_mapping_facts[] = {"mask",        "device",      "device.address",
                                                  "device.uuid", "device.numa", "device.nic"};

}  // namespace

extern const ProbeSpec probe_gpu_mapping{
    .name = "gpu_mapping",
    .summary = "The GPU that each rank takes: visible, its own, near, and in the same order on all nodes.",
    .params = gpu_mapping_params,
    .metrics = gpu_mapping_metrics,
    .run = run_gpu_mapping,
    .judge = judge_gpu_mapping,
    .reported_facts = gpu_mapping_facts,
};

}  // namespace muster
