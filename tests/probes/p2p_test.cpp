// The whole probe over threads: it measures, looks at every byte, and tells of a bit that changed on its way.
#include <atomic>
#include <cstdio>
#include <gtest/gtest.h>
#include <set>

#include "measure/pair_measure.hpp"
#include "measure/pair_settings.hpp"
#include "probes/judging.hpp"
#include "run/thread_comm.hpp"

namespace muster {
namespace {

const ProbeSpec& p2p_probe() {
  return *find_probe("p2p");
}

using Settings = std::vector<std::pair<std::string, std::string>>;

Settings small(Settings more = {}) {
  Settings settings{{"sizes", "1001B,4KiB"}, {"latency_sizes", "24B"}, {"cap", "3ms"},
                    {"memory", "16KiB"},     {"window", "3"},          {"sockets", "allowed"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

enum class Through { ping_pong, stream };

/// Which bit changes: of what `rank` receives through one kind of call, `byte` of the first message of that size.
struct Flip {
  int rank = -1;
  Through through = Through::stream;
  std::size_t size = 0;
  std::size_t byte = 0;
  int bit = 0;
  int every = 0;         ///< 0: the first message of each call; else so many messages after each other
  bool is_lost = false;  ///< instead of the flip: the buffer keeps what it had
};

class FlippingComm final : public Comm {
 public:
  FlippingComm(ThreadComm& comm, const Flip& flip) : comm_(comm), flip_(flip) {}

  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }
  std::string library() const override { return comm_.library(); }
  Result<void> barrier() override { return comm_.barrier(); }
  Result<ByteVector> broadcast(std::span<const std::byte> bytes, int root) override {
    return comm_.broadcast(bytes, root);
  }
  Result<std::vector<ByteVector>> gather(std::span<const std::byte> bytes, int root) override {
    return comm_.gather(bytes, root);
  }
  Result<std::vector<ByteVector>> all_gather(std::span<const std::byte> bytes) override {
    return comm_.all_gather(bytes);
  }
  Result<bool> all_true(bool mine) override { return comm_.all_true(mine); }
  Result<void> all_reduce_sum(SumType type, std::span<const std::byte> in, std::span<std::byte> out) override {
    return comm_.all_reduce_sum(type, in, out);
  }
  Result<std::unique_ptr<PendingSum>> start_sum(SumType type, std::span<const std::byte> in,
                                                std::span<std::byte> out) override {
    return comm_.start_sum(type, in, out);
  }
  Result<void> send(std::span<const std::byte> bytes, int to, int tag) override { return comm_.send(bytes, to, tag); }
  Result<void> receive(std::span<std::byte> bytes, int from, int tag) override {
    return comm_.receive(bytes, from, tag);
  }
  Result<void> ping_pong(const PairEnd& end, std::uint64_t start, int count) override {
    auto done = comm_.ping_pong(end, start, count);
    flip(Through::ping_pong, end.in, start);
    return done;
  }
  Result<void> stream(const PairEnd& end, const Stream& stream) override {
    const bool receives = end.role == PairRole::second || stream.both_ways;
    const ByteVector before(end.in.memory.begin(), end.in.memory.end());
    auto done = comm_.stream(end, stream);
    for (int i = 0; receives && i < stream.window; ++i)
      if (is_wrong(i)) spoil(Through::stream, end.in, stream.start + static_cast<std::uint64_t>(i), before);
    return done;
  }
  Result<std::unique_ptr<Comm>> split(int group) override { return comm_.split(group); }

 private:
  /// Of a call, message `i`.
  bool is_wrong(int i) { return flip_.every == 0 ? i == 0 : ++messages_ % flip_.every == 0; }
  void spoil(Through through, const Slots& in, std::uint64_t index, const ByteVector& before) {
    if (!flip_.is_lost) return flip(through, in, index);
    if (flip_.rank != rank() || flip_.through != through || in.size != flip_.size) return;
    const auto slot = in.at(index);
    std::copy_n(before.begin() + (slot.data() - in.memory.data()), slot.size(), slot.begin());
  }
  /// Every time: a message that comes later into the same slot would mend it.
  void flip(Through through, const Slots& in, std::uint64_t start) {
    if (flip_.rank != rank() || flip_.through != through || in.size != flip_.size) return;
    in.at(start)[flip_.byte] ^= std::byte{static_cast<std::uint8_t>(1U << flip_.bit)};
  }
  ThreadComm& comm_;
  Flip flip_;
  int messages_ = 0;
};

struct Outcome {
  std::vector<Observation> seen;
  ProbeJudgement judgement;
};

/// Runs the probe on `ranks` threads, two to a made-up node.
Outcome run_case(int ranks, const Settings& settings, const Flip& flip = {}, std::string_view doubt = {}) {
  MadeCase made(p2p_probe(), settings);
  std::vector<Observation> seen(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](ThreadComm& threads) {
    FlippingComm comm(threads, flip);
    SilentRecorder recorder;
    RankPlace place;
    place.rank = comm.rank();
    place.world_size = ranks;
    place.node_index = comm.rank() / 2;
    auto prepared = p2p_probe().prepare({made.params(), place, recorder});
    ASSERT_TRUE(prepared) << prepared.error().what;
    RunContext context{made.params(), place, recorder, comm, prepared->get(), doubt};
    auto observed = p2p_probe().run(context);
    ASSERT_TRUE(observed) << observed.error().what;
    seen[static_cast<std::size_t>(comm.rank())] = std::move(*observed);
  });
  for (int rank = 0; rank < ranks; ++rank)
    made.rank("nid00" + std::to_string(rank / 2 + 1), seen[static_cast<std::size_t>(rank)]);
  // Threads share the cores.
  return {std::move(seen), made.doubt("threads").judge()};
}

TEST(P2p, EveryPairIsMeasuredBothWaysAndLookedAt) {
  const Outcome outcome = run_case(4, small());
  ASSERT_TRUE(outcome.judgement.findings.empty()) << outcome.judgement.findings[0].reason;
  std::set<std::tuple<std::string, std::string, int, int>> readings;
  for (int rank = 0; rank < 4; ++rank) {
    const Observation& seen = outcome.seen[static_cast<std::size_t>(rank)];
    for (const Reading& reading : seen.readings) {
      // Other programs may have spoilt all samples of a reading, which is told.
      if (reading.summary.n == 0)
        EXPECT_NE(seen.fact("disturbed"), nullptr);
      else
        EXPECT_GT(reading.summary.median, 0);
      readings.insert({reading.metric, reading.where.back().second, rank, reading.peer});
    }
  }
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b) {
      if (a == b) continue;
      EXPECT_EQ(readings.count({"bandwidth", "1001B", a, b}), 1u) << a << " to " << b;
      EXPECT_EQ(readings.count({"bandwidth", "4KiB", a, b}), 1u) << a << " to " << b;
      // The one that leads tells.
      EXPECT_EQ(readings.count({"latency", "24B", a, b}), a < b ? 1u : 0u);
      EXPECT_EQ(readings.count({"bidirectional", "4KiB", a, b}), a < b ? 1u : 0u);
    }
  ASSERT_EQ(outcome.judgement.evidence.size(), 2u);
  EXPECT_EQ(outcome.judgement.evidence[0].rfind("4 ranks compared ", 0), 0u) << outcome.judgement.evidence[0];
  EXPECT_EQ(outcome.judgement.evidence[1].rfind("messages compared whole: ", 0), 0u) << outcome.judgement.evidence[1];
}

TEST(P2p, LinksCarryTheirClass) {
  const Outcome outcome = run_case(4, small());
  for (int rank = 0; rank < 4; ++rank)
    for (const Reading& reading : outcome.seen[static_cast<std::size_t>(rank)].readings) {
      const auto& [key, value] = reading.where[reading.where.size() - 2];  // after "alone", where it is
      ASSERT_EQ(key, "link");
      EXPECT_EQ(value == "network", reading.peer / 2 != rank / 2) << rank << " to " << reading.peer;
    }
}

TEST(P2p, TwoAndThreeRanksAreEnough) {
  EXPECT_TRUE(run_case(2, small()).judgement.findings.empty());
  EXPECT_TRUE(run_case(3, small()).judgement.findings.empty());
}

TEST(P2p, RandomRoundsAndRings) {
  EXPECT_TRUE(run_case(4, small({{"rounds", "2"}})).judgement.findings.empty());
  EXPECT_TRUE(run_case(3, small({{"pairs", "ring"}})).judgement.findings.empty());
  EXPECT_TRUE(run_case(2, small({{"buffers", "reused"}})).judgement.findings.empty());
}

/// In the slot of the first message, whichever of its messages was the last in there.
void expect_flip(const Outcome& outcome, const std::string& start, const std::string& flipped) {
  ASSERT_GE(outcome.judgement.findings.size(), 1u) << "nothing was noticed";
  const Finding& finding = outcome.judgement.findings[0];
  EXPECT_EQ(finding.verdict, Verdict::fail);
  EXPECT_EQ(finding.reason.rfind(start, 0), 0u) << finding.reason;
  EXPECT_NE(finding.reason.find(flipped), std::string::npos) << finding.reason;
  EXPECT_TRUE(outcome.judgement.evidence.empty());
}

TEST(P2p, AFlippedBitOfAStreamIsNamed) {
  const Outcome outcome = run_case(2, small({{"buffers", "reused"}}), {1, Through::stream, 1001, 1000, 6});
  expect_flip(outcome, "rank 1 on nid001 received wrong data from rank 0 on nid001 (bandwidth, 1001B): ",
              "bit 6 of byte 1000 is flipped");
  ASSERT_EQ(outcome.judgement.findings[0].culprits.size(), 3u);
  EXPECT_EQ(outcome.judgement.findings[0].culprits[1].rank, 0);
  EXPECT_EQ(outcome.judgement.findings[0].culprits[2].rank, 1);
}

TEST(P2p, AFlippedBitOfRotatingBuffersIsNamed) {
  expect_flip(run_case(2, small(), {0, Through::stream, 4096, 17, 0}),
              "rank 0 on nid001 received wrong data from rank 1 on nid001 (b", "bit 0 of byte 17 is flipped");
}

TEST(P2p, AFlippedBitOfAPingPongIsNamed) {
  expect_flip(
      run_case(2, small(), {0, Through::ping_pong, 24, 23, 7}),
      "rank 0 on nid001 received wrong data from rank 1 on nid001 (latency, 24B): ", "bit 7 of byte 23 is flipped");
}

/// All messages use one buffer, and each is compared: what the last one leaves there shows a rare fault hardly ever.
Settings rare(const std::string& verify) {
  return small({{"buffers", "reused"}, {"sizes", "4KiB"}, {"verify", verify}});
}

TEST(P2p, ARareWrongMessageIsFound) {
  const Outcome outcome = run_case(2, rare("100"), {1, Through::stream, 4096, 4095, 6, 97});
  expect_flip(outcome, "rank 1 on nid001 received wrong data from rank 0 on nid001 (b",
              "bit 6 of byte 4095 is flipped");
  EXPECT_NE(outcome.judgement.findings[0].reason.find(" messages compared"), std::string::npos);
}

TEST(P2p, AMessageThatLeavesTheOneBeforeInItsPlaceIsFound) {
  const Outcome outcome = run_case(2, rare("100"), {1, Through::stream, 4096, 0, 0, 97, true});
  expect_flip(outcome, "rank 1 on nid001 received wrong data from rank 0 on nid001 (b",
              "the message before it is still in its place, in ");
}

TEST(P2p, TheShareOfMessagesComparedIsReported) {
  std::vector<std::uint64_t> shares;
  for (const char* verify : {"0", "100"}) {
    const Outcome outcome = run_case(2, rare(verify));
    ASSERT_TRUE(outcome.judgement.findings.empty()) << outcome.judgement.findings[0].reason;
    std::uint64_t compared = 0;
    std::uint64_t all = 0;
    for (const Fact& fact : outcome.seen[0].facts)
      if (fact.key == "verified") std::sscanf(fact.value.c_str(), "4KiB %lu of %lu", &compared, &all);
    EXPECT_GT(all, compared);
    shares.push_back(compared);
  }
  // The last one of each reading: of one of two readings one way, of one both ways, and on a busy machine of those that
  // are repeated.
  EXPECT_GE(shares[0], 2u);
  EXPECT_LE(shares[0], 12u);
  EXPECT_GT(shares[1], 5 * shares[0]);
}

TEST(P2p, OfFourRanksTheRightPairsAreNamed) {
  const Outcome outcome = run_case(4, small(), {2, Through::stream, 4096, 5, 1});
  EXPECT_EQ(outcome.judgement.findings.size(), 3u) << "from each of the others";
  for (const Finding& finding : outcome.judgement.findings)
    EXPECT_EQ(finding.reason.rfind("rank 2 on nid002 received wrong data from rank ", 0), 0u) << finding.reason;
}

TEST(P2p, OneRankRunsAndIsSkipped) {
  const Outcome outcome = run_case(1, small());
  ASSERT_EQ(outcome.judgement.findings.size(), 1u);
  EXPECT_EQ(outcome.judgement.findings[0].verdict, Verdict::skip);
}

// --- settings ---

TEST(P2pSettings, ReadingsOfAPair) {
  const auto tasks = p2p::tasks_of(MadeCase(p2p_probe()).params(), false);
  using p2p::Kind;
  constexpr std::size_t mib = 1u << 20;
  EXPECT_EQ(tasks, (std::vector<p2p::Task>{{Kind::latency, 8, 1 << 20, 50},
                                           {Kind::bandwidth, mib, 64, 64},
                                           {Kind::bidirectional, mib, 64, 64},
                                           {Kind::bandwidth, 16 * mib, 4, 4},
                                           {Kind::bidirectional, 16 * mib, 4, 4}}));
}

TEST(P2pSettings, AMessageLargerThanTheMemoryHasOneSlot) {
  const auto tasks = p2p::tasks_of(MadeCase(p2p_probe(), {{"sizes", "128MiB"}}).params(), false);
  EXPECT_EQ(tasks.back().slots, 1);
  EXPECT_EQ(tasks.back().window, 1);
}

TEST(P2pSettings, ReusedBuffersLeaveTheWindowAsItWasAskedFor) {
  const auto tasks = p2p::tasks_of(MadeCase(p2p_probe(), {{"buffers", "reused"}}).params(), false);
  EXPECT_EQ(tasks.back().slots, 1);
  EXPECT_EQ(tasks.back().window, 64);
}

TEST(P2p, WhereTimingMeansNothingDataIsLookedAtInAFewRounds) {
  const Outcome outcome = run_case(8, small(), {}, "8 ranks share 2 cores");
  ASSERT_TRUE(outcome.judgement.findings.empty()) << outcome.judgement.findings[0].reason;
  ASSERT_EQ(outcome.judgement.evidence.size(), 2u);
  EXPECT_EQ(outcome.judgement.evidence[0].rfind("8 ranks compared", 0), 0u) << outcome.judgement.evidence[0];
  EXPECT_EQ(outcome.judgement.evidence[0].find("others used the CPUs"), std::string::npos);
  for (const Observation& seen : outcome.seen)
    for (const Reading& reading : seen.readings) EXPECT_LE(reading.summary.n, 1);
}

TEST(P2p, ABudgetThatIsUpEndsTheRoundsAndIsTold) {
  Settings settings = small();
  settings.push_back({"budget", "10ms"});
  settings.push_back({"rounds", "100000"});
  const Outcome outcome = run_case(4, settings);
  ASSERT_TRUE(outcome.judgement.findings.empty()) << outcome.judgement.findings[0].reason;
  EXPECT_NE(outcome.judgement.evidence[0].find(" of 100000 rounds, then the budget was up"), std::string::npos)
      << outcome.judgement.evidence[0];
}

TEST(P2pSettings, WhereTimingMeansNothingBothWaysAreOneReading) {
  for (const p2p::Task& task : p2p::tasks_of(MadeCase(p2p_probe()).params(), true))
    EXPECT_NE(task.kind, p2p::Kind::bandwidth);
}

TEST(P2pSettings, WhereTimingMeansNothingAFewMessagesDo) {
  for (const p2p::Task& task : p2p::tasks_of(MadeCase(p2p_probe()).params(), true)) {
    EXPECT_LE(task.slots, 2);
    EXPECT_LE(task.window, 2);
  }
}

/// The default check has 90 s; a system of any size must stay far below, with what looking at the data costs.
TEST(P2pSettings, TheBudgetHoldsForAThousandNodes) {
  const MadeCase made(p2p_probe());
  std::vector<int> node_of;
  for (int rank = 0; rank < 64'000; ++rank) node_of.push_back(rank / 64);
  const auto budget = p2p::budget_of(made.params(), node_of, false);
  EXPECT_GE(budget.rounds, 12);
  EXPECT_LE(budget.rounds * (7 * 1.5 * budget.reading_s + 0.2055 + 0.2013), 20.0);
}

TEST(P2pWindow, ShrinksWhereOneMessageTakesLong) {
  EXPECT_EQ(p2p::fitting_window(64, 1e-6, 0.25), 64);
  EXPECT_EQ(p2p::fitting_window(64, 0.0001, 0.25), 64);
  EXPECT_EQ(p2p::fitting_window(64, 0.002, 0.25), 7);
  EXPECT_EQ(p2p::fitting_window(4, 10.0, 0.25), 1);
  EXPECT_EQ(p2p::fitting_window(4, 0.0, 0.25), 4);
}

TEST(P2pSpread, IsThatOfNormalSamples) {
  Summary summary;
  EXPECT_EQ(p2p::spread_of(summary), 0);
  summary = {10, 1, 2, 3, 3, 0.1};
  EXPECT_NEAR(p2p::spread_of(summary), 0.0741, 0.0001);
}

}  // namespace
}  // namespace muster
