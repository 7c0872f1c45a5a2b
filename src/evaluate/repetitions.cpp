#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <set>

#include "evaluate/evaluate.hpp"

namespace muster {

namespace {

/// All repetitions in order, each with an index of its own.
std::vector<Repetition> list_of(const std::vector<CaseResult>& results) {
  std::vector<Repetition> list;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const CaseResult& one = results[i];
    if (one.repetitions.empty())
      list.push_back({static_cast<int>(i) + 1, one.verdict, one.reason, one.seconds, -1});
    else
      list.insert(list.end(), one.repetitions.begin(), one.repetitions.end());
  }
  return list;
}

std::vector<std::string> all_notes(const std::vector<CaseResult>& results) {
  std::vector<std::string> notes;
  std::set<std::string> seen;
  for (const CaseResult& one : results)
    for (const std::string& note : one.notes)
      if (seen.insert(note).second) notes.push_back(note);
  return notes;
}

}  // namespace

CaseResult combine_repetitions(std::vector<CaseResult> repetitions) {
  assert(!repetitions.empty());
  std::vector<Verdict> verdicts;
  for (const CaseResult& one : repetitions) verdicts.push_back(one.verdict);
  const Verdict verdict = combine(verdicts);
  auto list = list_of(repetitions);
  auto notes = all_notes(repetitions);
  const auto worst = std::find_if(repetitions.begin(), repetitions.end(),
                                  [&](const CaseResult& one) { return one.verdict == verdict; });
  CaseResult result = std::move(*worst);
  result.repetitions = std::move(list);
  result.notes = std::move(notes);

  const auto failed = std::count(verdicts.begin(), verdicts.end(), Verdict::fail);
  const auto passed = std::count(verdicts.begin(), verdicts.end(), Verdict::pass);
  const auto skipped = std::count(verdicts.begin(), verdicts.end(), Verdict::skip);
  if (failed > 0 && passed > 0)
    result.reason = fmt::format("intermittent {}/{}: {}", failed,
                                static_cast<std::ptrdiff_t>(verdicts.size()) - skipped, result.reason);
  return result;
}

}  // namespace muster
