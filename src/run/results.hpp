/// Collects what a run finds: judges each repetition as it comes, writes it to the spool, then passes it to reporters.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "model/plan.hpp"
#include "model/record.hpp"
#include "run/session.hpp"
#include "run/spool.hpp"

namespace muster {

class Launch;
class LikeItems;

class Results {
 public:
  Results(const Plan& plan, const SessionOptions& options, std::vector<ReporterSink> sinks, RunReport& report);

  /// Opens the spool, announces the run and settles the cases that can't be launched. Fails when there is no room for
  /// the verdicts; nothing has been announced then.
  [[nodiscard]] Result<void> begin();
  void world(int launch, const World& world);
  void began(const WorkItem& item);
  /// One repetition that was launched, to its end or not.
  void settle(CaseRecord record);
  /// One case on several nodes, each judged by itself, from what the ranks of all of them saw.
  void settle_on_nodes(const std::vector<WorkItem>& items, int launch, const std::vector<Observation>& seen,
                       double seconds);
  /// One repetition that no launch was made for.
  void settle_unlaunched(const WorkItem& item, const Finding& finding);
  /// A launch that failed outside of any case becomes a result of its own, so that it is seen and counted.
  void settle_launch(int launch, const Finding& finding);
  /// A node that was asked for and can't take part.
  void settle_node(const LostNode& lost);
  [[nodiscard]] bool is_settled(const WorkItem& item) const;
  void note_case(int case_index, const std::string& note);
  void notice(const std::string& line);
  void notice_once(const std::string& line);
  /// For the report alone: printed with the summary.
  void note_once(const std::string& line);
  /// Something could not be written: the run will not exit with 0.
  void trouble(const std::string& what);
  void tick();
  /// The launch to read the running stage from; nullptr: none.
  void watch(const Launch* launch) { watched_ = launch; }
  [[nodiscard]] const std::string& running() const { return running_; }
  [[nodiscard]] bool is_over_limit() const;
  /// InjectedFaults the cases, sets verdict and exit status, and lets the reporters write.
  void end();

 private:
  void note_binding(const PlannedLaunch& launch);
  void keep(int case_index, int repetition, CaseResult result);
  void judge(const CaseRecord& record, const World& world, const LikeItems* like);
  void keep_matrices(const CaseRecord& record, const World& world, CaseResult& result);
  void record_verdict(int repetition, CaseResult& result);
  void announce(const CaseResult& planned);
  void publish(CaseResult result);
  void settle_extra(CaseResult head, const Finding& finding);
  void order_cases();
  void finish_sinks();
  [[nodiscard]] const World& world_of(int launch) const;

  const Plan& plan_;
  const SessionOptions& options_;
  std::vector<ReporterSink> sinks_;
  RunReport& report_;
  std::optional<Spool> spool_;
  std::map<int, World> worlds_;
  std::vector<std::vector<std::optional<CaseResult>>> kept_;  ///< [case][repetition - 1]
  std::vector<std::vector<std::string>> case_notes_;
  std::vector<bool> announced_;
  const Launch* watched_ = nullptr;
  std::string running_;
  double began_ = 0;
  int done_ = 0;
  int total_ = 0;
  int failed_ = 0;
  int matrix_files_ = 0;
  bool incomplete_ = false;  ///< something that was found could not be kept on disk
};

}  // namespace muster
