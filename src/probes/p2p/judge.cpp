#include "probes/p2p/judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>

#include "base/number.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "measure/gpu_data.hpp"
#include "measure/gpu_health.hpp"
#include "measure/pair_settings.hpp"
#include "measure/reading_facts.hpp"
#include "measure/verified_share.hpp"
#include "model/fact_fields.hpp"
#include "probes/p2p/links.hpp"
#include "probes/p2p/name_parts.hpp"
#include "stats/headline.hpp"

namespace muster::p2p {

namespace {

std::string rank_on(const CaseView& view, int rank) {
  return fmt::format("rank {} on {}", rank, view.ranks[static_cast<std::size_t>(rank)].host);
}

/// A rank's report on one peer's data, and in how many readings it was wrong.
struct WrongData {
  std::string reported;
  int readings = 0;
};

Finding name_wrong(const CaseView& view, int rank, int peer, const WrongData& wrong) {
  Finding finding;
  const bool is_known = peer >= 0;
  const auto message = read_fact<WrongMessage>(wrong.reported);
  std::string what = ": " + wrong.reported;
  if (is_known && message && !message->words.empty())
    what = fmt::format(" ({}, {}): {}", message->kind, message->size, message->words);
  finding.reason = fmt::format("{} received wrong data{}{}", rank_on(view, rank),
                               is_known ? " from " + rank_on(view, peer) : std::string(), printable_line(what));
  if (wrong.readings > 1) finding.reason += fmt::format("; {} readings were wrong", wrong.readings);
  const auto add_rank = [&](int one) {
    finding.culprits.push_back(rank_culprit(one, view.ranks[static_cast<std::size_t>(one)].host));
  };
  if (is_known) {
    finding.culprits.push_back({CulpritKind::link, fmt::format("rank {} -> rank {}", peer, rank), "", -1});
    add_rank(peer);
  }
  add_rank(rank);
  finding.remedy =
      "take both nodes out of service until it is known where data changes: memory errors of both nodes "
      "(dmesg, rasdaemon), then the network between them";
  return finding;
}

/// One finding for each receiver and sender; a fact that can't be read is reported as it is.
void find_wrong(const CaseView& view, ProbeJudgement& judgement) {
  std::map<std::pair<int, int>, WrongData> all;
  for (std::size_t rank = 0; rank < view.observed.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    if (seen == nullptr) continue;
    for (const Fact& fact : seen->facts) {
      if (fact.key != "corrupt") continue;
      int peer = leading_number<int>(fact.value).value_or(-1);
      if (peer < 0 || static_cast<std::size_t>(peer) >= view.ranks.size()) peer = -1;
      WrongData& wrong = all[{static_cast<int>(rank), peer}];
      if (wrong.readings++ == 0) wrong.reported = fact.value;
    }
  }
  for (const auto& [who, wrong] : all) judgement.findings.push_back(name_wrong(view, who.first, who.second, wrong));
}

/// Bandwidth readings of one size, as links; those that had no clean samples are left out.
std::map<std::string, std::vector<RankLink>> links_by_size(const CaseView& view) {
  static const std::map<std::string_view, LinkClass> classes{{"cache", LinkClass::cache},
                                                             {"numa", LinkClass::numa},
                                                             {"node", LinkClass::node},
                                                             {"network", LinkClass::network}};
  std::map<std::string, std::vector<RankLink>> links;
  std::map<std::tuple<int, int, std::string, bool>, int> meetings;
  for (std::size_t rank = 0; rank < view.observed.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    if (seen == nullptr) continue;
    for (const Reading& reading : seen->readings) {
      const std::string* size = find_label(reading.where, "size");
      const std::string* link = find_label(reading.where, "link");
      if (link == nullptr) link = find_label(reading.where, "cpu_link");
      if (reading.metric != "bandwidth" || size == nullptr || link == nullptr) continue;
      const auto known = classes.find(*link);
      if (known == classes.end() || reading.peer < 0 || static_cast<std::size_t>(reading.peer) >= view.ranks.size())
        continue;
      const int from = static_cast<int>(rank);
      const bool is_alone = find_label(reading.where, "alone") != nullptr;
      // Which meeting of the two it was leads to the round; alone, it is one.
      const int meeting = meetings[{from, reading.peer, *size, is_alone}]++;
      if (reading.summary.n > 0)
        links[*size].push_back(
            {from, reading.peer, meeting, reading.summary.median, known->second, is_alone, spread_of(reading.summary)});
    }
  }
  return links;
}

/// Rounds as the schedule has them, so that what is slow only at times is seen as such.
void number_rounds(std::vector<RankLink>& links, const Schedule& schedule) {
  std::map<std::pair<int, int>, std::vector<int>> rounds;
  for (int round = 0; round < schedule.rounds(); ++round) {
    const auto partners = schedule.round(round);
    for (std::size_t rank = 0; rank < partners.size(); ++rank)
      if (partners[rank] >= 0) rounds[{static_cast<int>(rank), partners[rank]}].push_back(round);
  }
  for (RankLink& link : links) {
    const auto& of_pair = rounds[{link.from, link.to}];
    if (!link.is_alone && link.round < static_cast<int>(of_pair.size()))
      link.round = of_pair[static_cast<std::size_t>(link.round)];
  }
}

std::vector<int> nodes_of(const CaseView& view) {
  std::vector<int> node_of;
  for (const RankPlace& place : view.ranks) node_of.push_back(place.node_index);
  return node_of;
}

/// "None slow" is worth what could have been seen. Few readings hide a little even where all is quiet; noise that
/// hides far more than that hides slow parts.
void say_none_slow(const Decoded& decoded, const std::string& size, const Params& params, ProbeJudgement& judgement) {
  const Culprits& culprits = decoded.culprits;
  std::size_t compared = 0;
  for (const ClassLevel& level : culprits.levels)
    if (level.readings >= 5) compared += static_cast<std::size_t>(level.readings);
  // No unit was compared with two others, so the evidence does not suffice.
  if (compared == 0 || !std::isfinite(culprits.seen_from)) return;
  const std::string what =
      fmt::format("{} readings of {} {} nodes", compared, size, decoded.is_between_nodes ? "between" : "within");
  if (is_limit_useful(culprits, params.real("least_slowdown"))) {
    judgement.evidence.push_back(fmt::format("{} compared, no {} slow by {:.0f} % or more", what,
                                             decoded.is_between_nodes ? "node" : "rank",
                                             std::ceil(100 * culprits.seen_from)));
    return;
  }
  const std::string unseen = culprits.seen_from < 1 ? fmt::format("a slowdown below {:.0f} % may have been missed",
                                                                  std::ceil(100 * culprits.seen_from))
                                                    : "no slowdown of one alone could have been seen";
  judgement.findings.push_back({Verdict::unmeasured,
                                fmt::format("too noisy to identify slow ones: in {} {}", what, unseen),
                                {},
                                "run it while the nodes and the network between them are otherwise idle, with longer "
                                "readings (-S p2p.cap=1s) or "
                                "larger messages; the matrix in the report shows what differs"});
}

/// Pairs of one class that have several speeds, as in racks: named, as each speed is judged for itself.
void say_kinds(const Decoded& decoded, const std::string& size, ProbeJudgement& judgement) {
  std::map<int, std::vector<const ClassLevel*>> kinds;
  for (const ClassLevel& level : decoded.culprits.levels) kinds[level.class_id].push_back(&level);
  for (auto& [class_id, levels] : kinds) {
    if (levels.size() < 2) continue;
    std::sort(levels.begin(), levels.end(),
              [](const ClassLevel* a, const ClassLevel* b) { return a->expected > b->expected; });
    std::vector<std::string> reported;
    for (const ClassLevel* level : levels)
      reported.push_back(fmt::format("{} readings around {}", level->readings, format_value(level->expected, "GB/s")));
    judgement.evidence.push_back(fmt::format("{} {} nodes: {} kinds of pairs, as of racks: {}", size,
                                             decoded.is_between_nodes ? "between" : "within", levels.size(),
                                             human_list(reported)));
  }
}

/// Where many pairs were slow while others communicated, what they reach alone decides.
void say_contention(const Decoded& decoded, const std::string& size, ProbeJudgement& judgement) {
  const Contention& contention = decoded.culprits.contention;
  if (contention.slow == 0) return;
  std::string text = fmt::format("{} {} nodes: {} of {} pairs were slow while other pairs communicated", size,
                                 decoded.is_between_nodes ? "between" : "within", contention.slow, contention.pairs);
  if (contention.repeated > 0)
    text += fmt::format(", {} of {} measured alone were faster then", contention.cleared, contention.repeated);
  judgement.evidence.push_back(std::move(text));
}

/// What is slow, from the largest size: smaller messages cost more than the link does.
void find_slow(const CaseView& view, ProbeJudgement& judgement) {
  auto by_size = links_by_size(view);
  const std::vector<int> node_of = nodes_of(view);
  const std::string size = muster::to_string(ParamScalar(Bytes{largest_size(view.params)}));
  auto& links = by_size[size];
  number_rounds(links, schedule_of(view.params, node_of, false));
  const auto all = decode_links(links, node_of, decode_settings(view.params));
  const SlowRails rails = find_slow_rails(view, links, all, size);
  for (const SuspectPart& part : rails.parts) judgement.findings.push_back(name_rail(view, part, rails, size));
  for (const Decoded& decoded : all) {
    // Where a slow NIC is, its node is not free of slow parts.
    const std::size_t before = judgement.findings.size() - (decoded.is_between_nodes ? rails.parts.size() : 0);
    for (const SuspectPart& group : decoded.culprits.groups)
      judgement.findings.push_back(name_part(view, group, decoded, size));
    for (const SuspectPart& part : decoded.culprits.parts) {
      // A single pair that was not measured again may be chance.
      const bool is_pair = part.kind == PartKind::link || part.kind == PartKind::either;
      if (is_pair && !part.is_repeated) continue;
      if (decoded.is_between_nodes && rails.explain(part)) continue;
      judgement.findings.push_back(name_part(view, part, decoded, size));
    }
    if (judgement.findings.size() == before) say_none_slow(decoded, size, view.params, judgement);
    say_kinds(decoded, size, judgement);
    say_contention(decoded, size, judgement);
    if (const double loss = decoded.culprits.direction_loss; loss != 0)
      judgement.evidence.push_back(fmt::format(
          "{} {} nodes: sending to a higher number is {:.0f} % {} than to a lower one", size,
          decoded.is_between_nodes ? "between" : "within", 100 * std::fabs(loss), loss > 0 ? "slower" : "faster"));
  }
  if (!rails.evidence.empty()) judgement.evidence.push_back(rails.evidence);
}

/// What ranks looked at, and what they timed.
struct Coverage {
  int active = 0;
  int readings = 0;
  int disturbed = 0;
  int timed = 0;         ///< readings whose time counts
  int precise = 0;       ///< of them, those whose median is known as well as was asked
  double gigabytes = 0;  ///< compared
  double arrived = 0;    ///< GB; 0: unknown
  std::string rounds;    ///< `N of M`, when the budget was up before all of them
};

/// Of the schedule, as many rounds as were done.
int rounds_done(const CaseView& view, const Schedule& schedule) {
  for (std::size_t rank = 0; rank < view.observed.size(); ++rank)
    if (const Observation* seen = view.measured(rank))
      if (seen->fact("rounds") != nullptr)
        return std::clamp(first_fact<CountOf>(*seen, "rounds").value_or(CountOf()).count, 0, schedule.rounds());
  return schedule.rounds();
}

Coverage coverage_of(const CaseView& view) {
  Coverage coverage;
  for (std::size_t rank = 0; rank < view.observed.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    const auto checked = seen == nullptr ? std::nullopt : first_fact<CheckedData>(*seen, "checked");
    if (!checked || checked->readings <= 0) continue;
    ++coverage.active;
    coverage.readings += checked->readings;
    coverage.gigabytes += checked->compared;
    coverage.arrived += checked->received;
    if (const std::string* rounds = seen->fact("rounds")) coverage.rounds = printable_line(*rounds, 40);
    if (const auto precise = first_fact<CountOf>(*seen, "precise")) {
      coverage.precise += precise->count;
      coverage.timed += precise->all;
    }
    if (const std::string* disturbed = seen->fact("disturbed"))
      coverage.disturbed += leading_number<int>(*disturbed).value_or(0);
  }
  return coverage;
}

/// By rank: did it have a partner in any round?
std::vector<bool> partnered(const Schedule& schedule, int rounds) {
  const bool is_whole = !schedule.is_random() && rounds == schedule.rounds();
  std::vector<bool> had(static_cast<std::size_t>(schedule.ranks()), is_whole);
  for (int round = 0; !is_whole && round < rounds; ++round) {
    const auto partners = schedule.round(round);
    for (std::size_t rank = 0; rank < partners.size(); ++rank) had[rank] = had[rank] || partners[rank] >= 0;
  }
  return had;
}

/// Every rank that had a partner must have looked at what came. (Those that stayed silent are the frame's business.)
void demand_coverage(const CaseView& view, ProbeJudgement& judgement) {
  const Schedule schedule = schedule_of(view.params, nodes_of(view), !view.timing_doubt.empty());
  const auto had_partner = partnered(schedule, rounds_done(view, schedule));
  std::vector<std::string> idle;
  for (std::size_t rank = 0; rank < view.observed.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    if (seen == nullptr || !had_partner[rank]) continue;
    if (first_fact<CheckedData>(*seen, "checked").value_or(CheckedData()).readings <= 0)
      idle.push_back(std::to_string(rank));
  }
  if (idle.empty()) return;
  judgement.findings.push_back(
      {Verdict::unmeasured,
       fmt::format("{} {} did not look at what {} received", idle.size() == 1 ? "rank" : "ranks", human_list(idle),
                   idle.size() == 1 ? "it" : "they"),
       {},
       "report this: the observation is incomplete"});
}

ProbeJudgement judge_data(const CaseView& view) {
  ProbeJudgement judgement;
  if (view.ranks.size() == 1) {
    judgement.findings.push_back({Verdict::skip,
                                  "a single rank has no partner to exchange messages with",
                                  {},
                                  "request two ranks or more: --ranks-per-node 2, or more --nodes"});
    return judgement;
  }
  if (judge_gpu_data(view, view.params.text("sockets") == "allowed", judgement.findings)) return judgement;
  find_wrong(view, judgement);
  set_subject(judgement.findings, 0, Subject::data);
  demand_coverage(view, judgement);
  for (Finding& finding : find_fallbacks(view)) {
    finding.subject = Subject::transport;
    judgement.findings.push_back(std::move(finding));
  }
  const std::size_t before = judgement.findings.size();
  if (view.timing_doubt.empty()) find_slow(view, judgement);
  if (view.timing_doubt.empty()) find_below_links(view, "bandwidth", judgement.findings);
  set_subject(judgement.findings, before, Subject::links);
  const Coverage coverage = coverage_of(view);
  // Correct data is reported also where timing is meaningless.
  const bool is_sound =
      before == 0 && std::all_of(judgement.findings.begin(), judgement.findings.end(),
                                 [](const Finding& one) { return one.verdict == Verdict::unmeasured; });
  if (!is_sound || coverage.active == 0) {
    judgement.evidence.clear();
    return judgement;
  }
  std::string sentence = fmt::format("{} ranks compared {:.3g} GB from {} readings, bit by bit: all right",
                                     coverage.active, coverage.gigabytes, coverage.readings);
  // A fault that changes few messages is found by the share of them that is compared.
  if (coverage.arrived > coverage.gigabytes)
    sentence += fmt::format("; {:.3g} % of what they received", 100 * coverage.gigabytes / coverage.arrived);
  if (!coverage.rounds.empty()) sentence += fmt::format("; {} rounds, then the budget was up", coverage.rounds);
  if (coverage.timed > 0 && view.timing_doubt.empty())
    sentence += fmt::format("; {} of {} timings known to {:.3g} %", coverage.precise, coverage.timed,
                            100 * view.params.real("interval"));
  if (coverage.disturbed > 0 && view.timing_doubt.empty())
    sentence += fmt::format("; {} had no clean timing, others used the CPUs", coverage.disturbed);
  judgement.evidence.insert(judgement.evidence.begin(), std::move(sentence));
  if (auto share = verified_evidence(view.observed, {"message", "messages"}); !share.empty())
    judgement.evidence.insert(judgement.evidence.begin() + 1, std::move(share));
  if (auto gpus = gpu_data_evidence(view); !gpus.empty()) judgement.evidence.push_back(std::move(gpus));
  if (view.timing_doubt.empty()) {
    const auto latency = headline(view, {"latency", "us", "size", false, "link"});
    const auto bandwidth = headline(view, {"bandwidth", "GB/s", "size", true, "link"});
    judgement.evidence.insert(judgement.evidence.begin(), {bandwidth, latency});
    std::erase(judgement.evidence, std::string());
  }
  return judgement;
}

}  // namespace

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement = judge_data(view);
  gpu_copy::judge_health(view, judgement.findings);
  return judgement;
}

}  // namespace muster::p2p
