// Which nodes a report blames so surely that they may be taken out of service for it. Part of node_actions.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "run/node_actions.hpp"

namespace muster {

namespace {

/// Of what a rank does wrong here its node is the cause; elsewhere it may be its program or how it was started.
bool is_work_of_node(Subject subject) {
  return is_in(subject,
               std::array{Subject::node, Subject::gpus, Subject::nics, Subject::devices, Subject::memory,
                          Subject::links, Subject::data, Subject::collective, Subject::sums, Subject::training});
}

/// What the job chose, not the machine.
bool is_setting(Subject subject) {
  return is_in(subject, std::array{Subject::interfaces, Subject::masks, Subject::placement, Subject::mapping,
                                   Subject::nearness, Subject::transport});
}

std::vector<std::string> nodes_of(const Finding& finding) {
  std::vector<std::string> nodes;
  for (const auto& culprit : finding.culprits)
    if (const auto node = node_of(culprit); !node.empty() && !is_in(node, nodes)) nodes.push_back(node);
  return nodes;
}

/// Why no node is drained for it; empty: the one node that it names is at fault.
std::string doubt(const CaseResult& result, const Finding& finding, std::size_t nodes) {
  if (!finding.follows.empty()) return "it follows from another failure";
  if (result.probe == "command") return "it comes from a program, not from a measurement of muster";
  if (is_setting(finding.subject)) return "it is about a setting";
  for (const auto& culprit : finding.culprits) {
    if (culprit.kind == CulpritKind::node || culprit.kind == CulpritKind::device) continue;
    if (culprit.kind != CulpritKind::rank) return fmt::format("it blames a {}", to_string(culprit.kind));
    if (!is_work_of_node(finding.subject)) return "it blames a rank, which its program may have ended";
  }
  if (nodes > 1) return fmt::format("it blames {} nodes at once, and some of them may be healthy", nodes);
  return "";
}

void blame(const CaseResult& result, const Finding& finding, std::vector<Blame>& blamed,
           std::vector<LeftAlone>& others) {
  const auto nodes = nodes_of(finding);
  const auto why = doubt(result, finding, nodes.size());
  for (const auto& node : nodes) {
    const auto is_known = std::any_of(blamed.begin(), blamed.end(), [&](const Blame& one) { return one.node == node; });
    if (is_known) continue;
    if (why.empty())
      blamed.push_back({node, result.check, finding.reason});
    else
      others.push_back({node, fmt::format("{} fails, but {}", result.check, why)});
  }
}

}  // namespace

std::vector<Blame> nodes_to_blame(const RunReport& report, std::vector<LeftAlone>& others) {
  std::vector<Blame> blamed;
  std::vector<LeftAlone> doubtful;
  for (const auto& result : report.cases) {
    if (result.verdict != Verdict::fail) continue;
    for (const auto& finding : result.findings)
      if (finding.verdict == Verdict::fail) blame(result, finding, blamed, doubtful);
  }
  for (auto& one : doubtful) {
    const auto has_node = [&](const auto& other) { return other.node == one.node; };
    if (std::none_of(blamed.begin(), blamed.end(), has_node) && std::none_of(others.begin(), others.end(), has_node))
      others.push_back(std::move(one));
  }
  return blamed;
}

}  // namespace muster
