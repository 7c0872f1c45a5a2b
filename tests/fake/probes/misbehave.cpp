/// A probe that goes wrong on purpose, in each way that containment must survive.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

#include "muster/probe.hpp"

namespace muster {

namespace {

constexpr ParamSpec params[] = {
    {"how", ParamType::text, "none", "What to do wrong.",
     "none|stop|kill|abort|segv|exit|silent_exit|fail_prepare|fail_run|throw|hang|slow|spin|orphan|bad_result|big|lie"},
    {"rank", ParamType::integer, "-1", "The rank that does it; -1: all of them.", {}, -1},
    {"node", ParamType::text, "", "The node on which it does; empty: on all of them."},
    {"at", ParamType::text, "run", "In which step.", "prepare|run"},
    {"after", ParamType::integer, "3", "Barriers of `run` that go well first.", {}, 0, 1e6},
    {"seconds", ParamType::duration, "1s", "How long `slow` takes."},
    {"size", ParamType::bytes, "1MiB", "How much `big` prints."},
    {"marker", ParamType::text, "", "A file to make just before; empty: none."},
    {"number", ParamType::integer, "0", "Tells otherwise equal cases apart."},
};

constexpr MetricSpec metrics[] = {
    {"barriers", "1", Better::neither, "Barriers that went well.", false},
};

struct InjectedFaults {
  std::string how;
  int rank;
  std::string node;
  std::string at;
};

InjectedFaults orders_of(const Params& given) {
  return {given.text("how"), static_cast<int>(given.integer("rank")), given.text("node"), given.text("at")};
}

bool is_mine(const InjectedFaults& orders, const RankPlace& place) {
  return (orders.rank < 0 || orders.rank == place.rank) && (orders.node.empty() || orders.node == place.host);
}

[[noreturn]] void wait_for_ever() {
  for (;;) ::pause();
}

/// TERM does not reach it: only KILL ends this.
[[noreturn]] void spin() {
  std::signal(SIGTERM, SIG_IGN);
  for (std::atomic<unsigned long> turns{0};;) turns.fetch_add(1, std::memory_order_relaxed);
}

/// A child in a session of its own, which outlives this rank unless somebody ends it.
void leave_orphan(Recorder& recorder) {
  const int child = ::fork();
  if (child == 0) {
    ::setsid();
    std::signal(SIGTERM, SIG_IGN);
    wait_for_ever();
  }
  if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  recorder.child_group(child);
}

/// Ways that work in both steps. Returns only for those that let the rank go on.
void misbehave(const InjectedFaults& orders, const Params& given, Recorder& recorder) {
  if (const auto& marker = given.text("marker"); !marker.empty())
    ::close(::open(marker.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  const auto& how = orders.how;
  if (how == "stop") ::raise(SIGSTOP);
  if (how == "kill") ::raise(SIGKILL);
  if (how == "abort") std::abort();
  if (how == "segv") ::raise(SIGSEGV);
  if (how == "exit") std::_Exit(3);
  if (how == "silent_exit") std::_Exit(0);
  if (how == "throw") throw std::runtime_error("thrown on purpose");
  if (how == "hang") wait_for_ever();
  if (how == "slow") std::this_thread::sleep_for(std::chrono::duration<double>(given.duration("seconds").value));
  if (how == "spin") spin();
  if (how == "orphan") {
    leave_orphan(recorder);
    wait_for_ever();
  }
}

Result<std::unique_ptr<ProbeState>> prepare(const PrepareContext& context) {
  const auto orders = orders_of(context.params);
  if (!is_mine(orders, context.place)) return nullptr;
  if (orders.how == "fail_prepare") return fail(ErrorKind::system, "misbehave", "can't prepare, on purpose");
  context.recorder.step("work");
  if (orders.at == "prepare") misbehave(orders, context.params, context.recorder);
  return nullptr;
}

/// What an honest rank says, made wrong.
void falsify(const InjectedFaults& orders, const Params& given, const RankPlace& place, Observation& seen) {
  if (orders.how == "lie") seen.rank = (place.rank + 1) % place.world_size;
  if (orders.how == "big") seen.output.assign(given.bytes("size").count, 'x');
  if (orders.how != "bad_result") return;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  seen.facts.clear();
  seen.facts.push_back({"claim\x1b[2J", "\xff\xfe </td><script>alert(1)</script> \x07"});
  seen.readings.push_back({"no_such_metric", {}, {1, nan, nan, nan, nan, nan}, -1, "GB/s"});
  seen.readings.push_back({"barriers", {{"", ""}}, {-1, 5, nan, -1, 0, -7}, place.world_size + 7, ""});
  seen.output = "\x1b]0;owned\x07 \x01\x02 \xc3\x28";
}

Result<Observation> run(RunContext& context) {
  const auto orders = orders_of(context.params);
  const bool mine = is_mine(orders, context.place);
  const auto wanted = context.params.integer("after");
  context.recorder.step("barrier");
  for (std::int64_t i = 0; i < wanted; ++i) {
    context.recorder.iteration(static_cast<std::uint64_t>(i));
    if (auto met = context.comm.barrier(); !met) return tl::unexpected(met.error());
  }
  // As a real one would: some work of its own, then a step with the others, who wait for it there.
  context.recorder.step("work");
  if (mine && orders.at == "run") misbehave(orders, context.params, context.recorder);
  context.recorder.step("last barrier");
  if (auto met = context.comm.barrier(); !met) return tl::unexpected(met.error());
  if (mine && orders.how == "fail_run") return fail(ErrorKind::system, "misbehave", "can't run, on purpose");

  Observation seen;
  seen.rank = context.place.rank;
  const auto met = static_cast<double>(wanted + 1);
  seen.readings.push_back({"barriers", {}, {1, met, met, met, met, 0}, -1, ""});
  seen.facts.push_back({"claim", "rank " + std::to_string(context.place.rank) + " was here"});
  if (mine) falsify(orders, context.params, context.place, seen);
  return seen;
}

/// Evidence for every rank that makes its own claim; a rank that does not leaves the case without a pass.
ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement;
  for (std::size_t rank = 0; rank < view.observed.size(); ++rank) {
    const auto* seen = view.observed[rank];
    if (seen == nullptr || seen->state != ObservationState::measured) continue;
    const auto* claim = seen->fact("claim");
    const auto right = "rank " + std::to_string(rank) + " was here";
    if (claim != nullptr && *claim == right) {
      judgement.evidence.push_back(right);
      continue;
    }
    const std::string& node = view.ranks[rank].host;
    judgement.findings.push_back({Verdict::fail,
                                  "rank " + std::to_string(rank) + " on " + node + " makes a wrong claim",
                                  {{CulpritKind::rank, "rank " + std::to_string(rank), node, static_cast<int>(rank)}},
                                  "do not ask it to misbehave"});
  }
  return judgement;
}

}  // namespace

extern const ProbeSpec probe_misbehave{
    .name = "misbehave",
    .summary = "Goes wrong in a way of your choice.",
    .params = params,
    .metrics = metrics,
    .prepare = prepare,
    .run = run,
    .judge = judge,
};

}  // namespace muster
