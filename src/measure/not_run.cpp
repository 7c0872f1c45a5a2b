#include "measure/not_run.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <string>

#include "base/text.hpp"

namespace muster::environment {

namespace {

constexpr std::string_view not_run_fact = "line.not_run";

const std::string* not_run_in(const CaseView& view) {
  for (const Observation* seen : view.observed)
    if (seen != nullptr)
      if (const std::string* part = seen->fact(not_run_fact)) return part;
  return nullptr;
}

}  // namespace

void add_not_run(const RunContext& context, Observation& seen) {
  if (context.place.local_rank != 0) return;
  if (const char* part = std::getenv(env_not_run); part != nullptr && *part != '\0')
    seen.facts.push_back({std::string(not_run_fact), printable_line(part, 400)});
}

void judge_not_run(const CaseView& view, std::initializer_list<std::string_view> words,
                   std::vector<Finding>& findings) {
  const std::string* part = not_run_in(view);
  if (part == nullptr) return;
  const bool is_open = words.size() > 0 && (part->starts_with('$') || part->find("; $") != part->npos);
  const auto names = [&](std::string_view word) { return part->find(word) != part->npos; };
  const bool is_concerned = is_open || std::any_of(words.begin(), words.end(), names);
  Finding finding;
  finding.verdict = is_concerned ? Verdict::unmeasured : Verdict::pass;
  finding.reason =
      fmt::format("the shell of the launch line also runs \"{}\", which muster does not{}", printable_line(*part, 300),
                  is_concerned ? ": what the program finds then is not known" : "");
  finding.remedy =
      "let the shell start what follows it: put exec \"$@\" in the program's place, the program behind it "
      "(bash -c '...; exec \"$@\"' - PROGRAM), and muster starts its agent there";
  if (is_concerned) finding.culprits = {{CulpritKind::launcher, "the launch line", "", -1}};
  if (!is_concerned) finding.reason += "; " + finding.remedy;
  findings.push_back(std::move(finding));
}

}  // namespace muster::environment
