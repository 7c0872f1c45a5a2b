// Where the kernel lets each rank run, and whether that is right. docs/methods/cpu_affinity.md
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>

#include "base/cpu_mask.hpp"
#include "base/text.hpp"
#include "device/placement.hpp"
#include "measure/not_run.hpp"
#include "muster/probe.hpp"
#include "probes/cpu_affinity/node_masks.hpp"
#include "probes/cpu_affinity/own_device.hpp"
#include "probes/cpu_affinity/own_limits.hpp"
#include "stats/stats.hpp"
#include "system/asked_binding.hpp"
#include "system/cpu_quota.hpp"
#include "system/layout.hpp"
#include "system/openmp_team.hpp"
#include "system/rank_launcher.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

using affinity::NodeMasks;

constexpr ParamSpec choice(std::string_view name, std::string_view normal, std::string_view help,
                           std::string_view choices) {
  return {name, ParamType::text, normal, help, choices, {}, {}};
}

constexpr ParamSpec cpu_affinity_params[] = {
    choice("sharing", "disjoint", "Relation between the masks of one node.", "disjoint|exact|any"),
    {"cores", ParamType::integer, "0", "Physical cores of each mask; 0: any number.", {}, 0, 65536},
    choice("smt", "any", "Whether two ranks may run on hardware threads of one core.", "apart|any"),
    choice("numa", "any", "NUMA domains that a mask may span.", "one|any"),
    choice("devices", "near", "Place of a mask relative to the rank's own GPU.", "near|any"),
    choice("threads", "any", "The rank's OpenMP team: no larger than its mask, or each thread on CPUs of its own.",
           "bound|fit|any"),
    {"topology",
     ParamType::text,
     "",
     "Topology of a simulated machine: an hwloc XML file, or `synthetic:...`.",
     {},
     {},
     {}},
    {"root", ParamType::text, "/", "Folder below which /sys, /proc and /dev are read.", {}, {}, {}},
};

constexpr MetricSpec cpu_affinity_metrics[] = {
    {"cores", "cores", Better::neither, "Physical cores that the rank may run on.", false},
    {"numa_domains", "1", Better::lower, "NUMA domains that the rank's mask touches.", false},
    {"threads", "1", Better::neither, "Threads of the rank's OpenMP team.", false},
    {"cpu_quota", "cores", Better::higher, "CPU time per time that the control group allows.", false},
};

void add_reading_of_masks(Observation& seen, std::string metric, double value) {
  seen.readings.push_back({std::move(metric), {}, summarize(std::span(&value, 1))});
}

/// The whole node, reported by its first rank, against which all masks are judged.
void add_node(const RunContext& context, Observation& seen) {
  context.recorder.step("topology");
  const std::string& source = context.params.text("topology");
  auto layout = read_layout(source.empty() ? this_machine().topology : source);
  if (!layout) return seen.facts.push_back({"layout_error", to_string(layout.error())});
  if (!source.empty()) {
    CpuMask cores;
    for (const CpuMask& core : layout->cores) cores.add(core.lowest());
    seen.facts.push_back({"node_cpus", layout->cpus().list()});
    seen.facts.push_back({"node_cores", cores.list()});
  }
  const auto inventory = read_inventory(root_of(context.params.text("root")));
  const auto gpus = inventory ? affinity::usable_gpus(*inventory) : std::vector<std::string>();
  // If hwloc has no place of a device, the kernel's number of its domain is used.
  for (const Device& device : inventory ? inventory->devices : std::vector<Device>())
    if (const auto domain = layout->domains.find(device.numa_node); domain != layout->domains.end())
      layout->nearby.try_emplace(to_string(device.address), domain->second);
  for (Fact& fact : to_facts(*layout, gpus)) seen.facts.push_back(std::move(fact));
  if (!gpus.empty()) seen.facts.push_back({"gpus", join(gpus, ",")});
}

/// What the launch asked for this rank.
void add_asked(const RunContext& context, Observation& seen) {
  const auto asked = asked_binding();
  const auto local_rank = static_cast<std::size_t>(context.place.local_rank);
  if (!asked || asked->kind == BindKind::node) return;
  if (asked->kind == BindKind::masks && local_rank >= asked->masks.size()) return;
  seen.facts.push_back({"binder", std::string(to_string(asked->binder))});
  if (asked->kind != BindKind::masks) return seen.facts.push_back({"asked_for", asked->source});
  // Options of the user take precedence: then these masks are not asked for.
  if (asked->binder == Binder::options) return;
  seen.facts.push_back({"asked", asked->masks[local_rank].list()});
  seen.facts.push_back({"asked_by", asked->source});
}

