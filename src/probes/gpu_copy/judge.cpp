#include "probes/gpu_copy/judge.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "measure/gpu_health.hpp"
#include "measure/gpu_limits.hpp"
#include "measure/gpu_remedies.hpp"
#include "measure/node_gpus.hpp"
#include "measure/verified_share.hpp"
#include "model/fact_fields.hpp"
#include "model/series.hpp"
#include "probes/gpu_copy/facts.hpp"
#include "stats/headline.hpp"
#include "stats/stats.hpp"

namespace muster::gpu_copy {

namespace {

/// A copy that failed, or gave wrong data.
struct Bad {
  const RankPlace* place = nullptr;
  bool is_data = false;
  std::string gpu;   ///< address
  std::string to;    ///< `-`: the GPU alone
  std::string kind;  ///< of data: `by engine from host to device`
  std::string words;

  [[nodiscard]] bool is_alone() const { return to == "-"; }
  [[nodiscard]] bool touches(const std::string& address) const { return gpu == address || to == address; }
};

Bad bad_of(const RankPlace& place, const Fact& fact) {
  Bad bad;
  bad.place = &place;
  bad.is_data = fact.key == "wrong";
  // A fact that can't be read is reported as it is.
  bad.gpu = bad.to = "-";
  bad.words = printable_line(fact.value);
  if (const auto wrong = bad.is_data ? read_fact<WrongCopy>(fact.value) : std::nullopt) {
    std::tie(bad.gpu, bad.to, bad.words) = std::tie(wrong->gpu, wrong->to, wrong->words);
    bad.kind = "by " + wrong->by;
    if (bad.is_alone()) bad.kind += " " + words_of(wrong->metric);
  } else if (const auto failed = bad.is_data ? std::nullopt : read_fact<FailedCopy>(fact.value)) {
    std::tie(bad.gpu, bad.to, bad.words) = std::tie(failed->gpu, failed->to, failed->words);
  }
  return bad;
}

std::string remedy_of(const Bad& bad) {
  if (bad.is_data)
    return fmt::format(
        "take the GPU out of service and see its ECC, PCIe and link error counters ({}); run gpu_memory to distinguish "
        "its memory from the link",
        memory_commands());
  return remedy_for_failed_gpu(bad.place->host);
}

std::string also(std::size_t more) {
  return more == 0 ? std::string() : fmt::format("; {} more with it", counted(more, "copy kind"));
}

Finding about_one(const Bad& bad, const TestedGpus& named, const std::string& gpu, std::size_t more) {
  const std::string who = fmt::format("{} on {}", named(gpu), bad.place->host);
  std::string where;
  if (!bad.is_alone()) where = bad.gpu == gpu ? "to GPU " + bad.to : "from GPU " + bad.gpu;
  std::string reason;
  if (bad.is_data)
    reason = fmt::format("a copy {}{} of {} gave wrong data: {}", bad.kind, where.empty() ? "" : " " + where, who,
                         bad.words);
  else
    reason = fmt::format("{} failed while copying{}: {}", who, where.empty() ? "" : " " + where, bad.words);
  return about_gpu(*bad.place, Verdict::fail, gpu, reason + also(more), remedy_of(bad));
}

Finding about_pair(const Bad& bad, const TestedGpus& named) {
  Finding finding = about_gpu(*bad.place, Verdict::fail, bad.gpu,
                              bad.is_data ? fmt::format("a copy {} from {} to {} on {} gave wrong data: {}", bad.kind,
                                                        named(bad.gpu), named(bad.to), bad.place->host, bad.words)
                                          : fmt::format("{} failed while copying to {} on {}: {}", named(bad.gpu),
                                                        named(bad.to), bad.place->host, bad.words),
                              remedy_of(bad));
  finding.culprits.push_back({CulpritKind::device, "GPU " + bad.to, bad.place->host, -1});
  return finding;
}

/// The one GPU that has a part in all of several pairs; empty: there is none.
std::string common_gpu(const std::vector<const Bad*>& pairs) {
  if (pairs.size() < 2) return {};
  std::string found;
  for (const std::string& address : {pairs[0]->gpu, pairs[0]->to}) {
    if (!std::all_of(pairs.begin(), pairs.end(), [&](const Bad* bad) { return bad->touches(address); })) continue;
    if (!found.empty()) return {};  // a single pair, both ways
    found = address;
  }
  return found;
}

/// A GPU that is bad by itself explains all pairs that it is part of; where none is, one that all bad pairs share does.
void judge_bad(const std::vector<Bad>& all, const TestedGpus& named, std::vector<Finding>& findings) {
  std::vector<std::string> reported;
  for (const Bad& bad : all) {
    if (!bad.is_alone() || is_in(bad.gpu, reported)) continue;
    reported.push_back(bad.gpu);
    const auto more = std::count_if(all.begin(), all.end(), [&](const Bad& other) { return other.touches(bad.gpu); });
    findings.push_back(about_one(bad, named, bad.gpu, static_cast<std::size_t>(more) - 1));
  }
  std::vector<const Bad*> rest;
  for (const Bad& bad : all)
    if (std::none_of(reported.begin(), reported.end(), [&](const std::string& gpu) { return bad.touches(gpu); }))
      rest.push_back(&bad);
  if (const std::string gpu = common_gpu(rest); !gpu.empty())
    findings.push_back(about_one(*rest[0], named, gpu, rest.size() - 1));
  else
    for (const Bad* bad : rest) findings.push_back(about_pair(*bad, named));
}

/// What failed and what was wrong, node by node.
void judge_bad_copies(const CaseView& view, std::vector<Finding>& findings) {
  std::map<int, std::vector<Bad>> bad;
  std::map<int, TestedGpus> names;
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* seen = view.measured(i);
    if (seen == nullptr) continue;
    const int node = view.ranks[i].node_index;
    for (const auto& [address, uuid] : tested_by(*seen).uuids) names[node].uuids[address] = uuid;
    for (const Fact& fact : seen->facts)
      if (fact.key == "wrong" || fact.key == "failed") bad[node].push_back(bad_of(view.ranks[i], fact));
  }
  for (const auto& [node, list] : bad) judge_bad(list, names[node], findings);
}

struct Like {
  const RankPlace* place;
  const Reading* reading;
  std::string address;
  std::string who;
};

/// Readings of one kind from GPUs of one model, or of pairs with one kind of link.
using Likes = std::map<std::string, std::vector<Like>>;

void add_likes(const RankPlace& place, const Observation& seen, const TestedGpus& named, Likes& likes) {
  for (const Reading& reading : seen.readings) {
    if (reading.summary.n == 0 || base_metric(reading.metric) != reading.metric) continue;
    const std::string reported = label_of(reading.where, "device");
    const std::string address = reported.empty() ? named.only : reported;
    const auto model = named.models.find(address);
    const std::string by = label_of(reading.where, "by");
    const std::string link = label_of(reading.where, "link");
    const std::string kind = fmt::format("{} {} {} {}", reading.metric, by, link,
                                         model == named.models.end() ? std::string() : model->second);
    likes[kind].push_back({&place, &reading, address, named(address)});
  }
}

void judge_likes(const CaseView& view, const Likes& likes, std::vector<Finding>& findings) {
  for (const auto& [kind, list] : likes) {
    if (list.size() < 3) continue;
    std::vector<double> values;
    for (const Like& like : list) values.push_back(like.reading->summary.median);
    const double median = summarize(values).median;
    for (const Like& like : list) {
      const Reading& reading = *like.reading;
      if (reading.summary.median >= view.params.real("least_of_like") * median) continue;
      const std::string to = label_of(reading.where, "to");
      const std::string way = reading.metric != "peer_copy" ? words_of(reading.metric)
                              : !to.empty()                 ? "to GPU " + to
                                                            : fmt::format("to the GPU of rank {}", reading.peer);
      findings.push_back(about_gpu(
          *like.place, Verdict::fail, like.address,
          fmt::format("copies by {} {} of {} on {} run at {}, those of {} like it at {} in the median",
                      label_of(reading.where, "by"), way, like.who, like.place->host,
                      format_value(reading.summary.median, "GB/s"), list.size() - 1, format_value(median, "GB/s")),
          "see clocks, throttle reasons, ECC and link counters of this GPU against the others; exchange its place to "
          "distinguish the card from the slot"));
    }
  }
}

void note_variation(const RankPlace& place, const TestedGpus& named, const Observation& seen,
                    std::vector<Finding>& findings) {
  for (const VariedCopies& one : facts_of<VariedCopies>(seen, "varied")) {
    const std::string way = one.to == "-" ? words_of(one.metric) : "to GPU " + one.to;
    findings.push_back(about_gpu(
        place, Verdict::pass, one.gpu,
        fmt::format("copies by {} {} of {} on {} varied from {:.1f} to {:.1f} GB/s; the highest rate is judged", one.by,
                    way, named(one.gpu), place.host, one.lowest, one.highest),
        "look for other users of the link: other programs, and in a virtual machine those of its host"));
  }
}

void judge_rank(const CaseView& view, const RankPlace& place, const Observation& seen, ProbeJudgement& judgement,
                Likes& likes) {
  const TestedGpus named = tested_by(seen);
  if (named.uuids.empty()) return;
  if (seen.fact("checked") == nullptr)
    judgement.findings.push_back(
        about_gpu(place, Verdict::unmeasured, named.only,
                  fmt::format("rank {} on {} did not report what it verified", place.rank, place.host),
                  "report this: the observation is incomplete"));
  if (const std::string* unread = seen.fact("unread"); unread != nullptr && view.timing_doubt.empty())
    judgement.findings.push_back(about_gpu(
        place, Verdict::unmeasured, named.only,
        fmt::format("{} of {} on {} have no time", printable_line(*unread, 40), named(named.only), place.host),
        "free the node of other work and run again, or give more time with the parameter cap"));
  if (!view.timing_doubt.empty() || is_shared_with_others(seen)) return;
  note_variation(place, named, seen, judgement.findings);
  judge_limits(view, place, seen, named, judgement.findings);
  add_likes(place, seen, named, likes);
}

/// What a pass rests on, and what it does not.
void add_evidence(const CaseView& view, std::size_t gpus, ProbeJudgement& judgement) {
  std::size_t cells = 0;
  std::size_t apart = 0;
  std::map<std::string, std::size_t> links;
  std::string no_kernels;
  bool do_launches_wait = false;
  for (const Observation* seen : view.observed) {
    if (seen == nullptr) continue;
    for (const Fact& fact : seen->facts) {
      const auto number = [&] { return static_cast<std::size_t>(std::strtoul(fact.value.c_str(), nullptr, 10)); };
      if (fact.key == "checked") cells += number();
      if (fact.key == "apart") apart += number();
      if (fact.key.rfind("link.", 0) == 0) links[fact.key.substr(5)] += number();
      if (fact.key == "no_kernels" && no_kernels.empty())
        no_kernels = printable_line(fact.value.substr(fact.value.find(' ') + 1), 300);
      do_launches_wait |= fact.key == "launches_wait";
    }
  }
  if (view.timing_doubt.empty())
    for (const char* metric : {"host_to_device", "local_copy"})
      if (auto reported = headline(view, {metric, "GB/s", "by", false}); !reported.empty())
        judgement.evidence.push_back(std::move(reported));
  if (cells == 0) return;
  judgement.evidence.push_back(
      fmt::format("{} series of copies on {}: all compared data was right", cells, counted(gpus, "GPU")));
  if (auto shares = p2p::verified_evidence(view.observed, {"copy", "copies", "a GPU"}); !shares.empty())
    judgement.evidence.push_back(std::move(shares));
  std::vector<std::string> reported;
  for (const auto& [link, count] : links) reported.push_back(fmt::format("{} {}", count, printable_line(link, 20)));
  if (!reported.empty()) judgement.evidence.push_back(fmt::format("pairs by link: {}", human_list(reported)));
  if (apart > 0) judgement.evidence.push_back(counted(apart, "pair") + " not copied: no rank sees both GPUs");
  if (!no_kernels.empty())
    judgement.evidence.push_back("not copied by kernels, and timed without a gate: " + no_kernels);
  if (do_launches_wait) judgement.evidence.emplace_back(without_gate);
}

}  // namespace

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement;
  const std::size_t gpus = judge_nodes(view, judgement);
  judge_bad_copies(view, judgement.findings);
  Likes likes;
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* seen = view.measured(i);
    if (seen == nullptr) continue;
    judge_rank(view, view.ranks[i], *seen, judgement, likes);
  }
  judge_likes(view, likes, judgement.findings);
  judge_health(view, judgement.findings);
  if (gpus > 0 && is_well(judgement)) add_evidence(view, gpus, judgement);
  add_health_evidence(view, judgement);
  return judgement;
}

}  // namespace muster::gpu_copy
