#include "run/results.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "evaluate/consequences.hpp"
#include "evaluate/evaluate.hpp"
#include "evaluate/like_items.hpp"
#include "evaluate/matrices.hpp"
#include "evaluate/training_blame.hpp"
#include "model/interruption.hpp"
#include "muster/probe.hpp"
#include "run/launch.hpp"
#include "run/name_lookup.hpp"
#include "run/per_node.hpp"
#include "run/rerun.hpp"

namespace muster {

namespace {

const World nowhere;

/// A node named by an address is not known to any rank.
Finding nobody_there(const std::string& host, const World& world) {
  std::vector<std::string> hosts;
  for (const auto& node : world.nodes) hosts.push_back(printable_line(node.node, 80));
  return {Verdict::error,
          fmt::format("no rank is on {}; they are on {}", host, human_list(hosts, 6)),
          {{CulpritKind::setting, "--nodes", "", -1}},
          "with --per-node, name nodes as they name themselves"};
}

}  // namespace

Results::Results(const Plan& plan, const SessionOptions& options, std::vector<ReporterSink> sinks, RunReport& report)
    : plan_(plan),
      options_(options),
      sinks_(std::move(sinks)),
      report_(report),
      kept_(plan.cases.size()),
      case_notes_(plan.cases.size()),
      announced_(plan.cases.size(), false),
      began_(options.began.value_or(monotonic_seconds())) {
  for (auto& repetitions : kept_) repetitions.resize(static_cast<std::size_t>(plan.repeat));
  total_ = static_cast<int>(plan.cases.size()) * plan.repeat;
}

Result<void> Results::begin() {
  auto spool = Spool::create(options_.folder / "spool");
  if (!spool) return tl::unexpected(spool.error());
  spool_.emplace(std::move(*spool));
  if (auto written = spool_->plan(plan_, report_); !written) return written;
  for (const auto& sink : sinks_) sink.reporter->run_started(report_, *sink.out), sink.out->flush();
  for (std::size_t i = 0; i < plan_.cases.size(); ++i) {
    if (plan_.cases[i].unable.empty()) continue;
    for (int repetition = 1; repetition <= plan_.repeat; ++repetition)
      keep(static_cast<int>(i), repetition, evaluate_unable(plan_.cases[i]));
  }
  for (const PlannedLaunch& launch : plan_.launches) note_binding(launch);
  return {};
}

/// Why ranks do not have the masks that were asked for; beside a line of the user's own, why there are none to compare.
void Results::note_binding(const PlannedLaunch& launch) {
  const std::string& why = launch.shape.binding.why_cores;
  if (why.empty()) return;
  for (const WorkItem& item : launch.items) {
    const bool compares = plan_.cases[static_cast<std::size_t>(item.case_index)].probe == "cpu_affinity";
    if (launch.shape.line.empty())
      note_case(item.case_index, "ranks are bound to cores: " + why);
    else if (compares)
      note_case(item.case_index, "muster bind has no masks for the ranks of the launch line: " + why);
  }
}

namespace {

const Fact* fact_of(const std::vector<Fact>& facts, std::string_view key) {
  const auto found = std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.key == key; });
  return found == facts.end() ? nullptr : &*found;
}

/// Launches differ in how they bind: the first one with masks is reported, without any the first one with a binding.
void add_binding(const NodeProvenance& node, std::vector<Fact>& facts) {
  const Fact* binding = fact_of(node.facts, "binding");
  const Fact* ranks = fact_of(node.facts, "bound_ranks");
  if (binding == nullptr || fact_of(facts, "bound_ranks") != nullptr) return;
  if (ranks == nullptr && fact_of(facts, "binding") != nullptr) return;
  std::erase_if(facts, [](const Fact& fact) { return fact.key == "binding"; });
  facts.push_back(*binding);
  if (ranks != nullptr) facts.push_back(*ranks);
}

}  // namespace

void Results::world(int launch, const World& world) {
  worlds_[launch] = world;
  if (auto written = spool_->world(launch, world); !written) trouble(to_string(written.error()));
  for (const auto& node : world.nodes) {
    for (const Fact& fact : node.facts)
      if (fact.key == "mpi_start") notice_once(fact.value);
    const auto known = std::find_if(report_.nodes.begin(), report_.nodes.end(),
                                    [&](const NodeProvenance& seen) { return seen.node == node.node; });
    if (known == report_.nodes.end())
      report_.nodes.push_back(node);
    else
      add_binding(node, known->facts);
  }
  if (auto simulated = simulated_by(report_.nodes); !simulated.empty()) report_.simulated = std::move(simulated);
}

const World& Results::world_of(int launch) const {
  const auto found = worlds_.find(launch);
  return found == worlds_.end() ? nowhere : found->second;
}

void Results::began(const WorkItem& item) {
  const auto& of = plan_.cases[static_cast<std::size_t>(item.case_index)];
  running_ = common_id(of);
  const auto at = static_cast<std::size_t>(item.case_index);
  if (announced_[at]) return;
  announced_[at] = true;
  announce(describe(of));
}

