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

Result<void> check_exit(const RecordedOutcome& reported, int by_cases) {
  const int expected = interrupted_status(reported.interrupted).value_or(by_cases);
  // 2 also where something could not be recorded.
  if (reported.exit_status == expected || (reported.exit_status == 2 && reported.interrupted.empty())) return {};
  return contradiction("exit_status", fmt::format("is {}, but the cases give {}; the report was changed",
                                                  reported.exit_status, expected));
}

Result<void> check(const RecordedOutcome& reported) {
  if (!std::isfinite(reported.seconds) || reported.seconds < 0)
    return contradiction("seconds", fmt::format("is {}, which is not a duration", reported.seconds));
  std::set<std::string_view> ids;
  std::vector<Verdict> verdicts;
  for (const auto& one : reported.cases) {
    verdicts.push_back(one.verdict);
    if (!ids.insert(one.id).second)
      return contradiction("cases", fmt::format("has {} twice", printable_line(one.id, 100)));
  }
  if (const auto expected = combine(verdicts); reported.verdict != expected)
    return contradiction("verdict", fmt::format("is {}, but the cases give {}; the report was changed",
                                                to_string(reported.verdict), to_string(expected)));
  return check_exit(reported, exit_status(reported.cases));
}

template <class Cases>
RecordedOutcome reported_by(const auto& run, const Cases& cases) {
  RecordedOutcome reported{run.verdict, run.exit_status, run.interrupted, run.seconds, {}};
  for (const auto& one : cases) {
    auto& brief = reported.cases.emplace_back();
    brief.id = one.id;
    brief.verdict = one.verdict;
  }
  return reported;
}

}  // namespace

Result<void> check_consistency(const RunReport& report) {
  return check(reported_by(report, report.cases));
}

Result<void> check_consistency(const PastRun& run) {
  if (run.skipped.empty()) return check(reported_by(run, run.cases));
  if (run.cases.empty() && run.values.empty()) return {};
  return contradiction("skipped", "is set, but there are cases");
}

}  // namespace muster
