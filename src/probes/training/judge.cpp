#include "probes/training/judge.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "measure/gpu_data.hpp"
#include "measure/gpu_health.hpp"
#include "measure/reading_facts.hpp"
#include "model/fact_fields.hpp"
#include "probes/training/facts.hpp"
#include "probes/training/judge_ranks.hpp"

namespace muster::training {

namespace {

constexpr std::string_view troubles[] = {"diverged",
                                         "miscounted",
                                         "miscovered",
                                         "reference.off",
                                         "constant",
                                         "same_order",
                                         "zero.own",
                                         "zero.sum",
                                         "not_finite.own",
                                         "not_finite.sum",
                                         "checkpoint.fault",
                                         "resumed.off",
                                         "checkpoint.stranger",
                                         "broken",
                                         "stopped",
                                         "gradients.wrong"};

class Judge : private RankJudge {
 public:
  using RankJudge::RankJudge;

  [[nodiscard]] ProbeJudgement run() {
    const Observation* first = measured_.empty() ? nullptr : measured_[0];
    // The frame reports the failure of rank 0; where the data lies, p2p and allreduce judge, too.
    if (first == nullptr || p2p::judge_gpu_data(view_, true, judgement_.findings) || judge_broken())
      return std::move(judgement_);
    const bool is_miscounted = judge_coverage(*first);
    const bool has_come_apart = judge_sums(is_miscounted) || judge_divergence(*first);
    // The finding that they are all 0 is more precise.
    const bool is_blamed = !has_come_apart && all_reported("zero.own").empty() && judge_gradients_alone(*first);
    const bool is_finite = is_blamed || judge_finite(*first);
    if (!has_come_apart && !is_blamed && is_finite) judge_end(*first, is_miscounted);
    if (judgement_.findings.empty()) demand_evidence(*first);
    return std::move(judgement_);
  }

 private:
  void judge_end(const Observation& first, bool is_miscounted) {
    const bool is_learning = judge_gradients(first);
    judge_order();
    if (!is_miscounted) judge_reference(first);
    if (is_learning) judge_bounds(first);
    judge_checkpoint();
  }

  [[nodiscard]] bool judge_gradients(const Observation& first) {
    if (const std::string* constant = first.fact("constant")) {
      add(fmt::format("the loss does not change: it is {} at every step; nothing is learned",
                      printable_line(*constant)),
          {}, "a loss over a single class is always 0 and has no gradient; look at the library that computes here");
      return false;
    }
    const auto own = earliest(all_reported("zero.own"));
    const auto sums = earliest(all_reported("zero.sum"));
    if (!own.empty())
      add(fmt::format("all gradients of {} are 0 in step {}",
                      own.size() == view_.ranks.size() ? "every rank" : name(ranks_of(own)), own[0].step()),
          own.size() == view_.ranks.size() ? std::vector<int>() : ranks_of(own),
          "backward computes nothing there: look at the libraries of that node, then again with blas = \"plain\"");
    else if (!sums.empty())
      add(fmt::format("all sums of gradients are 0 in step {}, though no rank's gradients are", sums[0].step()), {},
          "a sum over all ranks does not give the sum: run allreduce");
    return own.empty() && sums.empty();
  }

  void judge_order() {
    const auto reported = all_reported("same_order");
    if (reported.empty()) return;
    add(fmt::format("the order of samples is that of the epoch before on {} in epoch {}",
                    reported.size() == view_.ranks.size() ? "all ranks" : name(ranks_of(reported)), reported[0].step()),
        ranks_of(reported), look_at_data);
  }

  void judge_reference(const Observation& first) {
    const auto off = first_fact<LossOff>(first, "reference.off");
    if (!off) return;
    add(fmt::format(
            "{} ranks do not learn what one rank alone does: from step {} on the loss differs ({:.7g} instead of "
            "{:.7g}), though all ranks have the same parameters",
            view_.ranks.size(), off->step, off->loss, off->reference),
        {},
        "gradients change before all ranks get them, or a rank computes wrongly: run allreduce, then this with the "
        "nodes one by one");
  }

  [[nodiscard]] const Reading* reading(const Observation& first, std::string_view metric) const {
    for (const Reading& one : first.readings)
      if (one.metric == metric && one.summary.n > 0) return &one;
    return nullptr;
  }

