#include "model/consistency.hpp"

#include <cmath>
#include <fmt/format.h>
#include <set>

#include "base/text.hpp"
#include "model/interruption.hpp"

namespace muster {

namespace {

/// What reports and runs of a history have in common.
struct RecordedOutcome {
  Verdict verdict = Verdict::unmeasured;
  int exit_status = 2;
  std::string_view interrupted;
  double seconds = 0;
  std::vector<CaseResult> cases;  ///< id and verdict alone
};

tl::unexpected<Error> contradiction(const char* field, std::string what) {
  return fail(ErrorKind::file, field, std::move(what));
}

Result<void> check_exit(const RecordedOutcome& told, int by_cases) {
  const int expected = interrupted_status(told.interrupted).value_or(by_cases);
  // 2 also where something could not be recorded.
  if (told.exit_status == expected || (told.exit_status == 2 && told.interrupted.empty())) return {};
  return contradiction("exit_status",
                       fmt::format("is {}, but the cases give {}; the report was changed", told.exit_status, expected));
}

Result<void> check(const RecordedOutcome& told) {
  if (!std::isfinite(told.seconds) || told.seconds < 0)
    return contradiction("seconds", fmt::format("is {}, which is not a duration", told.seconds));
  std::set<std::string_view> ids;
  std::vector<Verdict> verdicts;
  for (const auto& one : told.cases) {
    verdicts.push_back(one.verdict);
    if (!ids.insert(one.id).second)
      return contradiction("cases", fmt::format("has {} twice", printable_line(one.id, 100)));
  }
  if (const auto expected = combine(verdicts); told.verdict != expected)
    return contradiction("verdict", fmt::format("is {}, but the cases give {}; the report was changed",
                                                to_string(told.verdict), to_string(expected)));
  return check_exit(told, exit_status(told.cases));
}

template <class Cases>
RecordedOutcome told_by(const auto& run, const Cases& cases) {
  RecordedOutcome told{run.verdict, run.exit_status, run.interrupted, run.seconds, {}};
  for (const auto& one : cases) {
    auto& brief = told.cases.emplace_back();
    brief.id = one.id;
    brief.verdict = one.verdict;
  }
  return told;
}

}  // namespace

Result<void> check_consistency(const RunReport& report) {
  return check(told_by(report, report.cases));
}

Result<void> check_consistency(const PastRun& run) {
  if (run.skipped.empty()) return check(told_by(run, run.cases));
  if (run.cases.empty() && run.values.empty()) return {};
  return contradiction("skipped", "is set, but there are cases");
}

}  // namespace muster
