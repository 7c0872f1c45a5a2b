// Which devices each node has, and whether all sources agree on them. docs/methods/device_visibility.md
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <set>

#include "base/text.hpp"
#include "device/gpu_backend.hpp"
#include "measure/node_devices.hpp"
#include "probes/device_visibility/vendor_judges.hpp"
#include "stats/stats.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

constexpr ParamSpec device_visibility_params[] = {
    {"root", ParamType::text, "/", "Folder below which /sys, /proc, /dev and /usr are read.", {}, {}, {}},
    {"expected", ParamType::text, "auto", "GPUs on each node: a number, or `auto`: from profile and job.", {}, {}, {}},
};

constexpr MetricSpec device_visibility_metrics[] = {
    {"gpus", "1", Better::neither, "GPUs reported by any source.", false},
    {"pcie_width", "1", Better::higher, "Lanes in use on the narrowest link between a GPU and its host.", false},
};

constexpr LabelSpec device_visibility_labels[] = {
    {"device", "PCI address of the GPU.", {}},
};

void add_reading_of_gpus(Observation& seen, std::string metric, Labels where, double value) {
  seen.readings.push_back({std::move(metric), std::move(where), summarize(std::span(&value, 1))});
}

void add_readings_of_gpus(Observation& seen, const Inventory& inventory) {
  add_reading_of_gpus(seen, "gpus", {}, inventory.count_gpus());
  for (const Device& device : inventory.devices) {
    const auto narrowest = std::min_element(device.links.begin(), device.links.end(),
                                            [](const PciLink& a, const PciLink& b) { return a.width < b.width; });
    if (device.kind == DeviceKind::gpu && narrowest != device.links.end())
      add_reading_of_gpus(seen, "pcie_width", {{"device", to_string(device.address)}}, narrowest->width);
  }
}

Result<Observation> run_device_visibility(RunContext& context) {
  context.recorder.step("inventory");
  auto inventory = read_inventory(root_of(context.params.text("root")));
  Observation seen;
  if (!inventory) {
    // On this machine that is a fault; with another root, an error of the parameter.
    if (context.params.text("root") == "/") return tl::unexpected(inventory.error());
    seen.facts.push_back({"no_root", to_string(inventory.error())});
    return seen;
  }
  // One rank of a node is enough, and of another machine's files the library of this one knows nothing.
  if (context.place.local_rank == 0 && context.params.text("root") == "/") {
    const CallWatch watch(context.recorder);
    for (const GpuBackend* backend : gpu_backends())
      if (backend->add_libraries != nullptr) backend->add_libraries(*inventory, watch);
    visibility::add_kernel_log(read_kernel_log(root_of("/")), !this_machine().simulated.empty(), seen);
  }
  add_readings_of_gpus(seen, *inventory);
  for (Fact& fact : to_facts(*inventory)) seen.facts.push_back(std::move(fact));
  for (const std::string_view name : visibility::job_variables)
    if (const char* value = std::getenv(std::string(name).c_str()))
      seen.facts.push_back({fmt::format("job.{}", name), printable_line(value)});
  return seen;
}

Finding unmeasured(const visibility::NodeView& node, std::string reason, std::string remedy) {
  return {Verdict::unmeasured, std::move(reason), {visibility::culprit_of(node)}, std::move(remedy)};
}