  /// Those with which the course of training is another one than that which the bounds were made for.
  [[nodiscard]] std::vector<std::string> changed_settings() const {
    constexpr std::string_view without_influence[] = {"threads", "blas", "bucket",    "reference_steps", "checkpoint",
                                                      "resume",  "on",   "transport", "deadline"};
    std::vector<std::string> changed;
    for (const ParamSpec& spec : training::params()) {
      if (is_in(spec.name, without_influence)) continue;
      const auto usual = parse_param(spec, *spec.default_text);
      const auto& asked = view_.params.values().at(std::string(spec.name));
      if (!usual || asked == *usual) continue;
      const bool is_easier = (spec.name == "max_loss" && number_of(asked) > number_of(*usual)) ||
                             (spec.name == "min_accuracy" && number_of(asked) < number_of(*usual));
      if (!is_easier) changed.emplace_back(spec.name);
    }
    return changed;
  }

  [[nodiscard]] static double number_of(const ParamValue& value) { return std::get<double>(value.items.at(0)); }

  /// Everything is as on one rank alone, and other things were asked for than those that the bounds are known for.
  void miss_bounds(const Reading* loss, const Reading* accuracy, const std::vector<std::string>& changed) {
    std::vector<std::string> missed;
    if (loss != nullptr)
      missed.push_back(fmt::format("loss {:.4g}, and below {:.4g} is required (max_loss)", loss->summary.median,
                                   view_.params.real("max_loss")));
    if (accuracy != nullptr)
      missed.push_back(fmt::format("accuracy {:.2f} %, and more than {:.2f} % is required (min_accuracy)",
                                   accuracy->summary.median * 100, view_.params.real("min_accuracy") * 100));
    add(fmt::format("it trains like the reference, but misses the required bound: {}", join(missed, "; ")), {},
        fmt::format("increase epochs, or set a bound that these settings can reach: {} {} not at the default; without "
                    "another finding the machine is not at fault",
                    human_list(changed), changed.size() == 1 ? "is" : "are"));
    for (const std::string& name : changed)
      judgement_.findings.back().culprits.push_back({CulpritKind::setting, name, "", -1});
  }

  void judge_bounds(const Observation& first) {
    const Reading* initial = reading(first, "initial_loss");
    const Reading* last = reading(first, "final_loss");
    const Reading* accuracy = reading(first, "accuracy");
    const double max_loss = view_.params.real("max_loss");
    const double min_accuracy = view_.params.real("min_accuracy");
    const bool is_low = accuracy != nullptr && !(accuracy->summary.median > min_accuracy);
    const bool is_lossy = initial != nullptr && last != nullptr && !(last->summary.median < max_loss);
    if (!is_low && !is_lossy) return;
    const auto changed = changed_settings();
    const bool is_as_reference = judgement_.findings.empty() && first.fact("reference") != nullptr;
    if (is_as_reference && !changed.empty()) {
      miss_bounds(is_lossy ? last : nullptr, is_low ? accuracy : nullptr, changed);
      return;
    }
    const std::string remedy =
        "without another finding the ranks agree with each other: check that the labels match the samples, and "
        "increase epochs";
    if (is_lossy)
      add(fmt::format("the loss went from {:.4g} to {:.4g}, and should be below {:.4g} (max_loss)",
                      initial->summary.median, last->summary.median, max_loss),
          {}, remedy);
    if (is_low)
      add(fmt::format(
              "{:.2f} % of held-out samples are classified correctly, and more than {:.2f} % should be (min_accuracy)",
              accuracy->summary.median * 100, min_accuracy * 100),
          {}, remedy);
  }

  /// In the finding that was added last: the user's file, where it is one.
  void name_checkpoint() {
    const std::string& path = view_.params.text("checkpoint");
    if (!path.empty())
      judgement_.findings.back().culprits.push_back({CulpritKind::file, printable_line(path), host(0), -1});
  }

