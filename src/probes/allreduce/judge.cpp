#include "probes/allreduce/judge.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"

namespace muster::allreduce {

namespace {

Culprit culprit_of(const CaseView& view, int rank) {
  return {CulpritKind::rank, fmt::format("rank {}", rank), view.ranks[static_cast<std::size_t>(rank)].host, rank};
}

const Observation* measured_by(const CaseView& view, std::size_t rank) {
  const Observation* seen = rank < view.observed.size() ? view.observed[rank] : nullptr;
  return seen != nullptr && seen->state == ObservationState::measured ? seen : nullptr;
}

/// `bit 3`, `bits 3 and 17`; at most eight are listed.
std::string bits_of(std::string_view hex) {
  std::uint64_t differing = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), differing, 16);
  std::vector<std::string> bits;
  for (unsigned bit = 0; bit < 64; ++bit)
    if ((differing >> bit) & 1U) bits.push_back(std::to_string(bit));
  if (bits.size() > 8) return fmt::format("{} bits differ", bits.size());
  return fmt::format("{} {} {}", bits.size() == 1 ? "bit" : "bits", human_list(bits),
                     bits.size() == 1 ? "is flipped" : "differ");
}

/// One wrong result, as several ranks may have it: `TYPE SIZE INDEX EXPECTED GOT BITS COUNT`.
struct Wrong {
  std::string told;
  std::vector<int> ranks;
};

Finding name_wrong(const CaseView& view, const Wrong& wrong) {
  const auto words = split(wrong.told, ' ');
  Finding finding;
  const bool is_all = wrong.ranks.size() == view.ranks.size();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min<std::size_t>(wrong.ranks.size(), 8); ++i)
    names.push_back(
        fmt::format("rank {} on {}", wrong.ranks[i], view.ranks[static_cast<std::size_t>(wrong.ranks[i])].host));
  if (wrong.ranks.size() > names.size()) names.push_back(fmt::format("{} more", wrong.ranks.size() - names.size()));
  const std::string who = is_all ? fmt::format("all {} ranks have", view.ranks.size())
                                 : human_list(names) + (wrong.ranks.size() == 1 ? " has" : " have");
  if (words.size() == 7) {
    finding.reason = fmt::format("{} a wrong sum of {} ({}): element {} is {} instead of {} ({})", who, words[0],
                                 words[1], words[2], words[4], words[3], bits_of(words[5]));
    if (words[6] != "1") finding.reason += fmt::format(", {} elements are wrong in all", words[6]);
  } else {
    finding.reason = who + " a wrong sum";
  }
  finding.reason = printable_line(finding.reason);
  for (std::size_t i = 0; !is_all && i < std::min<std::size_t>(wrong.ranks.size(), 8); ++i)
    finding.culprits.push_back(culprit_of(view, wrong.ranks[i]));
  finding.remedy = is_all ? "a contribution changed before all had it: run hello and p2p, which name the rank or the "
                            "link, and look for memory "
                            "errors (dmesg, rasdaemon)"
                          : "keep that node out of jobs until it is known where data changes: memory errors (dmesg, "
                            "rasdaemon), then its network adapter";
  return finding;
}

void find_wrong(const CaseView& view, ProbeJudgement& judgement) {
  std::vector<Wrong> all;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const Observation* seen = measured_by(view, rank);
    if (seen == nullptr) continue;
    for (const Fact& fact : seen->facts) {
      if (fact.key != "wrong") continue;
      auto same = std::find_if(all.begin(), all.end(), [&](const Wrong& other) { return other.told == fact.value; });
      if (same == all.end()) same = all.insert(all.end(), {fact.value, {}});
      same->ranks.push_back(static_cast<int>(rank));
    }
  }
  for (const Wrong& wrong : all) judgement.findings.push_back(name_wrong(view, wrong));
}

const Reading* find_reading(const Observation& seen, std::string_view metric, const Labels& where) {
  for (const Reading& reading : seen.readings)
    if (reading.metric == metric && reading.where == where) return &reading;
  return nullptr;
}

/// The labels of the operation that takes longest: there a late rank shows, not the latency of the library.
const Reading* longest_operation(const CaseView& view) {
  const Reading* longest = nullptr;
  if (const Observation* seen = measured_by(view, 0))
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
    const Observation* seen = measured_by(view, rank);
    const Reading* skew = seen == nullptr ? nullptr : find_reading(*seen, "skew", operation->where);
    if (skew == nullptr || skew->summary.n == 0 || skew->summary.median <= most) continue;
    late.push_back(static_cast<int>(rank));
    worst = std::max(worst, skew->summary.median);
  }
  // When most are early, it is the algorithm that lets some ranks go first.
  if (late.empty() || 2 * late.size() > view.ranks.size()) return;
  Finding finding;
  std::vector<std::string> names;
  for (const int rank : late) {
    if (finding.culprits.size() >= 8) break;
    finding.culprits.push_back(culprit_of(view, rank));
    names.push_back(fmt::format("rank {} on {}", rank, finding.culprits.back().node));
  }
  if (late.size() > names.size()) names.push_back(fmt::format("{} more", late.size() - names.size()));
  finding.reason = fmt::format(
      "{} {} late: the others wait up to {:.3g} us of {:.3g} us, more than {:.0f} % (max_skew)", human_list(names),
      names.size() == 1 ? "comes" : "come", worst, operation->summary.median, view.params.real("max_skew") * 100);
  finding.remedy = "look at what else runs on the cores of these ranks, and at their binding (cpu_affinity)";
  judgement.findings.push_back(std::move(finding));
}

/// Every rank looks at every result that it gets.
void demand_coverage(const CaseView& view, int& checked, ProbeJudgement& judgement) {
  std::vector<std::string> silent;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const Observation* seen = measured_by(view, rank);
    if (seen == nullptr) continue;
    const std::string* count = seen->fact("checked");
    const int number = count == nullptr ? 0 : std::atoi(count->c_str());
    checked += number;
    if (number == 0) silent.push_back(std::to_string(rank));
  }
  if (silent.empty()) return;
  Finding finding;
  finding.verdict = Verdict::unmeasured;
  finding.reason = fmt::format("{} {} looked at no result", silent.size() == 1 ? "rank" : "ranks", human_list(silent));
  finding.remedy = "report this: the observation is incomplete";
  judgement.findings.push_back(std::move(finding));
}

}  // namespace

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement;
  if (view.ranks.size() == 1) {
    judgement.findings.push_back({Verdict::skip,
                                  "one rank has nobody to add up with",
                                  {},
                                  "ask for two ranks or more: --ranks-per-node 2, or more --nodes"});
    return judgement;
  }
  int checked = 0;
  find_wrong(view, judgement);
  demand_coverage(view, checked, judgement);
  if (view.timing_doubt.empty()) find_stragglers(view, judgement);
  if (!judgement.findings.empty() || checked == 0) return judgement;
  int disturbed = 0;
  if (const Observation* seen = measured_by(view, 0))
    for (const Fact& fact : seen->facts) disturbed += fact.key == "disturbed";
  std::string sentence =
      fmt::format("{} ranks looked at every element of {} results: all exact", view.ranks.size(), checked);
  if (disturbed > 0) sentence += fmt::format("; {} had no clean timing, others used the CPUs", disturbed);
  judgement.evidence.push_back(std::move(sentence));
  return judgement;
}

}  // namespace muster::allreduce
