#include "probes/training/judge_ranks.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "measure/gpu_remedies.hpp"

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
        reported.push_back({static_cast<int>(rank), split(printable_line(*fact), ' ')});
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

std::vector<int> RankJudge::ranks_in(std::string_view text) {
  std::vector<int> ranks;
  if (text != "-")
    for (const std::string& word : split(text, ',')) ranks.push_back(number_in(word));
  return ranks;
}

bool RankJudge::judge_broken() {
  std::map<std::string, std::vector<RankValue>> groups;
  for (const RankValue& one : all_reported("broken"))
    groups[join(std::vector<std::string>(one.words.begin() + 1, one.words.end()), " ")].push_back(one);
  for (const auto& [words, reported] : groups) {
    // Each names its own GPU first.
    const auto ranks = ranks_of(reported);
    add(fmt::format("{} failed in step {}: {}", name(ranks), reported[0].step(), words), ranks,
        remedy_for_failed_gpu(host(ranks[0])));
  }
  if (groups.empty() && !all_reported("stopped").empty())
    add("the training was stopped, and no rank reported a reason", {}, "report this: the observation is incomplete",
        Verdict::unmeasured);
  return !judgement_.findings.empty();
}

bool RankJudge::judge_gradients_alone(const Observation& first) {
  const std::string* fact = first.fact("gradients.wrong");
  const auto ranks = fact == nullptr ? std::vector<int>() : ranks_in(printable_line(*fact));
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
  for (const Fact& fact : first.facts) {
    const auto words = split(printable_line(fact.value), ' ');
    if (fact.key != "miscounted" || words.size() != 3) continue;
    epoch = number_in(words[0]);
    const auto ranks = ranks_in(words[2]);
    for (const int rank : ranks)
      if (!is_in(rank, culprits)) culprits.push_back(rank);
    samples.push_back(ranks.empty()
                          ? fmt::format("sample {} was taken by no rank", words[1])
                          : fmt::format("sample {} was taken {} times, by {}", words[1], ranks.size(), name(ranks)));
  }
  if (samples.empty()) return false;
  add(fmt::format("the ranks' shares do not cover every sample exactly once in epoch {}: {}", epoch,
                  join(samples, "; ")),
      culprits, look_at_data);
  return true;
}

bool RankJudge::judge_sums(bool is_miscounted) {
  const auto reported = earliest(all_reported("miscovered"));
  if (reported.empty() || is_miscounted || reported[0].words.size() != 4) return false;
  const bool is_all = reported.size() == view_.ranks.size();
  const auto& words = reported[0].words;
  add(fmt::format("gradients are not added up over all ranks: in step {} {} {} sums of {} of {} samples", words[0],
                  is_all ? "all ranks" : name(ranks_of(reported)), is_all || reported.size() > 1 ? "have" : "has",
                  words[2], words[3]),
      is_all ? std::vector<int>() : ranks_of(reported),
      "run allreduce, then check the MPI library and the libraries that are preloaded into it: a sum over all ranks is "
      "wrong");
  return true;
}

bool RankJudge::judge_divergence(const Observation& first) {
  const std::string* fact = first.fact("diverged");
  if (fact == nullptr) return false;
  const auto words = split(printable_line(*fact), ' ');
  const auto cause = words.size() == 4 ? parse_cause(words[1]) : std::nullopt;
  if (!cause) return false;
  const bool is_certain = words[2] == "certain";
  const auto ranks = ranks_in(words[3]);
  const bool is_all = !is_certain && ranks.size() > 2;
  const std::string who = is_all ? "no majority of the ranks agrees: each may have" : name(ranks, is_certain);
  const std::string since = fmt::format("ranks have not had the same parameters since step {}", words[0]);
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
  const std::string* fact = first.fact("grown");
  const auto words = fact == nullptr ? std::vector<std::string>() : split(printable_line(*fact, 100), ' ');
  const auto number = [&](std::size_t at) { return words.size() == 3 ? std::strtod(words[at].c_str(), nullptr) : 0; };
  const bool has_grown = number(0) > 0 && number(1) > growth * number(0);
  const double rate = view_.params.real("learning_rate");
  if (!has_grown && rate <= longest) return false;
  const std::string grown =
      has_grown ? fmt::format(", after the loss grew from {} to {} in step {}", words[0], words[1], words[2]) : "";
  add(fmt::format("the training diverges with learning_rate = {:g}: gradients are not finite in step {}{}", rate, step,
                  grown),
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
