#include "reporters/common/blocks.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "reporters/common/console_text.hpp"
#include "reporters/common/phrases.hpp"

namespace muster {

namespace {

/// Equal in content, each for its own node where it is about one.
bool is_same_culprit(const CaseResult& of_a, const Culprit& a, const CaseResult& of_b, const Culprit& b) {
  return a.kind == b.kind && a.rank == b.rank && without_node(of_a, a.name) == without_node(of_b, b.name) &&
         without_node(of_a, a.node) == without_node(of_b, b.node);
}

bool is_same_finding(const CaseResult& of_a, const Finding& a, const CaseResult& of_b, const Finding& b) {
  return a.verdict == b.verdict && without_node(of_a, a.reason) == without_node(of_b, b.reason) &&
         without_node(of_a, a.remedy) == without_node(of_b, b.remedy) &&
         std::equal(a.culprits.begin(), a.culprits.end(), b.culprits.begin(), b.culprits.end(),
                    [&](const Culprit& x, const Culprit& y) { return is_same_culprit(of_a, x, of_b, y); });
}

/// Parts that a block would repeat: a missing launcher fails every case with the same reason.
bool is_alike(const CaseResult& a, const CaseResult& b) {
  return a.verdict == b.verdict && a.items.empty() && b.items.empty() && a.outputs.empty() && b.outputs.empty() &&
         is_same_finding(a, {a.verdict, a.reason, a.culprits, a.remedy}, b,
                         {b.verdict, b.reason, b.culprits, b.remedy}) &&
         std::equal(a.findings.begin(), a.findings.end(), b.findings.begin(), b.findings.end(),
                    [&](const Finding& x, const Finding& y) { return is_same_finding(a, x, b, y); });
}

void note_same_remedies(std::vector<Block>& blocks) {
  std::unordered_map<std::string, std::vector<const CaseResult*>> by_remedy;
  for (Block& block : blocks) {
    if (block.first->remedy.empty()) continue;
    auto& earlier = by_remedy[block.first->remedy];
    const auto same = std::find_if(earlier.begin(), earlier.end(),
                                   [&](const CaseResult* one) { return one->culprits == block.first->culprits; });
    if (same == earlier.end())
      earlier.push_back(block.first);
    else
      block.same_remedy = *same;
  }
}

}  // namespace

std::vector<const CaseResult*> by_urgency(const RunReport& report) {
  std::vector<const CaseResult*> ordered;
  for (const auto verdict : verdicts_by_urgency())
    for (const bool follows : {false, true})
      for (const auto& result : report.cases)
        if (result.verdict == verdict && needs_attention(verdict) && follows != result.follows.empty())
          ordered.push_back(&result);
  return ordered;
}

std::vector<Block> blocks_of(const RunReport& report) {
  std::vector<Block> blocks;
  // Cases on many nodes are many: only those with the same reason are compared.
  std::unordered_map<std::string, std::vector<std::size_t>> by_reason;
  for (const CaseResult* each : by_urgency(report)) {
    const CaseResult& result = *each;
    auto& candidates = by_reason[without_node(result, result.reason)];
    const auto known = std::find_if(candidates.begin(), candidates.end(),
                                    [&](std::size_t at) { return is_alike(*blocks[at].first, result); });
    if (known != candidates.end()) {
      blocks[*known].alike.push_back(&result);
      continue;
    }
    candidates.push_back(blocks.size());
    blocks.push_back({&result, {}});
  }
  note_same_remedies(blocks);
  return blocks;
}

}  // namespace muster
