#include "evaluate/verdict_rules.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster {

namespace {

void move_passes_to_notes(CaseResult& result) {
  std::vector<Finding> kept;
  for (Finding& finding : result.findings) {
    if (finding.verdict != Verdict::pass)
      kept.push_back(std::move(finding));
    else if (!finding.reason.empty())
      result.notes.push_back(std::move(finding.reason));
  }
  result.findings = std::move(kept);
}

}  // namespace

void apply_verdict_rules(CaseResult& result, const std::string& nothing_reason) {
  move_passes_to_notes(result);
  std::erase(result.evidence, std::string{});
  if (result.findings.empty()) {
    result.verdict = result.evidence.empty() ? Verdict::unmeasured : Verdict::pass;
    result.reason = result.evidence.empty() ? nothing_reason : join(result.evidence, "; ");
    if (result.evidence.empty())
      result.remedy = "give the check an expectation with a bound on a metric that the probe reports";
    return;
  }
  std::vector<Verdict> verdicts;
  for (const Finding& finding : result.findings) verdicts.push_back(finding.verdict);
  result.verdict = combine(verdicts);
  const auto worst = std::find_if(result.findings.begin(), result.findings.end(),
                                  [&](const Finding& finding) { return finding.verdict == result.verdict; });
  result.reason = worst->reason;
  result.culprits = worst->culprits;
  result.remedy = worst->remedy;
}

}  // namespace muster
