// The odd one out: nodes against nodes, devices against those of their model.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.hpp"
#include "probes/device_visibility/node_view.hpp"

namespace muster::visibility {

namespace {

/// One voter; empty values are not asked.
struct Vote {
  std::string who;  ///< `on nid001`, `of GPU 0000:c1:00.0 on nid001`
  std::string value;
  Culprit culprit;
};

struct Question {
  std::string what;    ///< `kernel`
  std::string others;  ///< what follows the number of the others: `other nodes`
  std::string remedy;
  std::vector<Vote> votes;
};

using Groups = std::vector<std::pair<std::string, std::vector<const Vote*>>>;

/// By value, the largest group first.
Groups groups_of(const Question& question) {
  std::map<std::string, std::vector<const Vote*>> by_value;
  for (const Vote& vote : question.votes)
    if (!vote.value.empty()) by_value[vote.value].push_back(&vote);
  Groups groups(by_value.begin(), by_value.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  return groups;
}

std::string clause(const std::string& value, const std::vector<const Vote*>& votes) {
  std::vector<std::string> who;
  for (const Vote* vote : votes) who.push_back(vote->who);
  return fmt::format("{} {}", value, human_list(who, 4));
}

void judge_question(const Question& question, Findings& findings) {
  const Groups groups = groups_of(question);
  if (groups.size() < 2) return;
  // Without a largest group nobody is the odd one, and all are named.
  const bool has_majority = groups[0].second.size() > groups[1].second.size();
  Finding finding;
  std::vector<std::string> clauses;
  for (std::size_t i = has_majority ? 1 : 0; i < groups.size(); ++i) {
    clauses.push_back(clause(groups[i].first, groups[i].second));
    for (const Vote* vote : groups[i].second) finding.culprits.push_back(vote->culprit);
  }
  const std::size_t most = groups[0].second.size();
  finding.reason = fmt::format("{} {} {}", question.what, has_majority ? "is" : "differs:", human_list(clauses, 4));
  if (has_majority) finding.reason += fmt::format(", but {} on {} {}", groups[0].first, most, question.others);
  finding.remedy = question.remedy;
  findings.push_back(std::move(finding));
}

/// `8x NVIDIA H100 80GB HBM3`; by the ids of the bus, because names depend on who told them.
std::string models_on(const NodeView& node, DeviceKind kind) {
  std::map<std::string, std::pair<int, std::string>> models;
  for (const Device* device : devices_of(node, kind)) {
    auto& [count, name] = models[device->vendor_id + ":" + device->device_id];
    ++count;
    if (name.empty()) name = device->vendor_id + ":" + device->device_id;
  }
  std::vector<std::string> texts;
  for (const auto& [ids, model] : models) texts.push_back(fmt::format("{}x {}", model.first, model.second));
  if (texts.empty()) return kind == DeviceKind::gpu ? "no GPU" : "no NIC";
  return join(texts, " + ");
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

void judge_node_models(const Nodes& nodes, DeviceKind kind, const std::set<std::string>& explained,
                       Findings& findings) {
  const bool is_gpu = kind == DeviceKind::gpu;
  Question question{is_gpu ? "the set of GPUs" : "the set of NICs",
                    "other nodes",
                    is_gpu
                        ? "run on nodes that are alike; where they should be, drain the odd one and find what it lost"
                        : "run on nodes that are alike; where they should be, see which card is missing or strange",
                    {}};
  for (const NodeView& node : nodes)
    if (node.inventory.has_source("pci") && (!is_gpu || explained.count(node.host) == 0))
      question.votes.push_back({"on " + node.host, models_on(node, kind), culprit_of(node)});
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
                      "bring all nodes to the same image; drain the odd one until it is",
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

}  // namespace

void judge_odd_ones(const Nodes& nodes, Findings& findings) {
  std::set<std::string> explained;
  for (const Finding& finding : findings)
    for (const Culprit& culprit : finding.culprits)
      if (culprit.kind == CulpritKind::node) explained.insert(culprit.node);
  judge_node_models(nodes, DeviceKind::gpu, explained, findings);
  judge_node_models(nodes, DeviceKind::nic, explained, findings);
  judge_node_versions(nodes, findings);
  judge_firmware(nodes, findings);
  judge_uuids(nodes, findings);
}

}  // namespace muster::visibility
