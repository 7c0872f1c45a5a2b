#include "probes/training/judge_ranks.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "measure/gpu_remedies.hpp"
#include "model/fact_fields.hpp"
#include "probes/training/facts.hpp"

namespace muster::training {

namespace {

const std::string look_at_memory =
    "keep that node out of jobs until it is known where data changes: memory errors (dmesg, rasdaemon), then "
    "memory_bandwidth and allreduce there";

}  // namespace

int number_in(std::string_view text) {
  return leading_number<int>(text).value_or(-1);
}

RankJudge::RankJudge(const CaseView& view) : view_(view) {
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) measured_.push_back(view.measured(rank));
}

void RankJudge::add(std::string reason, const std::vector<int>& culprits, std::string remedy, Verdict verdict) {
  Finding finding{verdict, std::move(reason), {}, std::move(remedy)};
  for (std::size_t i = 0; i < std::min(culprits.size(), most_named); ++i) {
    const int rank = culprits[i];
    const std::string* gpu = gpu_of(rank);
    if (gpu == nullptr)
      finding.culprits.push_back(rank_culprit(rank, host(rank)));
    else
      finding.culprits.push_back({CulpritKind::device, printable_line(*gpu, 120), host(rank), rank});
  }
  judgement_.findings.push_back(std::move(finding));
}

std::string RankJudge::host(int rank) const {
  const auto at = static_cast<std::size_t>(rank);
  return at < view_.ranks.size() ? view_.ranks[at].host : std::string();
}

const std::string* RankJudge::fact_of(int rank, std::string_view key) const {
  const auto at = static_cast<std::size_t>(rank);
  return at < measured_.size() && measured_[at] != nullptr ? measured_[at]->fact(key) : nullptr;
}

const std::string* RankJudge::gpu_of(int rank) const {
  return fact_of(rank, "data.carrier") == nullptr ? nullptr : fact_of(rank, "data.device");
}

std::string RankJudge::name(const std::vector<int>& ranks, bool is_certain) const {
  std::vector<std::string> names;
  for (const int rank : ranks) {
    names.push_back(fmt::format("rank {} on {}", rank, host(rank)));
    if (const std::string* gpu = gpu_of(rank)) names.back() += ", " + printable_line(*gpu, 120);
  }
  if (!is_certain && names.size() <= most_named) return join(names, " or ");
  return human_list(names, most_named);
}

std::vector<RankJudge::RankValue> RankJudge::all_reported(std::string_view key) const {
  std::vector<RankValue> reported;
  for (std::size_t rank = 0; rank < measured_.size(); ++rank)
    if (measured_[rank] != nullptr)
      if (const std::string* fact = measured_[rank]->fact(key))
        reported.push_back({static_cast<int>(rank), printable_line(*fact)});
  return reported;
}

std::vector<RankJudge::RankValue> RankJudge::earliest(std::vector<RankValue> reported) {
  int first = -1;
  for (const RankValue& one : reported) first = first < 0 ? one.step() : std::min(first, one.step());
  std::erase_if(reported, [&](const RankValue& one) { return one.step() != first; });
  return reported;
}

std::vector<int> RankJudge::ranks_of(const std::vector<RankValue>& reported) {
  std::vector<int> ranks;
  for (const RankValue& one : reported) ranks.push_back(one.rank);
  return ranks;
}

bool RankJudge::judge_broken() {
  std::map<std::string, std::vector<RankValue>> groups;
  for (const RankValue& one : all_reported("broken"))
    if (const auto broken = read_fact<BrokenStep>(one.text)) groups[broken->error].push_back(one);
  for (const auto& [error, reported] : groups) {
    // Each names its own GPU first.
    const auto ranks = ranks_of(reported);
    add(fmt::format("{} failed in step {}: {}", name(ranks), reported[0].step(), error), ranks,
        remedy_for_failed_gpu(host(ranks[0])));
  }
  if (groups.empty() && !all_reported("stopped").empty())
    add("the training was stopped, and no rank reported a reason", {}, "report this: the observation is incomplete",
        Verdict::unmeasured);
  return !judgement_.findings.empty();
}

bool RankJudge::judge_gradients_alone(const Observation& first) {
  const auto ranks = first_fact<RankSet>(first, "gradients.wrong").value_or(RankSet()).ranks;
  if (ranks.empty()) return false;
  const bool is_all = ranks.size() == view_.ranks.size() && ranks.size() > 1;
  const std::string* reference = first.fact("reference.execution");
  const std::string against = reference == nullptr ? "plain loops on the host do"
                                                   : fmt::format("the host does ({})", printable_line(*reference, 80));
  add(fmt::format("{} {} wrongly: from the same parameters and samples {} other gradients than {}",
                  is_all ? "every rank" : name(ranks), is_all || ranks.size() == 1 ? "computes" : "compute",
                  is_all || ranks.size() == 1 ? "it makes" : "they make", against),
      is_all ? std::vector<int>() : ranks,
      is_all ? "the library that multiplies matrices there gives wrong products, or all GPUs do: again with blas = "
               "\"plain\", then gpu_compute"
             : "keep it out of jobs until it is known what computes wrongly: gpu_compute and gpu_memory there, ECC and "
               "Xid counters; on the host machine checks (dmesg, rasdaemon)");
  return true;
}

