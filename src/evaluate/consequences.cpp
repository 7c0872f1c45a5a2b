#include "evaluate/consequences.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "evaluate/verdict_rules.hpp"

namespace muster {

namespace {

using Subjects = std::vector<Subject>;

/// What can explain a finding about `subject`, the most basic first. Each of them stands before it in the enumeration:
/// nothing explains itself. Only a node that is gone is missed again and again; there the first case explains the
/// others.
const Subjects& causes_of(Subject subject) {
  using enum Subject;
  static const std::map<Subject, Subjects> table{
      {node, {node}},
      {gpus, {node}},
      {nics, {node}},
      {interfaces, {node, nics}},
      {masks, {node}},
      {placement, {node, gpus}},
      {mapping, {node, gpus}},
      {nearness, {node, gpus, masks, placement}},
      {devices, {node, gpus}},
      {memory, {node, masks}},
      {transport, {node, nics, interfaces}},
      {links, {node, nics, interfaces, masks, placement, transport}},
      {data, {node}},
      {collective, {node, gpus, nics, interfaces, masks, placement, memory, transport, links}},
      {sums, {node, data}},
      {training, {node, data, sums}},
  };
  static const Subjects nothing;
  const auto found = table.find(subject);
  return found == table.end() ? nothing : found->second;
}

std::set<std::string> nodes_of(const Finding& finding) {
  std::set<std::string> nodes;
  for (const Culprit& culprit : finding.culprits) nodes.insert(node_of(culprit));
  nodes.erase(std::string());
  return nodes;
}

/// On that node, as `GPU 0000:c1:00.0`: not all who name one know its UUID, which comes behind.
std::set<std::string> devices_of(const Finding& finding, const std::string& node) {
  std::set<std::string> devices;
  for (const Culprit& culprit : finding.culprits)
    if (culprit.kind == CulpritKind::device && node_of(culprit) == node)
      devices.insert(culprit.name.substr(0, culprit.name.find(" (")));
  return devices;
}

struct Cause {
  std::size_t at = 0;  ///< index of the case
  std::string reason;
};

/// The first case that fails for each subject on each node.
class Causes {
 public:
  explicit Causes(const std::vector<CaseResult>& cases) {
    for (std::size_t i = 0; i < cases.size(); ++i)
      for (const Finding& finding : cases[i].findings)
        if (finding.verdict == Verdict::fail && finding.subject != Subject::none)
          for (const std::string& node : nodes_of(finding)) add(finding, node, {i, finding.reason});
  }

  /// nullptr: stands for itself.
  [[nodiscard]] const Cause* explain(std::size_t self, const CaseResult& result, const Finding& finding) const {
    std::set<std::string> nodes = nodes_of(finding);
    const bool blames_nobody = nodes.empty();
    if (blames_nobody)
      for (const NodeRow& row : result.node_rows) nodes.insert(row.node);
    const Cause* first = nullptr;
    for (const std::string& node : nodes) {
      const Cause* cause = explain_on(node, self, finding);
      if (cause == nullptr && !blames_nobody) return nullptr;
      if (first == nullptr) first = cause;
    }
    return first;
  }

 private:
  void add(const Finding& finding, const std::string& node, const Cause& cause) {
    first_.try_emplace({finding.subject, node}, cause);
    if (finding.subject == Subject::gpus)
      for (const std::string& device : devices_of(finding, node)) of_device_.try_emplace({node, device}, cause);
  }

  [[nodiscard]] const Cause* explain_on(const std::string& node, std::size_t self, const Finding& finding) const {
    const Subject subject = finding.subject;
    for (const Subject cause : causes_of(subject)) {
      if (subject == Subject::devices && cause == Subject::gpus) return explain_devices(node, self, finding);
      const auto found = first_.find({cause, node});
      if (found == first_.end() || found->second.at == self) continue;
      if (cause != subject || found->second.at < self) return &found->second;
    }
    return nullptr;
  }

  /// A fault of one GPU does not concern its neighbours.
  [[nodiscard]] const Cause* explain_devices(const std::string& node, std::size_t self, const Finding& finding) const {
    const Cause* first = nullptr;
    for (const std::string& device : devices_of(finding, node)) {
      const auto found = of_device_.find({node, device});
      if (found == of_device_.end() || found->second.at == self) return nullptr;
      if (first == nullptr) first = &found->second;
    }
    return first;
  }

  std::map<std::pair<Subject, std::string>, Cause> first_;
  std::map<std::pair<std::string, std::string>, Cause> of_device_;  ///< by node and name, of findings about GPUs
};

/// Where everything that fails is explained, the first explanation.
std::string what_all_follow(const CaseResult& result) {
  std::string first;
  for (const Finding& finding : result.findings) {
    if (finding.verdict != Verdict::fail) continue;
    if (finding.follows.empty()) return {};
    if (first.empty()) first = finding.follows;
  }
  return first;
}

}  // namespace

void mark_consequences(std::vector<CaseResult>& cases) {
  const Causes causes(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CaseResult& result = cases[i];
    if (result.verdict != Verdict::fail) continue;
    bool is_changed = false;
    for (Finding& finding : result.findings) {
      if (finding.verdict != Verdict::fail) continue;
      const Cause* cause = causes.explain(i, result, finding);
      if (cause == nullptr) continue;
      finding.follows = cases[cause->at].id;
      finding.remedy = fmt::format("repair {} first ({}), then run this again", finding.follows, cause->reason);
      is_changed = true;
    }
    if (!is_changed) continue;
    std::stable_partition(result.findings.begin(), result.findings.end(),
                          [](const Finding& finding) { return finding.follows.empty(); });
    result.follows = what_all_follow(result);
    // Of repetitions that disagree the reason is that they do.
    if (result.repetitions.size() <= 1)
      apply_verdict_rules(result, {});
    else if (!result.follows.empty())
      result.remedy = result.findings.front().remedy;
  }
}

}  // namespace muster