  void judge_checkpoint() {
    const auto writers = ranks_of(all_reported("checkpoint.wrote"));
    const auto faults = all_reported("checkpoint.fault");
    const auto off = earliest(all_reported("resumed.off"));
    const auto named = all_reported("checkpoint.writer");
    if (writers.size() > 1)
      add(fmt::format("{} ranks write the checkpoint: {}; the last one wins, and a reader may get a mixture",
                      writers.size(), name(writers)),
          writers, "one rank of the whole job is to write it, not one of each node");
    if (!all_reported("checkpoint.stranger").empty()) {
      add("another run has written the checkpoint meanwhile: what is read back is not what this one wrote", {},
          "give each run a `checkpoint` of its own");
      name_checkpoint();
      return;
    }
    if (!faults.empty()) {
      add(fmt::format("training can't resume from the checkpoint: {}", faults[0].text), {},
          "check its file system: free space, permissions, quotas; without `checkpoint` it is TMPDIR of rank 0");
      name_checkpoint();
    } else if (writers.empty())
      add("no rank wrote the checkpoint", {}, "report this as a defect of muster: rank 0 writes the checkpoint");
    else if (writers.size() == 1 && !named.empty() && named[0].step() != writers[0])
      add(fmt::format("the checkpoint is rank {}'s, though {} wrote it", named[0].step(), name(writers)), {},
          "something else writes to that file: give another `checkpoint`");
    if (!off.empty())
      add(fmt::format("a run resumed from the checkpoint deviates from the original one from step {} on (on {})",
                      off[0].step(), off.size() == view_.ranks.size() ? "all ranks" : name(ranks_of(off))),
          off.size() == view_.ranks.size() ? std::vector<int>() : ranks_of(off),
          "repeat it with blas = \"plain\"; possible causes are sums that depend on the order of arrival, products "
          "that depend on the number of threads, and a changed file");
  }

  void demand_evidence(const Observation& first) {
    const auto steps = first_fact<p2p::CountOf>(first, "steps");
    const auto reference = first_fact<ReferenceCompared>(first, "reference");
    const std::string* resumed = first.fact("resumed");
    const std::string* execution = first.fact("execution");
    const Reading* initial = reading(first, "initial_loss");
    const Reading* last = reading(first, "final_loss");
    const Reading* accuracy = reading(first, "accuracy");
    // A word of trouble that could not be read has led to no finding; nor is it a pass.
    bool is_troubled = false;
    for (const std::string_view key : troubles) is_troubled = is_troubled || !all_reported(key).empty();
    if (!steps || steps->count != steps->all || steps->count == 0 || !reference || resumed == nullptr ||
        number_in(*resumed) <= 0 || is_troubled || initial == nullptr || last == nullptr || accuracy == nullptr) {
      add("rank 0 did not report all required data", {}, "report this: the observation is incomplete",
          Verdict::unmeasured);
      return;
    }
    judgement_.evidence.push_back(
        fmt::format("loss {:.3g} -> {:.3g} in {} steps, accuracy {:.2f} %{}", initial->summary.median,
                    last->summary.median, steps->count, accuracy->summary.median * 100,
                    execution == nullptr ? std::string() : fmt::format(" ({})", printable_line(*execution, 300))));
    if (const std::string where = p2p::gpu_data_evidence(view_); !where.empty()) judgement_.evidence.push_back(where);
    const Reading* throughput = reading(first, "throughput");
    if (view_.timing_doubt.empty() && throughput != nullptr)
      judgement_.evidence.push_back(fmt::format("{:.0f} samples/s", throughput->summary.median));
    const std::string* on_host = first.fact("reference.execution");
    judgement_.evidence.push_back(fmt::format(
        "the first {} losses are those of one rank alone{} (largest deviation {:.2g}, at step {})", reference->steps,
        on_host == nullptr ? "" : " on the host", reference->deviation, reference->worst_step));
    judgement_.evidence.push_back(
        fmt::format("{} {} the same parameters to the bit after each step; {} steps after the checkpoint are, too",
                    view_.ranks.size(), view_.ranks.size() == 1 ? "rank has" : "ranks have", printable_line(*resumed)));
    const auto slowest = all_reported("slowest");
    const auto rank = slowest.empty() ? std::nullopt : read_fact<SlowestRank>(slowest[0].text);
    if (view_.timing_doubt.empty() && rank)
      judgement_.evidence.push_back(
          fmt::format("slowest in computing is {}, {:.1f} % above the median", name({rank->rank}), rank->percent));
  }
};

}  // namespace

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement = Judge(view).run();
  set_subject(judgement.findings, 0, Subject::training);
  gpu_copy::judge_health(view, judgement.findings);
  return judgement;
}

}  // namespace muster::training