bool RankJudge::judge_coverage(const Observation& first) {
  std::vector<std::string> samples;
  std::vector<int> culprits;
  int epoch = -1;
  for (const MiscountedSample& one : facts_of<MiscountedSample>(first, "miscounted")) {
    epoch = one.epoch;
    for (const int rank : one.ranks)
      if (!is_in(rank, culprits)) culprits.push_back(rank);
    samples.push_back(one.ranks.empty() ? fmt::format("sample {} was taken by no rank", one.sample)
                                        : fmt::format("sample {} was taken {} times, by {}", one.sample,
                                                      one.ranks.size(), name(one.ranks)));
  }
  if (samples.empty()) return false;
  add(fmt::format("the ranks' shares do not cover every sample exactly once in epoch {}: {}", epoch,
                  join(samples, "; ")),
      culprits, look_at_data);
  return true;
}

bool RankJudge::judge_sums(bool is_miscounted) {
  const auto reported = earliest(all_reported("miscovered"));
  const auto sum = reported.empty() || is_miscounted ? std::nullopt : read_fact<PartialSum>(reported[0].text);
  if (!sum) return false;
  const bool is_all = reported.size() == view_.ranks.size();
  add(fmt::format("gradients are not added up over all ranks: in step {} {} {} sums of {:g} of {} samples", sum->step,
                  is_all ? "all ranks" : name(ranks_of(reported)), is_all || reported.size() > 1 ? "have" : "has",
                  sum->samples, sum->batch),
      is_all ? std::vector<int>() : ranks_of(reported),
      "run allreduce, then check the MPI library and the libraries that are preloaded into it: a sum over all ranks is "
      "wrong");
  return true;
}

bool RankJudge::judge_divergence(const Observation& first) {
  const auto diverged = first_fact<DivergedRanks>(first, "diverged");
  const auto cause = diverged ? parse_cause(diverged->cause) : std::nullopt;
  if (!cause) return false;
  const bool is_certain = diverged->is_certain;
  const auto& ranks = diverged->ranks;
  const bool is_all = !is_certain && ranks.size() > 2;
  const std::string who = is_all ? "no majority of the ranks agrees: each may have" : name(ranks, is_certain);
  const std::string since = fmt::format("ranks have not had the same parameters since step {}", diverged->step);
  const std::vector<int> culprits = is_all ? std::vector<int>() : ranks;
  const std::string tie = is_certain || is_all ? "" : "; the one at fault is unknown";
  if (*cause == Cause::data)
    add(fmt::format("ranks make different data from the same seed: {}{} others{}", who,
                    is_all              ? ""
                    : ranks.size() == 1 ? " has"
                                        : " have",
                    tie),
        culprits, look_at_memory);
  if (*cause == Cause::memory)
    add(fmt::format("parameters changed in the memory of {}: {}, while they were not written", who, since), culprits,
        look_at_memory);
  if (*cause == Cause::sum)
    add(fmt::format("{}: {} got another sum of gradients{}", since, who, tie), culprits,
        "a sum changed on its way: run allreduce and p2p, which name the rank or the link, and look for memory errors "
        "(dmesg, rasdaemon)");
  if (*cause == Cause::update)
    add(fmt::format("{}: {} made another update of the same parameters and gradients{}", since, who, tie), culprits,
        "a processor that computes wrongly, memory that changes, or another program than on the other ranks: compare "
        "versions (doctor), look for machine checks (dmesg, rasdaemon)");
  if (*cause == Cause::start)
    add(fmt::format("ranks start from different parameters: {}{} others{}", who,
                    is_all              ? ""
                    : ranks.size() == 1 ? " has"
                                        : " have",
                    tie),
        culprits, look_at_memory);
  return true;
}

bool RankJudge::judge_rate(const Observation& first, int step) {
  // The loss of a healthy training falls from about ln(classes), and does so with the probe's own rate.
  constexpr double growth = 4;
  constexpr double own_rate = 0.05;
  constexpr double longest = 1;
  const auto grown = first_fact<LossGrown>(first, "grown");
  const bool has_grown = grown && grown->first > 0 && grown->largest > growth * grown->first;
  const double rate = view_.params.real("learning_rate");
  if (!has_grown && rate <= longest) return false;
  const std::string before = has_grown ? fmt::format(", after the loss grew from {:.4g} to {:.4g} in step {}",
                                                     grown->first, grown->largest, grown->step)
                                       : "";
  add(fmt::format("the training diverges with learning_rate = {:g}: gradients are not finite in step {}{}", rate, step,
                  before),
      {}, fmt::format("choose a lower learning_rate; {:g} is the default", own_rate));
  if (rate > own_rate)
    judgement_.findings.back().culprits = {{CulpritKind::setting, "learning_rate", "", -1}};
  else
    judgement_.findings.back().remedy =
        "run allreduce, gpu_compute and gpu_memory, which name the rank: healthy machines do not diverge at this rate";
  return true;
}

bool RankJudge::judge_finite(const Observation& first) {
  const auto own = earliest(all_reported("not_finite.own"));
  const auto sums = earliest(all_reported("not_finite.sum"));
  if (own.empty() && sums.empty()) return true;
  if (judge_rate(first, own.empty() ? sums[0].step() : own[0].step())) return false;
  if (!own.empty() && (sums.empty() || own[0].step() <= sums[0].step()))
    add(fmt::format("gradients of {} are not finite in step {}", name(ranks_of(own)), own[0].step()),
        own.size() == view_.ranks.size() && own.size() > 1 ? std::vector<int>() : ranks_of(own),
        "a processor that computes wrongly or memory that changes, when the other ranks' are finite (dmesg, "
        "rasdaemon); on all ranks: a lower learning_rate");
  else
    add(fmt::format("sums of gradients are not finite in step {}, although the gradients of every rank are",
                    sums[0].step()),
        {}, "data changed on its way: run allreduce and p2p, which name the rank or the link");
  return false;
}

}  // namespace muster::training