void Results::announce(const CaseResult& planned) {
  for (const auto& sink : sinks_) sink.reporter->case_started(planned, *sink.out), sink.out->flush();
}

void Results::settle(CaseRecord record) {
  running_.clear();
  const auto& of = plan_.cases[static_cast<std::size_t>(record.case_index)];
  const auto& world = world_of(record.launch);
  const auto node = of.host.empty() ? std::nullopt : node_named(world, of.host);
  judge(record, node ? world_of_node(world, *node) : world, nullptr);
}

void Results::settle_on_nodes(const std::vector<WorkItem>& items, int launch, const std::vector<Observation>& seen,
                              double seconds) {
  running_.clear();
  const auto& world = world_of(launch);
  std::vector<CaseRecord> records;
  std::vector<World> worlds;
  LikeItems like;
  for (const auto& item : items) {
    const auto& of = plan_.cases[static_cast<std::size_t>(item.case_index)];
    auto& record = records.emplace_back(CaseRecord{item.case_index, item.repetition, launch, true, {}, {}, seconds});
    const auto node = node_named(world, of.host);
    worlds.push_back(node ? world_of_node(world, *node) : World{});
    if (node)
      record.observations = seen_on_node(seen, world, *node);
    else
      record.findings = {nobody_there(of.host, world)};
    like.add(of, *find_probe(of.probe), record, worlds.back());
  }
  for (std::size_t i = 0; i < records.size(); ++i) judge(records[i], worlds[i], &like);
}

void Results::judge(const CaseRecord& record, const World& world, const LikeItems* like) {
  if (!spool_->is_degraded())
    if (auto written = spool_->record(record); !written) trouble(to_string(written.error()));
  const auto& of = plan_.cases[static_cast<std::size_t>(record.case_index)];
  auto result = evaluate(of, *find_probe(of.probe), record, world, like, options_.past);
  if (!result.repetitions.empty()) result.repetitions.front().index = record.repetition;
  keep_matrices(record, world, result);
  keep(record.case_index, record.repetition, std::move(result));
}

/// Too much for a report, and what one looks at when a link is slow.
void Results::keep_matrices(const CaseRecord& record, const World& world, CaseResult& result) {
  const auto& of = plan_.cases[static_cast<std::size_t>(record.case_index)];
  const auto matrices = matrices_of(record, *find_probe(of.probe), world);
  if (matrices.empty()) return;
  if (auto made = make_folder(options_.folder / "matrices"); !made) return trouble(to_string(made.error()));
  for (const Matrix& matrix : matrices) {
    // Names of checks and metrics may hold anything; a number for each file needs no care.
    const std::string name = fmt::format("matrices/{}.bin", ++matrix_files_);
    if (auto written = write_file(options_.folder / name, to_file(matrix)); !written)
      return trouble(to_string(written.error()));
    result.matrices.push_back({matrix.metric, matrix.where, matrix.is_of_nodes ? "node" : "rank",
                               static_cast<int>(matrix.names.size()), name});
  }
}

void Results::settle_unlaunched(const WorkItem& item, const Finding& finding) {
  CaseRecord record;
  record.case_index = item.case_index;
  record.repetition = item.repetition;
  record.findings = {finding};
  settle(std::move(record));
}

void Results::settle_launch(int launch, const Finding& finding) {
  const auto& record = report_.launches[static_cast<std::size_t>(launch)];
  CaseResult head;
  head.id = fmt::format("launch%{}", launch + 1);
  head.check = "launch";
  head.summary = "Ranks start, stay together between cases, and end.";
  head.nodes = static_cast<int>(record.nodes.size());
  head.ranks = record.ranks;
  head.seconds = record.seconds;
  head.repetitions = {{1, finding.verdict, finding.reason, record.seconds, launch}};
  settle_extra(std::move(head), finding);
}

void Results::settle_node(const LostNode& lost) {
  CaseResult head;
  head.id = "node%" + lost.node;
  head.check = "node";
  head.summary = "All requested nodes answer.";
  head.nodes = 1;
  Finding finding{Verdict::fail, lost.reason(), {node_culprit(lost.node)}, lost.remedy, Subject::node};
  if (is_unresolved(lost.why)) finding = unresolved({lost.node});
  head.repetitions = {{1, finding.verdict, finding.reason, 0, -1}};
  settle_extra(std::move(head), finding);
}

/// A result that belongs to no check of the plan. Like any other it is recorded before it is shown.
void Results::settle_extra(CaseResult head, const Finding& finding) {
  head.probe = head.check;
  head.system = report_.system;
  head.verdict = finding.verdict;
  head.reason = finding.reason;
  head.culprits = finding.culprits;
  head.remedy = finding.remedy;
  head.findings = {finding};
  head.rerun = rerun_by_hand(report_.command_line);
  if (auto written = spool_->verdict(head.id, head.repetitions.front()); !written) trouble(to_string(written.error()));
  if (finding.verdict == Verdict::fail) ++failed_;
  announce(head);
  publish(std::move(head));
}

bool Results::is_settled(const WorkItem& item) const {
  return kept_[static_cast<std::size_t>(item.case_index)][static_cast<std::size_t>(item.repetition - 1)].has_value();
}

