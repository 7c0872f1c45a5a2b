// Ranks that live: who never started, who is behind, who does not finish.
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <string_view>

#include "base/text.hpp"
#include "run/failure_context.hpp"
#include "run/rank_progress.hpp"

namespace muster {

namespace {

// Ranks that made an entry this recently were at work when they were looked at.
constexpr double fresh_s = 1;

constexpr std::string_view remedy_longer =
    "give the check a longer timeout (--timeout) or less to do: fewer or smaller sizes, fewer rounds; if it used to be "
    "faster, look for load on the nodes";

// `ranks 4 and 5`, as far as it can be known which are missing.
std::string missing_words(const FailureContext& context) {
  std::set<int> started;
  for (const SeenRank& rank : context.ranks) started.insert(rank.record().rank);
  const auto expected = static_cast<std::size_t>(context.failure.ranks_expected);
  if (started.count(-1) != 0 || started.empty())
    return fmt::format("{} of {} never started", expected - context.ranks.size(), counted(expected, "rank"));
  std::vector<std::string> missing;
  for (int rank = 0; rank < context.failure.ranks_expected; ++rank)
    if (started.count(rank) == 0) missing.push_back(std::to_string(rank));
  return fmt::format("rank{} {} never started", missing.size() == 1 ? "" : "s", human_list(missing));
}

// Inside of a vendor's call for so long it hangs there, however recent its step.
bool is_in_a_call(const SeenRank& rank) {
  return !rank.record().call.empty() && rank.call_s >= fresh_s;
}

// An iteration may take longer than that: what counts is whether another should have been done by now.
bool is_at_work(const FailureContext& context, const SeenRank& rank) {
  if (is_in_a_call(rank)) return false;
  const auto iteration = static_cast<double>(rank.record().iteration);
  return rank.idle_s < fresh_s || (iteration >= 2 && rank.idle_s < 2 * context.failure.deadline_s / iteration);
}

// Since when none of them has moved.
double standstill_of(const SeenRanks& ranks) {
  double least = std::numeric_limits<double>::infinity();
  for (const SeenRank& rank : ranks) least = std::min(least, is_in_a_call(rank) ? rank.call_s : rank.idle_s);
  return least;
}

// It goes on by itself, and has come some way.
bool is_moving(const SeenRank& rank) {
  const FlightRecord& record = rank.record();
  const bool has_worked = record.phase == Phase::gathering ||
                          (record.phase == Phase::running && (record.iteration > 0 || record.steps > 1));
  return has_worked && record.error.empty() && rank.idle_s < 2 * fresh_s && !is_in_a_call(rank);
}

// `; rank 5 on nid003 is far behind`: of several in one step, who has done less than half of any other.
std::string straggler_words(const SeenRanks& who, const SeenRanks& living) {
  const FlightRecord& last = who.front().record();
  if (who.size() != 1 || living.size() < 3 || last.iteration == 0) return {};
  for (const SeenRank& rank : living)
    if (rank.record().rank != last.rank &&
        (rank.record().step != last.step || rank.record().iteration < 2 * last.iteration))
      return {};
  return fmt::format("; {} is far behind the others", rank_words(who.front()));
}

}  // namespace

Explained out_of_time(const FailureContext& context) {
  if (context.failure.cause != LaunchFailure::Cause::deadline || context.failure.stage != "case") return std::nullopt;
  const SeenRanks living = context.alive();
  const auto expected = static_cast<std::size_t>(std::max(context.failure.ranks_expected, 0));
  const SeenRanks who = outlying_ranks(living).who;
  if (who.empty() || living.size() + context.done != expected || !std::all_of(who.begin(), who.end(), is_moving))
    return std::nullopt;
  return Finding{
      Verdict::fail,
      fmt::format("not finished in time: {} still at work when the deadline of {} passed{}",
                  expected == 1       ? "the only rank was"
                  : context.done == 0 ? fmt::format("all {} ranks were", living.size())
                                      : fmt::format("{} {}", names(living), living.size() == 1 ? "was" : "were"),
                  seconds_words(context.failure.deadline_s), straggler_words(who, living)),
      {{CulpritKind::setting, "timeout", "", -1}},
      std::string(remedy_longer)};
}

Explained gave_up(const FailureContext& context) {
  const auto who = context.those([](const SeenRank& rank) { return rank.is_alive() && !rank.record().error.empty(); });
  // When all gave up, none of them keeps another.
  if (who.empty() || context.waiting(who) == 0) return std::nullopt;
  return Finding{Verdict::fail,
                 fmt::format("{} gave up: {}{}", names(who), who.front().record().error,
                             waiting_words(context.waiting(who), who.size())),
                 rank_culprits(who),
                 fmt::format("repair the cause that {} reports; the others wait in a step that {} never entered",
                             who.size() == 1 ? "it" : "the first of them", who.size() == 1 ? "it" : "they")};
}

Explained not_started(const FailureContext& context) {
  const auto expected = static_cast<std::size_t>(std::max(context.failure.ranks_expected, 0));
  if (context.failure.stage != "start-up" || context.ranks.size() >= expected) return std::nullopt;
  if (!context.failure.notice.sentence.empty()) return std::nullopt;  // the launcher knows better
  Finding finding;
  std::vector<std::string> empty;
  for (const NodeAutopsy& node : context.failure.nodes)
    if (node.answered && node.ranks.empty()) empty.push_back(node.node);
  finding.reason =
      context.ranks.empty() ? fmt::format("none of {} started", counted(expected, "rank")) : missing_words(context);
  if (context.failure.launcher_status >= 0)
    finding.reason += fmt::format("; the launcher ended with status {}", context.failure.launcher_status);
  if (context.ranks.empty() || empty.empty()) {
    finding.culprits.push_back({CulpritKind::launcher, "launcher", "", -1});
    finding.remedy = "run the launcher by hand with \"hostname\" as the program: it has to print every node";
  } else {
    finding.subject = Subject::node;
    finding.reason += ": no rank is on " + human_list(empty);
    for (const std::string& node : empty) finding.culprits.push_back(node_culprit(node));
    finding.remedy = fmt::format("check that the launcher reaches {} and that muster-rank is there", human_list(empty));
    const auto losses = empty.size() == 1 ? loss_words(losses_of(context.failure.nodes), empty.front()) : std::string();
    if (!losses.empty()) {
      finding.reason += fmt::format(", whose connections lose packets ({})", losses);
      finding.remedy = fmt::format("check cables, ports and switch of {}", empty.front());
    }
  }
  finding.reason += waiting_words(context.alive().size(), expected - context.ranks.size());
  return finding;
}

/// No rank came through MPI_Init, none of them is known to keep the others, and what they wait for is the launcher's.
Explained not_connected(const FailureContext& context) {
  const SeenRanks living = context.alive();
  const auto expected = static_cast<std::size_t>(std::max(context.failure.ranks_expected, 0));
  const auto is_starting = [](const SeenRank& rank) {
    return rank.record().phase == Phase::starting && rank.record().step.empty() && rank.record().call.empty();
  };
  if (context.failure.stage != "start-up" || living.empty() || living.size() != expected ||
      !std::all_of(living.begin(), living.end(), is_starting))
    return std::nullopt;
  return Finding{Verdict::error,
                 fmt::format("{} in MPI_Init since {}: no rank stands out",
                             living.size() == 1 ? "the only rank is" : fmt::format("all {} ranks are", living.size()),
                             seconds_words(standstill_of(living))),
                 {{CulpritKind::launcher, context.failure.launcher, "", -1}},
                 "see whether the launcher's own ports can be reached between the nodes, and by whom (ss --tcp "
                 "--processes), and which network MPI chose"};
}

Explained behind(const FailureContext& context) {
  const SeenRanks living = context.alive();
  const OutlyingRanks status = outlying_ranks(living);
  if (status.who.empty()) return std::nullopt;
  const SeenRanks& who = status.who;
  const std::string place = common_place(who);
  const std::string since = fmt::format("{}{} since {}", place, device_words(who), seconds_words(standstill_of(who)));
  const std::size_t waiting = context.waiting(who);
  if (status.how == OutlyingRanks::How::ahead)
    return Finding{Verdict::fail,
                   fmt::format("{} {} out of step:{}; {} {} further back{}", names(who), is_or_are(who), since,
                               counted(waiting, "rank"), waiting == 1 ? "is" : "are", common_place(status.others)),
                   rank_culprits(who), "a rank left a collective step before the others: look at its output"};
  std::string remedy = call_remedy(who);
  const bool are_in_calls = !remedy.empty();
  if (remedy.empty())
    remedy = fmt::format("look at what {} did on {} at that time: load, file system, device, network of the node",
                         who.size() == 1 ? "the rank" : "the ranks", nodes_of(who));
  // What keeps most ranks back need not be on their nodes, unless they are inside of a driver's call.
  const bool are_most = !are_in_calls && 2 * who.size() > living.size();
  return Finding{
      Verdict::fail,
      fmt::format("{} {} behind:{}{}", names(who), is_or_are(who), since, waiting_words(waiting, who.size())),
      are_most ? std::vector<Culprit>{} : rank_culprits(who), std::move(remedy)};
}

Explained unfinished(const FailureContext& context) {
  const SeenRanks living = context.alive();
  const auto expected = static_cast<std::size_t>(std::max(context.failure.ranks_expected, 0));
  if (context.failure.stage != "finish" || living.empty() || context.ranks.size() >= expected) return std::nullopt;
  // The others may have left it without one that hangs there.
  if (context.failure.has_left_finalize)
    return Finding{Verdict::fail,
                   fmt::format("{} of {} {} in MPI_Finalize, which others have left, as it did not return; which one "
                               "keeps the others there cannot be determined",
                               living.size(), counted(expected, "rank"), is_or_are(living)),
                   {},
                   "all cases had ended before; MPICH before 4.2 with UCX can hang there: use a later MPICH, or one "
                   "that was built for ofi"};
  return Finding{
      Verdict::fail,
      fmt::format("{} {} not finished:{}; {} ended normally", names(living), living.size() == 1 ? "has" : "have",
                  common_place(living), counted(expected - context.ranks.size(), "rank")),
      rank_culprits(living),
      fmt::format("all cases had ended before; see what keeps MPI_Finalize on {}: the MPI itself (another version or "
                  "transport of it), a library's clean-up, or the network of the node",
                  nodes_of(living))};
}

namespace {

/// No other rank to compare it with, and no other culprit.
Finding the_only_one(const FailureContext& context, const SeenRanks& who) {
  const SeenRank& rank = who.front();
  const std::string where =
      fmt::format("{}, the only rank{}, is{}{}", rank_words(rank), context.failure.ranks_expected == 1 ? "" : " left",
                  common_place(who), device_words(who));
  if (is_at_work(context, rank))
    return {Verdict::fail,
            fmt::format("{}: still at work when the deadline of {} passed", where,
                        seconds_words(context.failure.deadline_s)),
            {},
            std::string(remedy_longer)};
  std::string remedy = call_remedy(who);
  if (remedy.empty())
    remedy = fmt::format("look at what the rank did on {} at that time: load, file system, device", rank.node);
  return {Verdict::fail, fmt::format("{} since {}", where, seconds_words(standstill_of(who))), rank_culprits(who),
          std::move(remedy)};
}

/// Where all ranks are inside of a driver's call their nodes are at fault; in one of NCCL they may wait for each other.
std::vector<Culprit> nodes_of_a_driver(const SeenRanks& ranks) {
  constexpr std::size_t most = 8;
  std::vector<Culprit> nodes;
  for (const SeenRank& rank : ranks) {
    if (!is_in_a_call(rank) || rank.record().call.rfind("nccl", 0) == 0) return {};
    const auto is_it = [&](const Culprit& known) { return known.name == rank.node; };
    if (nodes.size() < most && std::none_of(nodes.begin(), nodes.end(), is_it))
      nodes.push_back(node_culprit(rank.node));
  }
  return nodes;
}

}  // namespace

Finding no_rank_stands_out(const FailureContext& context) {
  const SeenRanks living = context.alive();
  if (living.size() == 1) return the_only_one(context, living);
  const std::string subject = fmt::format("all {} ranks are", living.size());
  const double idle = standstill_of(living);
  std::string place = common_place(living);
  const std::string& step = living.front().record().step;
  if (!step.empty() && place == " in " + step) place = " in step " + step;
  if (place.empty()) place = " at different places";
  if (std::all_of(living.begin(), living.end(), [&](const SeenRank& rank) { return is_at_work(context, rank); }) ||
      idle < fresh_s)
    return {Verdict::fail,
            fmt::format("{} still at work{} when the deadline of {} passed: no rank stands out", subject, place,
                        seconds_words(context.failure.deadline_s)),
            {},
            std::string(remedy_longer)};
  const std::string remedy = call_remedy(living);
  return {Verdict::fail, fmt::format("{}{} since {}: no rank stands out", subject, place, seconds_words(idle)),
          nodes_of_a_driver(living),
          !remedy.empty() ? remedy
                          : "a message got lost between them: check the network and the transport that MPI chose, and "
                            "run the case on fewer nodes to find the pair"};
}

}  // namespace muster
