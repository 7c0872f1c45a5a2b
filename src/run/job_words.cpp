#include "run/job_words.hpp"

#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace muster {

namespace {

std::string whole_seconds(double seconds) {
  return format_duration({static_cast<double>(static_cast<long>(seconds))});
}

std::string for_job(std::string text, const std::string& job) {
  if (const auto at = text.find("{job}"); at != std::string::npos) text.replace(at, 5, job);
  return text;
}

std::string on_nodes(const JobStatus& status) {
  if (status.nodes.empty()) return "";
  return " on " + printable_line(compress_hostlist(status.nodes), 120);
}

std::string waiting(const JobNews& news, bool is_live) {
  const auto& status = news.status;
  std::string text = status.why;
  if (!status.reason.empty()) text += fmt::format(" ({})", printable_line(status.reason, 120));
  if (is_live && news.position > 0) text += fmt::format(", number {} in the queue", news.position);
  if (is_live && !status.expected_start.empty() && !status.is_stuck)
    text += fmt::format(", expected to start at {}", status.expected_start);
  if (!status.remedy.empty()) text += "; " + for_job(status.remedy, news.job);
  if (is_live) text += fmt::format("; {} so far", whole_seconds(news.waited_s));
  return text;
}

std::string running(const JobNews& news, bool is_live) {
  std::string text = news.status.why + on_nodes(news.status);
  if (!is_live) return text;
  text += fmt::format(" for {}", whole_seconds(news.status.run_s));
  if (const auto& progress = news.progress)
    text += fmt::format(", {} of {} cases done", progress->done, progress->total);
  if (news.progress && news.progress->failed > 0) text += fmt::format(", {} failed", news.progress->failed);
  return text;
}

}  // namespace

std::string announce(const SchedulerSpec& scheduler, const JobNews& news, bool is_live) {
  const auto& status = news.status;
  std::string text = fmt::format("{} job {} ", scheduler.title, news.job);
  // While a start is cleared away, Slurm counts the next one already.
  const bool is_again = status.phase == JobPhase::waiting || status.phase == JobPhase::running;
  if (status.restarts > 0 && is_again) text += fmt::format("(start {}: it was requeued) ", status.restarts + 1);
  switch (status.phase) {
    case JobPhase::unknown:
      text += "is submitted";
      break;
    case JobPhase::waiting:
      text += waiting(news, is_live);
      break;
    case JobPhase::running:
      text += running(news, is_live);
      break;
    case JobPhase::ending:
    case JobPhase::ended:
      text += status.why;
      break;
  }
  if (!news.trouble.empty()) text += fmt::format("; {} does not answer now: {}", scheduler.title, news.trouble);
  return text;
}

Finding explain_end(const SchedulerSpec& scheduler, const JobNews& news, const std::vector<NodeState>& nodes) {
  const auto& status = news.status;
  Finding finding{
      Verdict::error, "", {{CulpritKind::launcher, fmt::format("{} job {}", scheduler.title, news.job), "", -1}}, ""};
  if (status.fault == JobFault::nobody) finding.verdict = Verdict::unmeasured;
  const std::string why =
      status.phase == JobPhase::unknown ? fmt::format("is not known to {} any more", scheduler.title) : status.why;
  finding.reason = fmt::format("{} job {} {}", scheduler.title, news.job, why);
  if (!status.ended_by.empty()) finding.reason += " by user " + status.ended_by;
  finding.reason += on_nodes(status);
  if (!status.state.empty()) {
    finding.reason += fmt::format(" ({}, exit status {}", status.state, status.exit_status);
    if (status.signal > 0) finding.reason += fmt::format(", signal {}", status.signal);
    finding.reason += ")";
  }
  finding.remedy = for_job(status.remedy, news.job);
  if (finding.remedy.empty()) finding.remedy = "see the job's output, and run it again";
  if (status.fault != JobFault::node) return finding;
  std::vector<Culprit> failed;
  for (const auto& node : nodes) {
    if (node.is_usable) continue;
    failed.push_back(node_culprit(node.node));
    finding.reason += fmt::format(", {} is {}", node.node, node.state);
    if (!node.why.empty()) finding.reason += fmt::format(": {}", node.why);
  }
  if (failed.empty()) return finding;
  finding.verdict = Verdict::fail;
  finding.culprits = std::move(failed);
  return finding;
}

}  // namespace muster
