#include "muster/verdict.hpp"

#include <array>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "muster/report.hpp"

namespace muster {

namespace {

constexpr std::string_view verdict_words[] = {"pass", "fail", "unmeasured", "error", "skip"};
constexpr std::string_view culprit_words[] = {"node",    "rank",     "device", "link",
                                              "setting", "launcher", "file",   "program"};

constexpr std::string_view subject_words[] = {
    "none",    "node",   "gpus",      "nics",  "interfaces", "masks",      "placement", "mapping", "nearness",
    "devices", "memory", "transport", "links", "data",       "collective", "sums",      "training"};

}  // namespace

std::string_view to_string(Verdict verdict) {
  return enum_name(verdict_words, verdict);
}
std::optional<Verdict> parse_verdict(std::string_view text) {
  return enum_named<Verdict>(verdict_words, text);
}
std::string_view to_string(CulpritKind kind) {
  return enum_name(culprit_words, kind);
}
std::optional<CulpritKind> parse_culprit_kind(std::string_view text) {
  return enum_named<CulpritKind>(culprit_words, text);
}

std::string_view to_string(Subject subject) {
  return enum_name(subject_words, subject);
}

void set_subject(std::vector<Finding>& findings, std::size_t first, Subject subject) {
  for (std::size_t i = first; i < findings.size(); ++i)
    if (findings[i].subject == Subject::none) findings[i].subject = subject;
}

Verdict combine(std::span<const Verdict> verdicts) {
  for (const auto worst : {Verdict::fail, Verdict::error, Verdict::unmeasured, Verdict::pass, Verdict::skip})
    if (is_in(worst, verdicts)) return worst;
  return Verdict::unmeasured;
}

Verdict combine(Verdict one, Verdict other) {
  return combine(std::array{one, other});
}

Culprit node_culprit(std::string node) {
  return {CulpritKind::node, node, node, -1};
}

Culprit rank_culprit(int rank, std::string node) {
  return {CulpritKind::rank, fmt::format("rank {}", rank), std::move(node), rank};
}

std::string node_of(const Culprit& culprit) {
  return culprit.node.empty() && culprit.kind == CulpritKind::node ? culprit.name : culprit.node;
}

Finding make_note(std::string sentence) {
  return {Verdict::pass, std::move(sentence), {}, {}};
}

std::string_view to_string(BoundKind kind) {
  constexpr std::string_view words[] = {"reference", "limit", "peers", "history"};
  return enum_name(words, kind);
}

std::string simulated_by(const std::vector<NodeProvenance>& nodes) {
  std::vector<std::string> names;
  for (const NodeProvenance& node : nodes)
    for (const Fact& fact : node.facts)
      if (fact.key == "simulated" && !is_in(fact.value, names)) names.push_back(fact.value);
  return human_list(names);
}

Tally tally(const std::vector<CaseResult>& cases) {
  Tally counts;
  for (const auto& result : cases) ++counts.counts[static_cast<int>(result.verdict)];
  return counts;
}

int exit_status(const std::vector<CaseResult>& cases) {
  const auto counts = tally(cases);
  if (counts.of(Verdict::fail) > 0) return 1;
  if (counts.of(Verdict::error) + counts.of(Verdict::unmeasured) > 0) return 2;
  return counts.of(Verdict::pass) > 0 ? 0 : 2;
}

}  // namespace muster
