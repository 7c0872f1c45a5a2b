#include "muster/verdict.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "muster/report.hpp"

namespace muster {

namespace {

constexpr std::array<std::string_view, 5> verdict_words{"pass", "fail", "unmeasured", "error", "skip"};
constexpr std::array<std::string_view, 8> culprit_words{"node",    "rank",     "device", "link",
                                                        "setting", "launcher", "file",   "program"};

template <class Enum, std::size_t size>
std::optional<Enum> find_word(const std::array<std::string_view, size>& words, std::string_view text) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

constexpr std::array<std::string_view, 17> subject_words{
    "none",    "node",   "gpus",      "nics",  "interfaces", "masks",      "placement", "mapping", "nearness",
    "devices", "memory", "transport", "links", "data",       "collective", "sums",      "training"};

}  // namespace

std::string_view to_string(Verdict verdict) {
  return verdict_words[static_cast<std::size_t>(verdict)];
}
std::optional<Verdict> parse_verdict(std::string_view text) {
  return find_word<Verdict>(verdict_words, text);
}
std::string_view to_string(CulpritKind kind) {
  return culprit_words[static_cast<std::size_t>(kind)];
}
std::optional<CulpritKind> parse_culprit_kind(std::string_view text) {
  return find_word<CulpritKind>(culprit_words, text);
}

std::string_view to_string(Subject subject) {
  return subject_words[static_cast<std::size_t>(subject)];
}

void set_subject(std::vector<Finding>& findings, std::size_t first, Subject subject) {
  for (std::size_t i = first; i < findings.size(); ++i)
    if (findings[i].subject == Subject::none) findings[i].subject = subject;
}

Verdict combine(std::span<const Verdict> verdicts) {
  for (const auto worst : {Verdict::fail, Verdict::error, Verdict::unmeasured, Verdict::pass, Verdict::skip})
    if (std::find(verdicts.begin(), verdicts.end(), worst) != verdicts.end()) return worst;
  return Verdict::unmeasured;
}

std::string_view to_string(BoundKind kind) {
  constexpr std::array<std::string_view, 4> words{"reference", "limit", "peers", "history"};
  return words[static_cast<std::size_t>(kind)];
}

std::string simulated_by(const std::vector<NodeProvenance>& nodes) {
  std::vector<std::string> names;
  for (const NodeProvenance& node : nodes)
    for (const Fact& fact : node.facts)
      if (fact.key == "simulated" && std::find(names.begin(), names.end(), fact.value) == names.end())
        names.push_back(fact.value);
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