/// One view per node, from its first rank.
visibility::Nodes nodes_of(const CaseView& view, std::vector<Finding>& findings) {
  visibility::Nodes nodes;
  std::set<int> seen_nodes;
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* seen = view.measured(i);
    if (seen == nullptr) continue;
    if (!seen_nodes.insert(view.ranks[i].node_index).second) continue;
    visibility::NodeView node;
    node.host = view.ranks[i].host;
    if (const std::string* why = seen->fact("no_root")) {
      Finding finding = unmeasured(node, printable_line(fmt::format("on {}: {}", node.host, *why)),
                                   "give a folder with the /sys and /proc of a machine in it: -S CHECK.root=FOLDER");
      finding.verdict = Verdict::error;
      finding.culprits = {{CulpritKind::setting, "root", "", -1}};
      findings.push_back(std::move(finding));
      continue;
    }
    std::vector<std::string> faults;
    node.inventory = parse_inventory(seen->facts, faults);
    visibility::parse_kernel_facts(*seen, node);
    for (const Fact& fact : seen->facts)
      if (fact.key.rfind("job.", 0) == 0) node.job[fact.key.substr(4)] = fact.value;
    if (!faults.empty())
      findings.push_back(unmeasured(node, fmt::format("{} reported malformed data: {}", node.host, faults[0]),
                                    "report this: the observation is damaged"));
    else if (!node.inventory.has_source("pci"))
      findings.push_back(unmeasured(node, fmt::format("{} shows no PCI bus", node.host),
                                    "see whether /sys is mounted there; a container may hide it"));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

/// `4 NICs on 1 node: 4x ConnectX-7`, with who saw them.
std::string reported_of(const visibility::Nodes& nodes, DeviceKind kind) {
  std::map<std::string, int> models;
  std::set<std::string> sources;
  std::size_t count = 0;
  for (const visibility::NodeView& node : nodes)
    for (const Device* device : visibility::devices_of(node, kind)) {
      ++count;
      ++models[printable_line(model_of(*device), 60)];
      sources.insert(device->sources.begin(), device->sources.end());
    }
  if (count == 0) return {};
  std::vector<std::string> list;
  for (const auto& [model, number] : models) list.push_back(fmt::format("{}x {}", number, model));
  const std::vector<std::string> names(sources.begin(), sources.end());
  return fmt::format("{} on {} ({}), seen by {}", counted(count, kind == DeviceKind::gpu ? "GPU" : "NIC"),
                     counted(nodes.size(), "node"), human_list(list), printable_line(human_list(names)));
}

/// GPUs that belong to other jobs; a pass does not cover them.
std::string reported_of_withheld(const visibility::Nodes& nodes) {
  std::size_t count = 0;
  for (const visibility::NodeView& node : nodes)
    for (const Device* gpu : visibility::devices_of(node, DeviceKind::gpu)) count += visibility::is_withheld(*gpu);
  return count == 0 ? std::string() : counted(count, "GPU") + " closed to this job by its control group";
}

/// No node has or should have a GPU: there is nothing to judge.
void skip_without_gpus(const CaseView& view, const visibility::Nodes& nodes, std::vector<Finding>& findings) {
  for (const visibility::NodeView& node : nodes)
    if (!node.inventory.has_source("pci") || !visibility::devices_of(node, DeviceKind::gpu).empty()) return;
  for (const visibility::NodeView& node : nodes)
    for (const visibility::Wanted& wanted : visibility::wanted_of(view, node))
      if (wanted.count > 0) return;
  for (const visibility::NodeView& node : nodes)
    if (!visibility::senseless_grants(node).empty()) return;
  if (nodes.empty()) return;
  findings.push_back(visibility::no_gpus_expected(
      nodes.size(), "if there should be some, set expected = N in the check, or gpus in the profile"));
}

bool is_expectation_sound(const std::string& text) {
  return text == "auto" ||
         (!text.empty() && text.size() < 6 && text.find_first_not_of("0123456789") == std::string::npos);
}

ProbeJudgement judge_device_visibility(const CaseView& view) {
  ProbeJudgement judgement;
  if (!is_expectation_sound(view.params.text("expected"))) {
    judgement.findings.push_back(
        {Verdict::error,
         fmt::format("parameter expected is \"{}\"", printable_line(view.params.text("expected"), 40)),
         {{CulpritKind::setting, "expected", {}, -1}},
         "give a number of GPUs, or auto"});
    return judgement;
  }
  auto& findings = judgement.findings;
  const visibility::Nodes nodes = nodes_of(view, findings);
  visibility::judge_counts(view, nodes, findings);
  for (const auto& node : nodes) visibility::judge_problems(view, node, findings);
  for (const auto& node : nodes) visibility::judge_files(node, findings);
  visibility::judge_by_vendors(&visibility::VendorJudges::libraries, nodes, findings);
  // GPUs that are not what they should be explain much of what other cases find.
  set_subject(findings, 0, Subject::gpus);
  for (const auto& node : nodes) visibility::judge_models(view, node, findings);
  visibility::judge_by_vendors(&visibility::VendorJudges::versions, nodes, findings);
  for (const auto& node : nodes) visibility::judge_memory(node, findings);
  for (const auto& node : nodes) visibility::judge_links(node, findings);
  visibility::judge_by_vendors(&visibility::VendorJudges::health, nodes, findings);
  visibility::judge_kernel_log(nodes, findings);
  visibility::judge_by_vendors(&visibility::VendorJudges::siblings, nodes, findings);
  std::vector<std::string> links;
  for (const auto& node : nodes) links.push_back(visibility::judge_gpu_links(view, node, findings));
  visibility::judge_by_vendors(&visibility::VendorJudges::sources, nodes, findings);
  visibility::judge_by_vendors(&visibility::VendorJudges::links, nodes, findings);
  visibility::judge_odd_ones(nodes, findings);
  skip_without_gpus(view, nodes, findings);

  const std::string gpus = reported_of(nodes, DeviceKind::gpu);
  const std::string withheld = reported_of_withheld(nodes);
  const std::string nics = reported_of(nodes, DeviceKind::nic);
  const bool is_well = std::all_of(findings.begin(), findings.end(),
                                   [](const Finding& finding) { return finding.verdict == Verdict::pass; });
  if (!gpus.empty() && is_well) judgement.evidence.push_back(gpus);
  for (const visibility::VendorJudges* vendor : visibility::vendor_judges())
    if (std::string health = vendor->evidence == nullptr ? std::string() : vendor->evidence(nodes);
        !health.empty() && is_well)
      judgement.evidence.push_back(std::move(health));
  if (!withheld.empty() && is_well) judgement.evidence.push_back(withheld);
  if (!nics.empty()) judgement.evidence.push_back(nics);
  for (std::string& reported : links)
    if (!reported.empty()) judgement.evidence.push_back(std::move(reported));
  return judgement;
}

}  // namespace

extern const ProbeSpec probe_device_visibility{
    .name = "device_visibility",
    .summary = "The GPUs of each node, and whether all sources agree; PCIe links and firmware, also of NICs.",
    .params = device_visibility_params,
    .metrics = device_visibility_metrics,
    .labels = device_visibility_labels,
    .run = run_device_visibility,
    .judge = judge_device_visibility,
};

}  // namespace muster
