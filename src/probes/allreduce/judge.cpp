#include "probes/allreduce/judge.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"
#include "measure/gpu_data.hpp"
#include "measure/gpu_health.hpp"
#include "measure/verified_share.hpp"
#include "model/fact_fields.hpp"
#include "probes/allreduce/facts.hpp"
#include "stats/headline.hpp"

namespace muster::allreduce {

namespace {

Culprit culprit_of(const CaseView& view, int rank) {
  return rank_culprit(rank, view.ranks[static_cast<std::size_t>(rank)].host);
}

/// `bit 3`, `bits 3 and 17`; at most eight are listed.
std::string bits_of(std::uint64_t differing) {
  std::vector<std::string> bits;
  for (unsigned bit = 0; bit < 64; ++bit)
    if ((differing >> bit) & 1U) bits.push_back(std::to_string(bit));
  if (bits.size() > 8) return fmt::format("{} bits differ", bits.size());
  return fmt::format("{} {} {}", bits.size() == 1 ? "bit" : "bits", human_list(bits),
                     bits.size() == 1 ? "is flipped" : "differ");
}

constexpr std::size_t most_named = 8;

/// Ranks whose first wrong sum is the same.
struct Wrong {
  std::string reported;
  std::size_t others = 0;  ///< further sums that are wrong, on the rank that has most of them
  std::vector<int> ranks;
};

std::vector<Wrong> collect_wrong(const CaseView& view) {
  std::vector<Wrong> all;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    const std::string* reported = seen == nullptr ? nullptr : seen->fact("wrong");
    if (reported == nullptr) continue;
    auto same = std::find_if(all.begin(), all.end(), [&](const Wrong& other) { return other.reported == *reported; });
    if (same == all.end()) same = all.insert(all.end(), {*reported, 0, {}});
    same->ranks.push_back(static_cast<int>(rank));
    const auto facts =
        std::count_if(seen->facts.begin(), seen->facts.end(), [](const Fact& fact) { return fact.key == "wrong"; });
    same->others = std::max(same->others, static_cast<std::size_t>(facts) - 1);
  }
  return all;
}

std::string name_ranks(const CaseView& view, const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks)
    names.push_back(fmt::format("rank {} on {}", rank, view.ranks[static_cast<std::size_t>(rank)].host));
  return human_list(names, most_named);
}

std::string describe(const Wrong& wrong) {
  std::string text = "a wrong sum";
  if (const auto sum = read_fact<WrongSum>(wrong.reported)) {
    text += fmt::format(" of {} ({}): element {} is {} instead of {} ({})", sum->type, sum->size, sum->index, sum->got,
                        sum->expected, bits_of(sum->differing));
    if (sum->elements != 1) text += fmt::format(", {} elements are wrong in all", sum->elements);
    if (sum->compared > 0) text += fmt::format(", in {} of {} sums compared", sum->wrong_sums, sum->compared);
  }
  if (wrong.others > 0)
    text += fmt::format("; {} other {} wrong, too", wrong.others, wrong.others == 1 ? "sum is" : "sums are");
  return printable_line(text);
}

Finding name_wrong(const CaseView& view, const Wrong& wrong, std::size_t answered) {
  const bool is_all = wrong.ranks.size() == answered;
  const std::string who = is_all ? fmt::format("all {} ranks have", answered)
                                 : name_ranks(view, wrong.ranks) + (wrong.ranks.size() == 1 ? " has" : " have");
  Finding finding;
  finding.reason = fmt::format("{} {}", who, describe(wrong));
  for (std::size_t i = 0; !is_all && i < std::min(wrong.ranks.size(), most_named); ++i)
    finding.culprits.push_back(culprit_of(view, wrong.ranks[i]));
  // Who has it alone made it. Several have it from one another.
  finding.remedy = wrong.ranks.size() > 1
                       ? "a contribution or a partial sum changed on its way: run p2p, which names the rank or the "
                         "link, and look for memory errors (dmesg, rasdaemon)"
                       : "keep that node out of jobs until it is known where data changes: memory errors (dmesg, "
                         "rasdaemon), then its network adapter";
  return finding;
}

