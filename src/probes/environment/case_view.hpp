/// The case as the judges of `environment` see it, and how they speak of ranks.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/probe.hpp"

namespace muster::environment {

struct SeenRank {
  const RankPlace* place = nullptr;
  std::map<std::string_view, std::string_view> facts;  ///< the first of each key

  [[nodiscard]] std::optional<std::string> fact(std::string_view key) const;
};
using RankList = std::vector<const SeenRank*>;

/// Ranks that have the same value; nullopt: that have none.
struct Group {
  std::optional<std::string> value;
  RankList ranks;
};

class EnvironmentView {
 public:
  explicit EnvironmentView(const CaseView& view);
  EnvironmentView(const EnvironmentView&) = delete;
  EnvironmentView& operator=(const EnvironmentView&) = delete;

  [[nodiscard]] const Params& params() const { return view_.params; }
  /// From the profile.
  [[nodiscard]] const ExpectedNode& node() const { return view_.node; }
  /// Those that measured, in order.
  [[nodiscard]] const RankList& ranks() const { return ranks_; }
  /// Rank 0, or nullptr: it stayed silent, and with it what others compared themselves with.
  [[nodiscard]] const SeenRank* first() const;
  /// A rank that reported this fact of its node, which one rank of each node does.
  [[nodiscard]] const SeenRank* speaker(int node_index, std::string_view key) const;
  /// `count` of all nodes as it is in a job of `job_nodes` nodes: a gate measures spare ones, too.
  [[nodiscard]] int in_job(int count) const;
  [[nodiscard]] int node_count() const { return static_cast<int>(on_node_.size()); }
  /// Of any rank, also where only rank 0 reported it because ours is the same.
  [[nodiscard]] std::optional<std::string> variable(const SeenRank& rank, std::string_view name) const;
  [[nodiscard]] RankList with_variable(std::string_view name) const;

  /// Largest group first; of equal ones, that of the lowest rank.
  [[nodiscard]] std::vector<Group> groups(
      const std::function<std::optional<std::string>(const SeenRank&)>& value) const;
  /// `rank 3 on b`, `all 4 ranks on b and rank 0 on a`, `all 8 ranks`.
  [[nodiscard]] std::string describe(const RankList& some) const;
  /// A finding about a setting: one culprit when it is all ranks, one per node where it is the whole node.
  [[nodiscard]] Finding about(std::string_view setting, const RankList& some, std::string reason,
                              std::string remedy) const;
  /// `NAME is "x" on 7 of 8 ranks, but "y" on rank 3 on b`; culprits are all but the first group, or all when no
  /// group is the largest.
  [[nodiscard]] Finding differs(std::string_view name, const std::vector<Group>& groups, std::string remedy) const;

 private:
  struct Part {
    const RankPlace* place;
    bool is_whole_node;
    std::size_t ranks;
  };
  [[nodiscard]] std::vector<Part> parts(const RankList& some) const;

  const CaseView& view_;
  std::vector<SeenRank> all_;
  RankList ranks_;
  std::map<int, std::size_t> on_node_;
};

/// `"x"`, shortened for a sentence; a long value from where it stops being like `other`.
[[nodiscard]] std::string in_quotes(std::string_view value, std::string_view other = {});
/// Whether the profile has a rule for a variable that is violated on some rank: then other judges skip it.
[[nodiscard]] bool breaks_profile(const EnvironmentView& seen, std::string_view variable);
/// `rank`, `ranks`.
[[nodiscard]] std::string_view plural(std::size_t count, std::string_view one, std::string_view many);

// One question each; findings and evidence go to `judgement`.
void judge_torch(const EnvironmentView& seen, ProbeJudgement& judgement);
void judge_master(const EnvironmentView& seen, ProbeJudgement& judgement);
void judge_launchers(const EnvironmentView& seen, ProbeJudgement& judgement);
void judge_torchrun(const EnvironmentView& seen, ProbeJudgement& judgement);
void judge_machines(const EnvironmentView& seen, ProbeJudgement& judgement);
void judge_differences(const EnvironmentView& seen, ProbeJudgement& judgement);
/// Settings of MPI and UCX in files of the nodes.
void judge_settings(const EnvironmentView& seen, ProbeJudgement& judgement);
void judge_traps(const EnvironmentView& seen, ProbeJudgement& judgement);
void judge_limits(const EnvironmentView& seen, ProbeJudgement& judgement);
void judge_login(const EnvironmentView& seen, ProbeJudgement& judgement);
void judge_description(const EnvironmentView& seen, ProbeJudgement& judgement);
void judge_variables(const EnvironmentView& seen, ProbeJudgement& judgement);
void judge_paths(const EnvironmentView& seen, ProbeJudgement& judgement);
void judge_containers(const EnvironmentView& seen, ProbeJudgement& judgement);
/// MASTER_ADDR, where it is set, against the interface that the profile names (Must::address).
void judge_interface(const EnvironmentView& seen, const VariableExpectation& wanted, ProbeJudgement& judgement);

}  // namespace muster::environment
