#include "run/job_report.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "evaluate/evaluate.hpp"
#include "model/interruption.hpp"
#include "run/rerun.hpp"

namespace muster {

namespace {

constexpr std::size_t most_shown = 4000;

void take_finding(CaseResult& result, const Finding& finding) {
  result.verdict = finding.verdict;
  result.reason = finding.reason;
  result.culprits = finding.culprits;
  result.remedy = finding.remedy;
  result.findings = {finding};
  result.repetitions = {{1, finding.verdict, finding.reason, 0, -1}};
}

/// What the run as a whole was ended by; like a launch that fails, it is a result of its own.
CaseResult result_of_job(const SchedulerSpec& scheduler, const RunReport& header, const JobReturn& back) {
  CaseResult result;
  result.id = "job%" + back.news.job;
  result.check = result.probe = "job";
  result.summary = "The job that was submitted runs to its end and leaves a report.";
  result.system = header.system;
  result.nodes = static_cast<int>(back.news.status.nodes.size());
  result.rerun = rerun_by_hand(header.command_line);
  auto finding = explain_end(scheduler, back.news, back.nodes);
  if (!back.interrupted.empty()) {
    finding.verdict = Verdict::unmeasured;
    finding.reason = fmt::format("{}: the wait for it was interrupted by {}", finding.reason, back.interrupted);
    const bool is_gone = back.news.status.phase == JobPhase::ended || back.news.status.phase == JobPhase::unknown;
    finding.remedy = is_gone ? "run it again" : "check whether the job is still in the queue, and cancel it there";
  }
  if (back.interrupted.empty() && back.news.status.state == "CANCELLED" && back.news.status.ended_by.empty())
    finding.reason += fmt::format("; {} does not report by whom", scheduler.title);
  if (!back.reported)
    finding.reason += fmt::format("; nothing came back{}", back.output.empty() ? ", and it has printed nothing" : "");
  if (!back.reported && back.output.empty() && back.interrupted.empty())
    finding.remedy =
        fmt::format("see that {} is on a file system which login node and nodes share (--output)", header.folder);
  take_finding(result, finding);
  const auto last = printable(tail(back.output, most_shown));
  if (!last.empty()) result.outputs = {{-1, "", last}};
  if (!last.empty()) result.notes.push_back("the end of its output is below, all of it in " + back.output_file);
  return result;
}

CaseResult never_reported(const Case& item, const JobReturn& back) {
  if (!item.unable.empty()) return evaluate_unable(item);
  auto result = describe(item);
  take_finding(result, {Verdict::unmeasured,
                        fmt::format("job {} ended without a result of this case", back.news.job),
                        {},
                        "see the reason of job%" + back.news.job + ", and run it again"});
  result.rerun = item.rerun;
  return result;
}

void turn_rerun(CaseResult& result, const JobReturn& back) {
  const auto& inside = back.inside_prefix;
  if (inside.empty() || result.rerun.size() < inside.size() ||
      !std::equal(inside.begin(), inside.end(), result.rerun.begin()))
    return;
  Argv argv = back.outside_prefix;
  argv.insert(argv.end(), result.rerun.begin() + static_cast<std::ptrdiff_t>(inside.size()), result.rerun.end());
  result.rerun = std::move(argv);
}

std::string where_it_ran(const SchedulerSpec& scheduler, const JobReturn& back) {
  std::string text = fmt::format("ran as {} job {}", scheduler.title, back.news.job);
  if (!back.news.status.nodes.empty()) text += " on " + printable_line(compress_hostlist(back.news.status.nodes), 200);
  text += ", submitted on " + back.submitted_on;
  if (const int restarts = back.news.status.restarts; restarts > 0)
    text += fmt::format("; it was requeued {}, and this is of its last start",
                        restarts == 1 ? "once" : fmt::format("{} times", restarts));
  if (back.reported) text += fmt::format("; in the job muster took {:.1f} s", back.reported->seconds);
  return text;
}

int status_of(const RunReport& report, const JobReturn& back) {
  if (const auto status = interrupted_status(back.interrupted)) return *status;
  const int judged = exit_status(report.cases);
  if (!back.is_finished) return judged == 0 ? 2 : judged;
  // A failure to record or print is a failure, too.
  return judged == 0 ? std::max(report.exit_status, back.inside_status) : judged;
}

}  // namespace

RunReport report_of_job(const SchedulerSpec& scheduler, RunReport header, const Plan& plan, JobReturn back) {
  RunReport report = back.reported ? *back.reported : header;
  report.run_id = header.run_id;
  report.command_line = header.command_line;
  report.folder = header.folder;
  report.started = header.started;
  report.interrupted = back.interrupted;
  report.seconds = back.seconds;
  if (!back.reported) {
    report.launches.clear();
    report.cases.clear();
    for (const auto& item : plan.cases) report.cases.push_back(never_reported(item, back));
  }
  // Cases without a report have the command of this plan, which is one for outside.
  if (back.reported)
    for (auto& result : report.cases) turn_rerun(result, back);
  const bool is_whole = back.is_finished && back.reported;
  if (!is_whole) report.cases.insert(report.cases.begin(), result_of_job(scheduler, header, back));
  std::vector<std::string> notes{where_it_ran(scheduler, back)};
  notes.insert(notes.end(), back.notes.begin(), back.notes.end());
  report.notes.insert(report.notes.begin(), notes.begin(), notes.end());
  report.exit_status = status_of(report, back);
  std::vector<Verdict> verdicts;
  for (const auto& result : report.cases) verdicts.push_back(result.verdict);
  report.verdict = combine(verdicts);
  return report;
}

}  // namespace muster
