#include "reporters/html/grouped_cases.hpp"

#include <fmt/format.h>

#include "reporters/common/console_text.hpp"
#include "reporters/common/phrases.hpp"

namespace muster::html {

namespace {

/// Two cases with the same value have equal results on their nodes. Empty: the case is separate.
std::string likeness(const CaseResult& result) {
  if (result.node.empty() || !result.items.empty() || !result.outputs.empty()) return {};
  auto text = fmt::format("{}\n{}\n", common_title(result), static_cast<int>(result.verdict));
  // Of those that are well the numbers differ, and stand side by side.
  if (result.verdict == Verdict::pass) return text;
  text += without_node(result, result.reason) + '\n' + without_node(result, result.remedy) + '\n';
  for (const auto& finding : result.findings)
    text += without_node(result, finding.reason) + '\n' + without_node(result, finding.remedy) + '\n';
  for (const auto& culprit : result.culprits)
    text += fmt::format("{} {} {}\n", static_cast<int>(culprit.kind), culprit.rank, without_node(result, culprit.name));
  return text + (result.follows.empty() ? "" : "follows");
}

}  // namespace

std::vector<CaseGroup> grouped_cases(const RunReport& report) {
  std::vector<CaseGroup> shown;
  std::unordered_map<std::string, std::size_t> known;
  for (const auto verdict : verdicts_by_urgency())
    for (const bool follows : {false, true})
      for (const auto& result : report.cases) {
        if (result.verdict != verdict || follows == result.follows.empty()) continue;
        const auto key = likeness(result);
        const auto place = key.empty() ? known.end() : known.find(key);
        if (place != known.end()) {
          shown[place->second].all.push_back(&result);
          continue;
        }
        if (!key.empty()) known.emplace(key, shown.size());
        shown.push_back({&result, {&result}});
      }
  return shown;
}

int Names::of(std::string_view name) {
  const auto [at, is_new] = index_.try_emplace(std::string(name), static_cast<int>(names_.size()));
  if (is_new) names_.emplace_back(name);
  return at->second;
}

int Names::find(std::string_view name) const {
  const auto at = index_.find(std::string(name));
  return at == index_.end() ? -1 : at->second;
}

Names nodes_of(const RunReport& report) {
  Names nodes;
  for (const auto& node : report.nodes) nodes.of(node.node);
  for (const auto& launch : report.launches)
    for (const auto& node : launch.nodes) nodes.of(node);
  for (const auto& result : report.cases) {
    for (const auto& row : result.node_rows) nodes.of(row.node);
    if (!result.node.empty()) nodes.of(result.node);
    for (const auto& culprit : result.culprits)
      if (!culprit.node.empty()) nodes.of(culprit.node);
  }
  return nodes;
}

}  // namespace muster::html