/// Nothing is shown that a later look at the run folder would not find.
void Results::record_verdict(int repetition, CaseResult& result) {
  const Repetition brief{repetition, result.verdict, result.reason, result.seconds,
                         result.repetitions.empty() ? -1 : result.repetitions.front().launch};
  const auto written = spool_->verdict(result.id, brief);
  if (written) return;
  trouble(to_string(written.error()));
  const Finding lost{Verdict::error,
                     "its verdict could not be recorded: " + written.error().what,
                     {},
                     "free space in the run folder and run it again"};
  result.findings.insert(result.findings.begin(), lost);
  if (result.verdict == Verdict::fail) return;
  result.verdict = lost.verdict;
  result.reason = lost.reason;
  result.remedy = lost.remedy;
}

void Results::keep(int case_index, int repetition, CaseResult result) {
  const auto at = static_cast<std::size_t>(case_index);
  auto& slot = kept_[at][static_cast<std::size_t>(repetition - 1)];
  if (slot) return;
  record_verdict(repetition, result);
  ++done_;
  if (result.verdict == Verdict::fail) ++failed_;
  slot = std::move(result);
  if (!std::all_of(kept_[at].begin(), kept_[at].end(), [](const auto& one) { return one.has_value(); })) return;
  std::vector<CaseResult> repetitions;
  for (auto& one : kept_[at]) repetitions.push_back(std::move(*one));
  if (!announced_[at]) announce(describe(plan_.cases[at]));
  announced_[at] = true;
  auto combined = combine_repetitions(std::move(repetitions));
  combined.notes.insert(combined.notes.end(), case_notes_[at].begin(), case_notes_[at].end());
  publish(std::move(combined));
}

void Results::publish(CaseResult result) {
  for (const auto& sink : sinks_) sink.reporter->case_finished(result, *sink.out), sink.out->flush();
  report_.cases.push_back(std::move(result));
}

void Results::note_case(int case_index, const std::string& note) {
  auto& notes = case_notes_[static_cast<std::size_t>(case_index)];
  if (!is_in(note, notes)) notes.push_back(note);
}

void Results::notice(const std::string& line) {
  report_.notes.push_back(line);
  for (const auto& sink : sinks_) sink.reporter->notice(line, *sink.out), sink.out->flush();
}

void Results::notice_once(const std::string& line) {
  if (!is_in(line, report_.notes)) notice(line);
}

void Results::note_once(const std::string& line) {
  if (!is_in(line, report_.notes)) report_.notes.push_back(line);
}

void Results::trouble(const std::string& what) {
  incomplete_ = true;
  notice_once("not everything could be recorded: " + printable_line(what));
}

void Results::tick() {
  RunProgress progress;
  progress.running = running_;
  progress.done = done_;
  progress.total = total_;
  progress.failed = failed_;
  progress.elapsed_s = monotonic_seconds() - began_;
  if (watched_ != nullptr && watched_->item() >= 0) {
    progress.case_elapsed_s = watched_->stage_elapsed_s();
    progress.case_deadline_s = watched_->stage_deadline_s();
  }
  for (const auto& sink : sinks_) sink.reporter->tick(progress, *sink.out);
}

bool Results::is_over_limit() const {
  return options_.max_failures > 0 && failed_ >= options_.max_failures;
}

/// Plan order; what concerns a launch or a node as a whole is a cause and stands first.
void Results::order_cases() {
  std::unordered_map<std::string, int> position;
  for (std::size_t i = 0; i < plan_.cases.size(); ++i) position[plan_.cases[i].id] = static_cast<int>(i) + 1;
  const auto of = [&](const CaseResult& result) {
    const auto found = position.find(result.id);
    return found == position.end() ? 0 : found->second;
  };
  std::stable_sort(report_.cases.begin(), report_.cases.end(),
                   [&](const CaseResult& a, const CaseResult& b) { return of(a) < of(b); });
}

void Results::end() {
  order_cases();
  mark_consequences(report_.cases);
  report_.seconds = monotonic_seconds() - began_;
  std::vector<Verdict> verdicts;
  for (const auto& result : report_.cases) verdicts.push_back(result.verdict);
  report_.verdict = combine(verdicts);
  if (auto blame = blame_training(report_.cases)) report_.notes.push_back(std::move(*blame));
  report_.exit_status = exit_status(report_.cases);
  // What was found but not kept can't be shown again: never a clean exit.
  if (incomplete_) report_.exit_status = 2;
  report_.exit_status = interrupted_status(report_.interrupted).value_or(report_.exit_status);
  finish_sinks();
}

/// Files first: the screen must not mention a report that does not exist yet.
void Results::finish_sinks() {
  for (const auto& sink : sinks_) {
    if (!sink.keep) continue;
    sink.reporter->run_finished(report_, *sink.out);
    const auto kept = sink.keep();
    if (kept) continue;
    report_.unwritten.push_back(to_string(kept.error()));
    if (report_.interrupted.empty()) report_.exit_status = 2;
  }
  for (const auto& sink : sinks_)
    if (!sink.keep) sink.reporter->run_finished(report_, *sink.out), sink.out->flush();
}

}  // namespace muster