void add_masks(const RunContext& context, const CpuMask& mask, Observation& seen) {
  const fs::path& root = this_machine().root;
  const CpuMask cores = cores_of(mask, root);
  add_reading_of_masks(seen, "cores", cores.count());
  seen.facts = {{"mask", mask.list()}, {"mask_hex", mask.hex()}, {"cores", cores.list()}};
  if (context.params.text("topology").empty()) {
    const CpuMask cpus = node_cpus(root);
    seen.facts.push_back({"node_cpus", cpus.list()});
    seen.facts.push_back({"node_cores", cores_of(cpus, root).list()});
  }
  const std::string launcher = launcher_of_rank();
  seen.facts.push_back({"launcher", launcher});
  if (launcher != "srun" && std::getenv("SLURM_STEP_ID") != nullptr) seen.facts.push_back({"inside", "srun"});
  if (const char* policy = std::getenv("MPICH_OFI_NIC_POLICY")) seen.facts.push_back({"nic_policy", policy});
  add_asked(context, seen);
  if (context.place.local_rank == 0) add_node(context, seen);
}

void add_limits(const RunContext& context, Observation& seen) {
  const auto policy = affinity::read_memory_policy();
  seen.facts.push_back(policy ? Fact{"memory_policy", *policy} : Fact{"memory_policy_error", policy.error().what});
  const std::string root = root_of(context.params.text("root"));
  seen.facts.push_back({"memory_allowed", affinity::read_allowed_memory(root).list()});
  const auto quota = read_cpu_quota(root);
  if (!quota) return;
  add_reading_of_masks(seen, "cpu_quota", quota->cpus);
  seen.facts.push_back({"cpu_quota", fmt::format("{}", quota->cpus)});
  seen.facts.push_back({"cpu_quota_group", printable_line(quota->group)});
}

void add_devices(const RunContext& context, const CpuMask& mask, Observation& seen) {
  const std::string root = root_of(context.params.text("root"));
  std::vector<int> domains;
  for (const auto& [number, cpus] : affinity::read_numa_domains(root))
    if (cpus.intersects(mask)) domains.push_back(number);
  if (!domains.empty()) add_reading_of_masks(seen, "numa_domains", static_cast<double>(domains.size()));
  const auto inventory = read_inventory(root);
  if (!inventory) return;
  const affinity::OwnGpu gpu = affinity::own_gpu(*inventory, affinity::read_visible());
  if (!gpu.address.empty()) {
    seen.facts.push_back({"gpu", gpu.address});
    seen.facts.push_back({"gpu_because", gpu.because});
  }
  if (domains.size() != 1) return;
  if (const auto nics = affinity::nics_on(*inventory, domains); !nics.empty())
    seen.facts.push_back({"nics_near", human_list(nics)});
}

void add_team(Observation& seen) {
  const auto team = measure_openmp_team();
  if (!team) return seen.facts.push_back({"threads_error", to_string(team.error())});
  add_reading_of_masks(seen, "threads", static_cast<double>(team->masks.size()));
  std::vector<std::string> lists;
  for (const CpuMask& mask : team->masks) lists.push_back(mask.list());
  seen.facts.push_back({"threads", join(lists, ";")});
  seen.facts.push_back({"threads_by", team->runtime});
}

Result<Observation> run_cpu_affinity(RunContext& context) {
  context.recorder.step("mask");
  const auto mask = own_mask();
  if (!mask) return tl::unexpected(mask.error());
  Observation seen;
  add_masks(context, *mask, seen);
  environment::add_not_run(context, seen);
  context.recorder.step("limits");
  add_limits(context, seen);
  context.recorder.step("devices");
  add_devices(context, *mask, seen);
  context.recorder.step("OpenMP team");
  // Threads would run on the CPUs that are really here.
  if (this_machine().simulated.empty())
    add_team(seen);
  else
    seen.facts.push_back({"threads_error", "not measured on a simulated machine"});
  return seen;
}

/// What is wrong with one node in one respect.
struct NodeFinding {
  std::pair<int, std::size_t> respect;  ///< the same for the same thing on another node
  std::string host;
  Finding finding;
};

void judge_node(const CaseView& view, const NodeMasks& node, std::vector<NodeFinding>& all) {
  bool is_last = false;
  std::vector<Finding> findings;
  int respect = 0;
  const auto keep = [&](Subject subject) {
    set_subject(findings, 0, subject);
    for (std::size_t i = 0; i < findings.size(); ++i) all.push_back({{respect, i}, node.host, std::move(findings[i])});
    findings.clear();
    ++respect;
  };
  affinity::judge_line(view, node, findings);
  keep(Subject::masks);
  affinity::judge_sharing(view, node, findings, is_last);
  keep(Subject::masks);
  if (is_last) return;
  for (const auto& judge_one :
       {affinity::judge_asked, affinity::judge_siblings, affinity::judge_reserved, affinity::judge_starved,
        affinity::judge_width, affinity::judge_domains, affinity::judge_devices, affinity::judge_quota,
        affinity::judge_memory, affinity::judge_threads}) {
    judge_one(view, node, findings);
    keep(judge_one == affinity::judge_devices ? Subject::placement : Subject::masks);
  }
}

