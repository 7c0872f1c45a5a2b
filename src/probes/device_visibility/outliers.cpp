// Outliers: nodes against nodes, devices against those of their model.
#include "stats/outliers.hpp"

#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.hpp"
#include "measure/node_devices.hpp"
#include "probes/device_visibility/symptoms.hpp"
#include "probes/device_visibility/vendor_judges.hpp"

namespace muster::visibility {

namespace {

void judge_question(const Question& question, Findings& findings) {
  if (auto finding = outlier_finding(question)) findings.push_back(std::move(*finding));
}

/// `8x H100 80GB HBM3`; by the ids of the bus, because names depend on their source.
std::string gpus_on(const NodeView& node) {
  std::map<std::string, int> models;
  for (const Device* device : devices_of(node, DeviceKind::gpu)) ++models[device->vendor_id + ":" + device->device_id];
  std::vector<std::string> texts;
  for (const auto& [ids, count] : models) texts.push_back(fmt::format("{}x {}", count, ids));
  return texts.empty() ? "no GPU" : join(texts, " + ");
}

/// Replaces ids by the name that any node knows.
void name_models(const Nodes& nodes, Question& question) {
  std::map<std::string, std::string> names;
  for (const NodeView& node : nodes)
    for (const Device& device : node.inventory.devices)
      names.emplace(device.vendor_id + ":" + device.device_id, printable_line(model_of(device), 60));
  for (Vote& vote : question.votes)
    for (const auto& [ids, name] : names)
      if (const auto at = vote.value.find(ids); at != std::string::npos) vote.value.replace(at, ids.size(), name);
}

/// NICs are the business of network_interfaces.
void judge_gpu_sets(const Nodes& nodes, const std::set<std::string>& explained, Findings& findings) {
  Question question{
      "the set of GPUs",
      "other nodes",
      "run on nodes that are alike; where they should be, drain the deviating one and find the missing part",
      {}};
  for (const NodeView& node : nodes)
    if (node.inventory.has_source("pci") && explained.count(node.host) == 0)
      question.votes.push_back({"on " + node.host, gpus_on(node), culprit_of(node)});
  name_models(nodes, question);
  judge_question(question, findings);
}

void judge_node_versions(const Nodes& nodes, Findings& findings) {
  std::set<std::string> names;
  for (const NodeView& node : nodes)
    for (const auto& version : node.inventory.versions) names.insert(version.first);
  for (const std::string& name : names) {
    const bool is_kernel = name == "kernel";
    Question question{is_kernel ? "kernel" : fmt::format("version of {}", printable_line(name, 40)),
                      "other nodes",
                      "bring all nodes to the same image; drain the deviating one until then",
                      {}};
    for (const NodeView& node : nodes) {
      const auto found = node.inventory.versions.find(name);
      if (found != node.inventory.versions.end())
        question.votes.push_back({"on " + node.host, printable_line(found->second, 80), culprit_of(node)});
    }
    judge_question(question, findings);
  }
}

void judge_firmware(const Nodes& nodes, Findings& findings) {
  std::map<std::tuple<DeviceKind, std::string, std::string>, Question> questions;
  for (const NodeView& node : nodes) {
    for (const Device& device : node.inventory.devices) {
      if (device.is_lost || device.device_id.empty()) continue;
      Question& question = questions[{device.kind, device.vendor_id, device.device_id}];
      question.what = fmt::format("{} of {}", device.kind == DeviceKind::gpu ? "VBIOS" : "firmware",
                                  printable_line(model_of(device), 60));
      question.others = "others";
      question.remedy = "bring all devices of a model to the same firmware";
      question.votes.push_back(
          {"on " + subject(node, {&device}), printable_line(device.firmware, 60), culprit_of(node, device)});
    }
  }
  for (const auto& [model, question] : questions) judge_question(question, findings);
}

void judge_uuids(const Nodes& nodes, Findings& findings) {
  std::map<std::string, std::vector<std::pair<const NodeView*, const Device*>>> owners;
  for (const NodeView& node : nodes)
    for (const Device* gpu : devices_of(node, DeviceKind::gpu))
      if (!gpu->uuid.empty()) owners[vendor_of(*gpu) + gpu->uuid].emplace_back(&node, gpu);
  for (const auto& [uuid, list] : owners) {
    if (list.size() < 2) continue;
    Finding finding;
    std::vector<std::string> who;
    for (const auto& [node, gpu] : list) {
      who.push_back(subject(*node, {gpu}));
      finding.culprits.push_back(culprit_of(*node, *gpu));
    }
    finding.reason = fmt::format("{} have the same UUID {}", human_list(who), printable_line(list[0].second->uuid, 60));
    finding.remedy = "see whether two host names are the same machine; else have the cards' boards programmed again";
    findings.push_back(std::move(finding));
  }
}

/// How nodes are compared whose GPUs are cut in partitions.
std::string modes_of(const NodeView& node) {
  std::set<std::string> modes;
  for (const Device* gpu : devices_of(node, DeviceKind::gpu)) {
    const auto mode = [&](const char* key) {
      const auto found = gpu->values.find(key);
      return found == gpu->values.end() ? std::string() : printable_line(found->second, 20);
    };
    const std::string compute = mode("compute_partition"), memory = mode("memory_partition");
    if (!compute.empty() || !memory.empty())
      modes.insert(compute + (compute.empty() || memory.empty() ? "" : " ") + memory);
  }
  const std::vector<std::string> all(modes.begin(), modes.end());
  return human_list(all);
}

void judge_modes(const Nodes& nodes, Findings& findings) {
  Question question{"partition mode of the GPUs",
                    "other nodes",
                    "set one mode on all nodes (amd-smi set --compute-partition, --memory-partition), or request nodes "
                    "that are alike",
                    {}};
  for (const NodeView& node : nodes)
    if (const std::string modes = modes_of(node); !modes.empty())
      question.votes.push_back({"on " + node.host, modes, culprit_of(node)});
  judge_question(question, findings);
}

/// Memory of another node is reached over NVLink only inside of one domain: cluster and clique together, as racks that
/// have nothing to do with each other use the same numbers of cliques.
void note_domains(const Nodes& nodes, Findings& findings) {
  std::map<std::string, std::set<std::string>> hosts;
  for (const NodeView& node : nodes)
    for (const Device* gpu : devices_of(node, DeviceKind::gpu))
      if (const auto found = gpu->values.find("fabric_domain"); found != gpu->values.end())
        hosts[printable_line(found->second, 60)].insert(node.host);
  if (hosts.size() < 2) return;
  std::vector<std::string> texts;
  for (const auto& [domain, some] : hosts)
    texts.push_back(fmt::format("{} ({})", domain, human_list(std::vector<std::string>(some.begin(), some.end()))));
  findings.push_back(
      make_note(fmt::format("the nodes are in {} NVLink domains: {}; between domains data goes over the network",
                            hosts.size(), human_list(texts))));
}

}  // namespace

void judge_odd_ones(const Nodes& nodes, Findings& findings) {
  std::set<std::string> explained;
  for (const Finding& finding : findings)
    for (const Culprit& culprit : finding.culprits)
      if (culprit.kind == CulpritKind::node) explained.insert(culprit.node);
  judge_gpu_sets(nodes, explained, findings);
  judge_node_versions(nodes, findings);
  judge_firmware(nodes, findings);
  judge_uuids(nodes, findings);
  judge_modes(nodes, findings);
  note_domains(nodes, findings);
  for (const VendorJudges* vendor : vendor_judges())
    if (vendor->nodes != nullptr) vendor->nodes(nodes, findings);
}

}  // namespace muster::visibility
