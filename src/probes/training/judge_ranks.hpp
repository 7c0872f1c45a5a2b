/// The ranks' reports on a training, and the ranks at fault; the rest is in judge.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/training/audit.hpp"
#include "probes/training/judge.hpp"

namespace muster::training {

inline constexpr std::size_t most_named = 8;

inline const std::string look_at_data =
    "every rank makes the same data and order from the seed: look for memory errors (dmesg, rasdaemon) and report this";

[[nodiscard]] int number_in(std::string_view text);

class RankJudge {
 public:
  explicit RankJudge(const CaseView& view);

  // Each adds at most one finding for a cause, and returns whether there is one; judge_finite whether there is none.
  /// Devices that failed in the middle.
  [[nodiscard]] bool judge_broken();
  /// Ranks whose own gradients are not what the reference makes of the same samples and parameters.
  [[nodiscard]] bool judge_gradients_alone(const Observation& first);
  [[nodiscard]] bool judge_coverage(const Observation& first);
  /// Whose sums are not of the whole batch.
  [[nodiscard]] bool judge_sums(bool is_miscounted);
  [[nodiscard]] bool judge_divergence(const Observation& first);
  [[nodiscard]] bool judge_finite(const Observation& first);

 private:
  /// Whether the steps are too long for the training, by the loss or by the rate itself; then no rank is at fault.
  [[nodiscard]] bool judge_rate(const Observation& first, int step);

 protected:
  struct RankValue {
    int rank = 0;
    std::string text;
    [[nodiscard]] int step() const { return number_in(text); }
  };

  void add(std::string reason, const std::vector<int>& culprits, std::string remedy, Verdict verdict = Verdict::fail);
  [[nodiscard]] std::string host(int rank) const;
  [[nodiscard]] const std::string* fact_of(int rank, std::string_view key) const;
  /// Where the rank trained on one.
  [[nodiscard]] const std::string* gpu_of(int rank) const;
  /// `rank 1 on nid001`, `rank 0 on a or rank 1 on b`; with the GPU where that is what computes.
  [[nodiscard]] std::string name(const std::vector<int>& ranks, bool is_certain = true) const;
  /// The ranks' values under `key`.
  [[nodiscard]] std::vector<RankValue> all_reported(std::string_view key) const;
  /// Those of the earliest step.
  [[nodiscard]] static std::vector<RankValue> earliest(std::vector<RankValue> reported);
  [[nodiscard]] static std::vector<int> ranks_of(const std::vector<RankValue>& reported);

  const CaseView& view_;
  std::vector<const Observation*> measured_;
  ProbeJudgement judgement_;
};

}  // namespace muster::training
