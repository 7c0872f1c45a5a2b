/// Takes a spool apart, frame by frame, and makes a report of what is there. `salvage` reads a file with it.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/frame.hpp"
#include "run/spool_frames.hpp"

namespace muster {

class SpoolReader {
 public:
  /// A plan that promises more results than `most_results` is taken for damage.
  explicit SpoolReader(std::size_t most_results = 2'000'000) : most_results_(most_results) {}

  /// The next bytes of the spool, in pieces of any size.
  void feed(std::span<const std::byte> bytes);
  /// Nothing follows. Fails with kind `file` when neither the plan nor any verdict could be read.
  [[nodiscard]] Result<RunReport> finish();

 private:
  using Key = std::pair<int, int>;  ///< case index, repetition

  void take_frames();
  void take(const Frame& frame);
  void take_plan(const Frame& frame);
  void take_world(const Frame& frame);
  void take_record(const Frame& frame);
  void take_verdict(const Frame& frame);
  void note_damage(const Error& error);
  void judge(CaseRecord record);
  void judge_with_others();

  [[nodiscard]] bool is_known(const CaseRecord& record) const;
  [[nodiscard]] CaseResult repetition_of(int case_index, int repetition);
  [[nodiscard]] CaseResult case_of(int case_index);
  [[nodiscard]] std::vector<CaseResult> results_outside_plan() const;
  [[nodiscard]] std::vector<LaunchRecord> launch_records() const;
  void add_notes();

  std::size_t most_results_;
  FrameDecoder decoder_;
  std::size_t noise_ = 0;       ///< bytes that belong to no frame
  std::size_t bad_frames_ = 0;  ///< whole, but their payload made no sense
  std::string first_damage_;
  bool has_plan_ = false;
  Plan plan_;
  RunReport report_;
  std::map<int, World> worlds_;
  CaseRecord partial_;      ///< record whose further frames are still to come
  int partial_total_ = -1;  ///< observations it shall have; -1: none
  std::map<Key, CaseResult> judged_;
  /// Launch, common id, repetition -> what each node by itself saw; judged when the peers are known.
  std::map<std::tuple<int, std::string, int>, std::vector<CaseRecord>> on_nodes_;
  std::vector<VerdictEntry> verdicts_;                            ///< in order
  std::map<std::string, std::map<int, std::size_t>> verdict_of_;  ///< case id -> repetition -> into verdicts_
  std::map<int, std::set<std::string>> cases_of_launch_;
};

}  // namespace muster
