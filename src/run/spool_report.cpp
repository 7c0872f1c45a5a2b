// The report's side of SpoolReader: what is known of each case, from the best that is there.
#include <fmt/format.h>

#include "base/text.hpp"
#include "evaluate/evaluate.hpp"
#include "evaluate/training_blame.hpp"
#include "run/rerun.hpp"
#include "run/spool_reader.hpp"

namespace muster {

namespace {

constexpr const char* lost_details = "run it again: the bounds are not in the spool";

/// The content of a verdict frame; `head` names the case.
CaseResult from_verdict(CaseResult head, const Repetition& repetition) {
  head.verdict = repetition.verdict;
  head.reason = repetition.reason;
  head.seconds = repetition.seconds;
  head.repetitions = {repetition};
  head.notes.push_back("rebuilt from its recorded verdict: " + std::string(lost_details));
  if (repetition.verdict == Verdict::pass) {
    head.evidence = {repetition.reason};
    return head;
  }
  head.remedy = lost_details;
  head.findings = {{repetition.verdict, repetition.reason, head.culprits, head.remedy}};
  return head;
}

CaseResult never_finished(CaseResult head, int repetition) {
  head.verdict = Verdict::unmeasured;
  head.reason = "the driver ended before this case finished";
  head.remedy = "run it again";
  head.findings = {{head.verdict, head.reason, {}, head.remedy}};
  head.repetitions = {{repetition, head.verdict, head.reason, 0, -1}};
  return head;
}

CaseResult forgotten() {
  CaseResult head;
  head.id = "run%plan";
  head.check = head.probe = "run";
  head.verdict = Verdict::unmeasured;
  head.reason = "the plan in the spool is damaged: cases without a recorded verdict are not known any more";
  head.remedy = "run it again";
  head.findings = {{head.verdict, head.reason, {{CulpritKind::file, "spool", "", -1}}, head.remedy}};
  head.culprits = head.findings.front().culprits;
  head.repetitions = {{1, head.verdict, head.reason, 0, -1}};
  return head;
}

/// `node%nid003`, `launch%1`: what concerns no case of the plan.
CaseResult outside_head(const std::string& id) {
  CaseResult head;
  head.id = id;
  const auto mark = id.find('%');
  head.check = id.substr(0, mark);
  head.probe = head.check;
  if (head.check == "node" && mark != std::string::npos) {
    const auto node = id.substr(mark + 1);
    head.nodes = 1;
    head.culprits = {node_culprit(node)};
  }
  return head;
}

}  // namespace

CaseResult SpoolReader::repetition_of(int case_index, int repetition) {
  const auto& item = plan_.cases[static_cast<std::size_t>(case_index)];
  const VerdictEntry* written = nullptr;
  if (const auto entries = verdict_of_.find(item.id); entries != verdict_of_.end())
    if (const auto entry = entries->second.find(repetition); entry != entries->second.end())
      written = &verdicts_[entry->second];
  const auto judged = judged_.find({case_index, repetition});
  if (judged != judged_.end()) {
    auto result = std::move(judged->second);
    if (written != nullptr && written->repetition.verdict != result.verdict)
      result.notes.push_back(fmt::format("it was {} when it ran ({}), and is {} judged again",
                                         to_string(written->repetition.verdict), written->repetition.reason,
                                         to_string(result.verdict)));
    return result;
  }
  if (!item.unable.empty()) return evaluate_unable(item);
  if (written != nullptr) return from_verdict(describe(item), written->repetition);
  return never_finished(describe(item), repetition);
}

CaseResult SpoolReader::case_of(int case_index) {
  std::vector<CaseResult> repetitions;
  for (int repetition = 1; repetition <= plan_.repeat; ++repetition)
    repetitions.push_back(repetition_of(case_index, repetition));
  return combine_repetitions(std::move(repetitions));
}

std::vector<CaseResult> SpoolReader::results_outside_plan() const {
  std::set<std::string> planned;
  for (const auto& item : plan_.cases) planned.insert(item.id);
  std::set<std::string> seen;
  std::vector<CaseResult> results;
  for (const auto& entry : verdicts_) {
    if (planned.count(entry.case_id) != 0 || !seen.insert(entry.case_id).second) continue;
    std::vector<CaseResult> repetitions;
    for (const auto& [index, at] : verdict_of_.at(entry.case_id))
      repetitions.push_back(from_verdict(outside_head(entry.case_id), verdicts_[at].repetition));
    results.push_back(combine_repetitions(std::move(repetitions)));
    results.back().system = report_.system;
    results.back().rerun = rerun_by_hand(report_.command_line);
  }
  return results;
}

/// Only launches whose ranks answered left anything in the spool; those before them keep their numbers.
std::vector<LaunchRecord> SpoolReader::launch_records() const {
  std::vector<LaunchRecord> launches;
  for (const auto& [index, world] : worlds_) {
    // Numbers beyond any sense are damage; launches are not that many.
    if (index >= 100'000) break;
    launches.resize(static_cast<std::size_t>(index) + 1);
    auto& launch = launches.back();
    launch.ranks = static_cast<int>(world.ranks.size());
    for (const auto& node : world.nodes) launch.nodes.push_back(node.node);
    if (const auto cases = cases_of_launch_.find(index); cases != cases_of_launch_.end())
      launch.cases.assign(cases->second.begin(), cases->second.end());
  }
  for (auto& launch : launches) {
    launch.launcher = plan_.launcher;
    launch.outcome = "not recorded: there is no report.json, the driver ended before it or the disk was full";
  }
  return launches;
}

void SpoolReader::add_notes() {
  report_.notes.push_back(
      "rebuilt from the spool: there is no report.json (the driver ended before it, or the disk was full)");
  if (!has_plan_) report_.notes.push_back("the plan is damaged: only cases whose verdict was recorded are listed");
  if (noise_ > 0) report_.notes.push_back(fmt::format("{} bytes of the spool are damaged and were skipped", noise_));
  if (bad_frames_ > 0)
    report_.notes.push_back(fmt::format("{} frame{} of the spool could not be used; the first: {}", bad_frames_,
                                        bad_frames_ == 1 ? "" : "s", printable_line(first_damage_)));
  if (partial_total_ >= 0) report_.notes.push_back("a record in the spool ends before all of its observations");
}

Result<RunReport> SpoolReader::finish() {
  decoder_.finish();
  take_frames();
  if (!has_plan_ && verdicts_.empty())
    return fail(ErrorKind::file, "", "holds neither a plan nor a verdict that can be read");
  judge_with_others();
  report_.launches = launch_records();
  report_.cases = results_outside_plan();
  for (std::size_t i = 0; i < plan_.cases.size(); ++i) report_.cases.push_back(case_of(static_cast<int>(i)));
  // Lost cases must not lead to a pass.
  if (!has_plan_) report_.cases.push_back(forgotten());
  std::vector<Verdict> verdicts;
  report_.seconds = 0;
  for (const auto& result : report_.cases) {
    verdicts.push_back(result.verdict);
    for (const auto& repetition : result.repetitions) report_.seconds += repetition.seconds;
  }
  report_.verdict = combine(verdicts);
  report_.exit_status = exit_status(report_.cases);
  // Whether all of it was recorded can't be known any more: never a clean exit.
  if (report_.exit_status == 0) report_.exit_status = 2;
  report_.unwritten.push_back("report.json: it was never written; muster show writes it anew with --report json=FILE");
  add_notes();
  if (auto blame = blame_training(report_.cases)) report_.notes.push_back(std::move(*blame));
  return std::move(report_);
}

}  // namespace muster
