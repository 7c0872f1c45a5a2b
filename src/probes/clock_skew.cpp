// How far the clocks of the nodes are apart. docs/methods/clock_skew.md
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "muster/probe.hpp"
#include "probes/clock_skew/exchange.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

using clock_skew::Offset;

constexpr ParamSpec clock_skew_params[] = {
    {"max_offset",
     ParamType::duration,
     "100ms",
     "Largest distance of a clock from the median of all clocks.",
     {},
     0,
     {}},
    {"round_trips", ParamType::integer, "50", "Round trips per node; the fastest counts.", {}, 1, 1e6},
};

constexpr MetricSpec clock_skew_metrics[] = {
    {"offset", "us", Better::neither, "Offset of the node's clock from rank 0's; positive: ahead.", false},
    {"uncertainty", "us", Better::lower, "Uncertainty of the offset: half of the fastest round trip.", true},
};

/// The first rank of every node, in rank order, on rank 0; empty on the others.
Result<std::vector<int>> first_ranks(RunContext& context) {
  context.recorder.step("gather");
  const std::byte is_first{static_cast<std::uint8_t>(context.place.local_rank == 0)};
  const auto all = context.comm.gather(std::span(&is_first, 1), 0);
  if (!all) return tl::unexpected(all.error());
  std::vector<int> firsts;
  for (std::size_t rank = 0; rank < all->size(); ++rank)
    if ((*all)[rank] == ByteVector{std::byte{1}}) firsts.push_back(static_cast<int>(rank));
  return firsts;
}

void note_skew(Observation& seen, const std::optional<Offset>& offset) {
  if (!offset) {
    seen.facts.push_back({"no_offset", "a clock ran backwards in every round trip"});
    return;
  }
  const double offset_us = offset->offset_ns / 1e3;
  const double uncertainty_us = offset->uncertainty_ns / 1e3;
  seen.readings.push_back({"offset", {}, summarize(std::span(&offset_us, 1))});
  seen.readings.push_back({"uncertainty", {}, summarize(std::span(&uncertainty_us, 1))});
}

Result<Observation> run_clock_skew(RunContext& context) {
  const int round_trips = static_cast<int>(context.params.integer("round_trips"));
  Observation seen;
  const auto firsts = first_ranks(context);
  if (!firsts) return tl::unexpected(firsts.error());
  for (const int other : *firsts) {
    if (other == 0) continue;
    const auto asked =
        clock_skew::ask_clock({context.comm, context.recorder, other, round_trips, realtime_nanoseconds});
    if (!asked) return tl::unexpected(asked.error());
  }
  std::optional<Offset> mine = Offset{};
  if (context.place.local_rank != 0) return seen;
  if (context.comm.rank() != 0) {
    auto answered = clock_skew::answer_clock({context.comm, context.recorder, 0, round_trips, realtime_nanoseconds});
    if (!answered) return tl::unexpected(answered.error());
    mine = *answered;
  }
  note_skew(seen, mine);
  return seen;
}

/// A node's clock, in microseconds.
struct NodeClock {
  std::string host;
  int rank = 0;
  std::optional<double> offset;
  double uncertainty = 0;
};

std::string say_time(double microseconds) {
  const double size = std::fabs(microseconds);
  if (size >= 1e6) return format_value(microseconds / 1e6, "s");
  if (size >= 1e3) return format_value(microseconds / 1e3, "ms");
  return format_value(microseconds, "us");
}

std::vector<NodeClock> clocks_of(const CaseView& view) {
  std::map<int, NodeClock> nodes;
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* seen = view.measured(i);
    if (seen == nullptr) continue;
    const RankPlace& place = view.ranks[i];
    NodeClock& node = nodes.try_emplace(place.node_index, NodeClock{place.host, place.rank, {}, 0}).first->second;
    for (const Reading& reading : seen->readings) {
      if (reading.summary.n == 0 || !std::isfinite(reading.summary.median)) continue;
      if (reading.metric == "offset") node.offset = reading.summary.median;
      if (reading.metric == "uncertainty") node.uncertainty = reading.summary.median;
    }
  }
  std::vector<NodeClock> list;
  for (auto& entry : nodes) list.push_back(std::move(entry.second));
  return list;
}

constexpr std::string_view remedy_sync =
    "synchronise the clock: see chronyc tracking (or timedatectl) on that node, and chronyc makestep once a source is "
    "reachable";

Finding about_skew(Verdict verdict, std::string reason, std::string_view remedy, const std::vector<NodeClock>& nodes) {
  Finding finding{verdict, std::move(reason), {}, std::string(remedy)};
  for (const NodeClock& node : nodes) finding.culprits.push_back({CulpritKind::node, node.host, node.host, node.rank});
  return finding;
}

/// nullopt: certainly within the limit.
std::optional<Finding> judge_distance(double away, double uncertainty, double most, const std::string& sentence,
                                      const std::vector<NodeClock>& nodes) {
  const std::string reported = fmt::format("{} (+-{}), limit {}", sentence, say_time(uncertainty), say_time(most));
  if (std::fabs(away) - uncertainty > most) return about_skew(Verdict::fail, reported, remedy_sync, nodes);
  if (std::fabs(away) + uncertainty > most)
    return about_skew(Verdict::unmeasured, reported + ": too uncertain",
                      "run again when the network is quiet, or with more round_trips", nodes);
  return std::nullopt;
}