std::size_t count_answers(const CaseView& view) {
  std::size_t answered = 0;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) answered += view.measured(rank) != nullptr;
  return answered;
}

void find_wrong(const CaseView& view, ProbeJudgement& judgement) {
  const std::vector<Wrong> all = collect_wrong(view);
  std::vector<int> rest;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i < most_named)
      judgement.findings.push_back(name_wrong(view, all[i], count_answers(view)));
    else
      rest.insert(rest.end(), all[i].ranks.begin(), all[i].ranks.end());
  }
  if (rest.empty()) return;
  Finding finding;
  finding.reason = fmt::format("other wrong sums are on {}", name_ranks(view, rest));
  for (std::size_t i = 0; i < std::min(rest.size(), most_named); ++i)
    finding.culprits.push_back(culprit_of(view, rest[i]));
  finding.remedy = "look at what these ranks share: software (the MPI library), then a switch";
  judgement.findings.push_back(std::move(finding));
}

const Reading* find_reading(const Observation& seen, std::string_view metric, const Labels& where) {
  for (const Reading& reading : seen.readings)
    if (reading.metric == metric && reading.where == where) return &reading;
  return nullptr;
}

/// The labels of the operation that takes longest: there a late rank shows, not the latency of the library.
const Reading* longest_operation(const CaseView& view) {
  const Reading* longest = nullptr;
  if (const Observation* seen = view.measured(0))
    for (const Reading& reading : seen->readings)
      if (reading.metric == "time" && reading.summary.n > 0 &&
          (longest == nullptr || reading.summary.median > longest->summary.median))
        longest = &reading;
  return longest;
}

void find_stragglers(const CaseView& view, ProbeJudgement& judgement) {
  constexpr std::size_t fewest_ranks = 3;  // of two, the other one is always the slower
  const Reading* operation = longest_operation(view);
  if (operation == nullptr || view.ranks.size() < fewest_ranks) return;
  const double most = view.params.real("max_skew") * operation->summary.median;
  std::vector<int> late;
  double worst = 0;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    const Reading* skew = seen == nullptr ? nullptr : find_reading(*seen, "skew", operation->where);
    if (skew == nullptr || skew->summary.n == 0 || skew->summary.median <= most) continue;
    late.push_back(static_cast<int>(rank));
    worst = std::max(worst, skew->summary.median);
  }
  // When most are early, it is the algorithm that lets some ranks go first.
  if (late.empty() || 2 * late.size() > view.ranks.size()) return;
  Finding finding;
  for (std::size_t i = 0; i < std::min(late.size(), most_named); ++i)
    finding.culprits.push_back(culprit_of(view, late[i]));
  finding.reason = fmt::format(
      "{} {} late: the others wait up to {:.3g} us of {:.3g} us, more than {:.0f} % (max_skew)", name_ranks(view, late),
      late.size() == 1 ? "comes" : "come", worst, operation->summary.median, view.params.real("max_skew") * 100);
  finding.remedy = "look at what else runs on the cores of these ranks, and at their binding (cpu_affinity)";
  judgement.findings.push_back(std::move(finding));
}

/// Every rank looks at every result that it gets.
void demand_coverage(const CaseView& view, std::uint64_t& checked, ProbeJudgement& judgement) {
  std::vector<std::string> silent;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    if (seen == nullptr) continue;
    const std::string* count = seen->fact("checked");
    const std::uint64_t number = count == nullptr ? 0 : leading_number<std::uint64_t>(*count).value_or(0);
    checked += number;
    if (number == 0) silent.push_back(std::to_string(rank));
  }
  if (silent.empty()) return;
  judgement.findings.push_back(
      {Verdict::unmeasured,
       fmt::format("{} {} looked at no result", silent.size() == 1 ? "rank" : "ranks", human_list(silent)),
       {},
       "report this: the observation is incomplete"});
}