/// One finding for all nodes that have the same thing wrong: the first one's text, the culprits of all.
void report_once(std::vector<NodeFinding> all, std::vector<Finding>& findings) {
  std::map<std::pair<std::pair<int, std::size_t>, Verdict>, std::vector<NodeFinding>> groups;
  for (NodeFinding& one : all) groups[{one.respect, one.finding.verdict}].push_back(std::move(one));
  for (auto& [key, group] : groups) {
    Finding finding = std::move(group[0].finding);
    std::vector<std::string> others;
    for (std::size_t i = 1; i < group.size(); ++i) {
      others.push_back(group[i].host);
      const auto& more = group[i].finding.culprits;
      finding.culprits.insert(finding.culprits.end(), more.begin(), more.end());
    }
    if (!others.empty()) finding.reason += "; likewise on " + human_list(others);
    findings.push_back(std::move(finding));
  }
}

/// What a pass rests on: only what was really compared.
std::string evidence_of(const CaseView& view, const std::vector<NodeMasks>& nodes) {
  std::size_t masks = 0, with_gpu = 0;
  for (const NodeMasks& node : nodes) {
    masks += node.ranks.size();
    for (const affinity::RankGpu& gpu : affinity::gpus_of_ranks(node))
      with_gpu += nearness_of(gpu.rank->mask, gpu.near) != Nearness::apart;
  }
  const std::string& sharing = view.params.text("sharing");
  // A rank that is alone on its node shares nothing with another.
  const bool is_compared = masks > nodes.size();
  const char* claim = sharing == "exact" ? "are the same on each node" : "are disjoint";
  if (sharing == "any" || !is_compared) claim = masks == 1 ? "was read" : "were read";
  std::string words = fmt::format("{} on {} {}", counted(masks, "mask"), counted(nodes.size(), "node"), claim);
  if (is_compared && view.params.text("smt") == "apart") words += ", no core in two of them";
  if (view.params.integer("cores") > 0)
    words += fmt::format(", {} wide", counted(view.params.integer("cores"), "core"));
  if (view.params.text("numa") == "one") words += ", each in one NUMA domain";
  if (!view.node.reserved_cores.empty()) words += ", free of reserved cores";
  if (with_gpu > 0 && view.params.text("devices") == "near") words += fmt::format(", {} near their GPU", with_gpu);
  if (view.params.text("threads") == "fit") words += ", threads inside";
  if (view.params.text("threads") == "bound") words += ", each thread on CPUs of its own";
  return words;
}

ProbeJudgement judge_cpu_affinity(const CaseView& view) {
  ProbeJudgement judgement;
  const std::vector<NodeMasks> nodes = affinity::masks_by_node(view, judgement.findings);
  const bool has_all_masks = judgement.findings.empty();
  std::vector<NodeFinding> all;
  std::vector<NodeMasks> clean;
  for (const NodeMasks& node : nodes) {
    const std::size_t before = all.size();
    judge_node(view, node, all);
    // Beside nodes where something is wrong, too: these were looked at, and nothing was.
    if (std::all_of(all.begin() + static_cast<std::ptrdiff_t>(before), all.end(),
                    [](const NodeFinding& one) { return one.finding.verdict == Verdict::pass; }))
      clean.push_back(node);
  }
  report_once(std::move(all), judgement.findings);
  environment::judge_not_run(view, {"taskset", "numactl", "hwloc-bind", "likwid-pin"}, judgement.findings);
  if (has_all_masks && !clean.empty()) judgement.evidence.push_back(evidence_of(view, clean));
  return judgement;
}

constexpr std::string_view cpu_affinity_facts[] = {"mask", "cores", "gpu", "nics_near"};

}  // namespace

extern const ProbeSpec probe_cpu_affinity{
    .name = "cpu_affinity",
    .summary = "The CPUs that the kernel lets each rank and its threads run on, against the node's topology.",
    .params = cpu_affinity_params,
    .metrics = cpu_affinity_metrics,
    .run = run_cpu_affinity,
    .judge = judge_cpu_affinity,
    .reported_facts = cpu_affinity_facts,
};

}  // namespace muster