/// Of two clocks the wrong one is unknown.
void judge_two(const std::vector<NodeClock>& clocks, double most, ProbeJudgement& judgement) {
  const double apart = *clocks[1].offset - *clocks[0].offset;
  const double uncertainty = clocks[0].uncertainty + clocks[1].uncertainty;
  const std::string sentence = fmt::format("clocks of {} and {} are {} apart", printable_line(clocks[0].host),
                                           printable_line(clocks[1].host), say_time(std::fabs(apart)));
  if (auto finding = judge_distance(apart, uncertainty, most, sentence, clocks))
    judgement.findings.push_back(std::move(*finding));
  else
    judgement.evidence.push_back(fmt::format("{} (+-{})", sentence, say_time(uncertainty)));
}

/// The median of all clocks. However wrong each offset may be within its uncertainty, the median of the true ones lies
/// between the medians of the lowest and of the highest that they can be.
struct Middle {
  double offset = 0;
  double uncertainty = 0;
};

Middle middle_of(const std::vector<NodeClock>& clocks) {
  std::vector<double> offsets;
  std::vector<double> lowest;
  std::vector<double> highest;
  for (const NodeClock& clock : clocks) {
    offsets.push_back(*clock.offset);
    lowest.push_back(*clock.offset - clock.uncertainty);
    highest.push_back(*clock.offset + clock.uncertainty);
  }
  const double middle = *median(offsets);
  return {middle, std::max(*median(highest) - middle, middle - *median(lowest))};
}

std::string hosts_of(const std::vector<NodeClock>& clocks) {
  std::vector<std::string> hosts;
  for (const NodeClock& clock : clocks) hosts.push_back(printable_line(clock.host));
  return human_list(hosts, 4);
}

/// As many clocks that agree on one time as on another: the median lies between them and is meaningless.
std::optional<Finding> judge_halves(std::vector<NodeClock> clocks, double most) {
  if (clocks.size() % 2 != 0) return std::nullopt;
  std::stable_sort(clocks.begin(), clocks.end(),
                   [](const NodeClock& a, const NodeClock& b) { return *a.offset < *b.offset; });
  const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  const std::vector<NodeClock> low(clocks.begin(), middle);
  const std::vector<NodeClock> high(middle, clocks.end());
  const auto spread = [](const std::vector<NodeClock>& half) { return *half.back().offset - *half.front().offset; };
  const double apart = *high.front().offset - *low.back().offset;
  const double uncertainty = high.front().uncertainty + low.back().uncertainty;
  if (apart - uncertainty <= most || spread(low) > most || spread(high) > most) return std::nullopt;
  return about_skew(
      Verdict::fail,
      fmt::format("clocks of {} are {} behind those of {} (+-{}), limit {}: half against half, it is unknown "
                  "which are right",
                  hosts_of(low), say_time(apart), hosts_of(high), say_time(uncertainty), say_time(most)),
      "compare both with a time source (chronyc tracking, date), and synchronise those that are wrong", clocks);
}

/// Rank 0's clock may be the wrong one: all are held against the median, which few wrong ones can't move far.
void judge_many(const std::vector<NodeClock>& clocks, double most, ProbeJudgement& judgement) {
  if (auto finding = judge_halves(clocks, most)) return judgement.findings.push_back(std::move(*finding));
  const Middle middle = middle_of(clocks);
  double farthest = 0;
  double most_uncertain = 0;
  for (const NodeClock& clock : clocks) {
    const double away = *clock.offset - middle.offset;
    const double uncertainty = clock.uncertainty + middle.uncertainty;
    const std::string sentence =
        fmt::format("clock of {} is {} {} the median of {} nodes", printable_line(clock.host),
                    say_time(std::fabs(away)), away < 0 ? "behind" : "ahead of", clocks.size());
    if (auto finding = judge_distance(away, uncertainty, most, sentence, {clock}))
      judgement.findings.push_back(std::move(*finding));
    farthest = std::max(farthest, std::fabs(away));
    most_uncertain = std::max(most_uncertain, uncertainty);
  }
  if (judgement.findings.empty())
    judgement.evidence.push_back(fmt::format("clocks of {} nodes are within {} (+-{}) of their median", clocks.size(),
                                             say_time(farthest), say_time(most_uncertain)));
}

ProbeJudgement judge_clock_skew(const CaseView& view) {
  ProbeJudgement judgement;
  std::vector<NodeClock> known;
  for (const NodeClock& clock : clocks_of(view)) {
    if (clock.offset)
      known.push_back(clock);
    else
      judgement.findings.push_back(
          about_skew(Verdict::unmeasured, fmt::format("clock of {} gave no offset", printable_line(clock.host)),
                     "look whether something steps the clocks of that node or of rank 0's", {clock}));
  }
  const double most = view.params.duration("max_offset").value * 1e6;
  if (known.size() > 2) judge_many(known, most, judgement);
  if (known.size() == 2) judge_two(known, most, judgement);
  const bool is_one_node =
      std::all_of(view.ranks.begin(), view.ranks.end(), [](const RankPlace& place) { return place.node_index == 0; });
  if (known.size() == 1 && is_one_node)
    judgement.findings.push_back(about_skew(
        Verdict::skip, "one node has one clock: there is nothing to compare it with", "run on two nodes or more", {}));
  return judgement;
}

}  // namespace

extern const ProbeSpec probe_clock_skew{
    .name = "clock_skew",
    .summary = "How far the clocks of the nodes are apart.",
    .params = clock_skew_params,
    .metrics = clock_skew_metrics,
    .run = run_clock_skew,
    .judge = judge_clock_skew,
};

}  // namespace muster