/// `half is not summed: MPI has no such type, NCCL and RCCL have`; empty: all was.
std::string left_out(const CaseView& view) {
  std::vector<std::string> names;
  if (const Observation* seen = view.measured(0))
    for (const Fact& fact : seen->facts)
      if (fact.key == "left_out") names.push_back(printable_line(fact.value, 20));
  if (names.empty()) return {};
  return fmt::format("{} {} not summed: MPI has no such type, NCCL and RCCL have", human_list(names),
                     names.size() == 1 ? "is" : "are");
}

/// True when nothing is left but what MPI can't add up.
bool is_all_left_out(const CaseView& view) {
  const Observation* seen = view.measured(0);
  return seen != nullptr && seen->readings.empty() && seen->fact("left_out") != nullptr;
}

Finding nothing_for_mpi(const CaseView& view) {
  const std::string host = p2p::gpu_data_evidence(view);
  return {Verdict::skip,
          left_out(view) + (host.empty() ? "" : "; " + host),
          {},
          "run it where each rank has a GPU, with NCCL or RCCL, or sum other types"};
}

/// All ranks look at the same sums.
std::string share_compared(const CaseView& view) {
  const Observation* first = view.measured(0);
  return p2p::verified_evidence(std::span(&first, 1), {"sum", "sums"});
}

ProbeJudgement judge_results(const CaseView& view) {
  ProbeJudgement judgement;
  if (view.ranks.size() == 1) {
    judgement.findings.push_back({Verdict::skip,
                                  "a single rank has no partner to add up with",
                                  {},
                                  "request two ranks or more: --ranks-per-node 2, or more --nodes"});
    return judgement;
  }
  if (p2p::judge_gpu_data(view, false, judgement.findings)) return judgement;
  if (is_all_left_out(view)) {
    judgement.findings.push_back(nothing_for_mpi(view));
    return judgement;
  }
  std::uint64_t checked = 0;
  find_wrong(view, judgement);
  set_subject(judgement.findings, 0, Subject::sums);
  demand_coverage(view, checked, judgement);
  const std::size_t before = judgement.findings.size();
  if (view.timing_doubt.empty()) find_stragglers(view, judgement);
  if (view.timing_doubt.empty()) p2p::find_below_links(view, "busbw", judgement.findings);
  set_subject(judgement.findings, before, Subject::collective);
  if (!judgement.findings.empty() || checked == 0) return judgement;
  int disturbed = 0;
  const std::string* precise = nullptr;
  if (const Observation* seen = view.measured(0)) {
    for (const Fact& fact : seen->facts) disturbed += fact.key == "disturbed";
    precise = seen->fact("precise");
  }
  std::string sentence =
      fmt::format("{} ranks looked at every element of {} results: all exact", count_answers(view), checked);
  if (precise != nullptr && view.timing_doubt.empty())
    sentence +=
        fmt::format("; {} timings known to {:.3g} %", printable_line(*precise, 40), 100 * view.params.real("interval"));
  if (disturbed > 0 && view.timing_doubt.empty())
    sentence += fmt::format("; {} had no clean timing, others used the CPUs", disturbed);
  if (view.timing_doubt.empty()) {
    const auto busbw = headline(view, {"busbw", "GB/s", "size", true, "type"});
    const auto time = headline(view, {"time", "us", "size", false, "type"});
    for (const auto& text : {busbw, time})
      if (!text.empty()) judgement.evidence.push_back(text);
  }
  judgement.evidence.push_back(std::move(sentence));
  if (auto share = share_compared(view); !share.empty()) judgement.evidence.push_back(std::move(share));
  if (auto left = left_out(view); !left.empty()) judgement.evidence.push_back(std::move(left));
  if (auto gpus = p2p::gpu_data_evidence(view); !gpus.empty()) judgement.evidence.push_back(std::move(gpus));
  return judgement;
}

}  // namespace

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement = judge_results(view);
  gpu_copy::judge_health(view, judgement.findings);
  return judgement;
}

}  // namespace muster::allreduce
