// The word on a case of p2p, from observations made by hand.
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <set>

#include "measure/schedule.hpp"
#include "probes/judging.hpp"

namespace muster {
namespace {

const ProbeSpec& p2p_probe() {
  return *find_probe("p2p");
}

struct LinkAt {
  int from = 0;
  int to = 0;
  bool is_within = false;  ///< one node
  bool is_alone = false;
};

/// A cluster whose ranks have met as the schedule says. `speed`: GB/s of a link in a round (0: no clean sample).
class Mesh {
 public:
  using Speed = std::function<double(const LinkAt&)>;

  Mesh(int nodes, int per_node, int rounds = 0) : rounds_(rounds) {
    for (int node = 0; node < nodes; ++node) node_of_.insert(node_of_.end(), static_cast<std::size_t>(per_node), node);
    seen_.resize(node_of_.size());
    for (Observation& seen : seen_)
      seen.facts = {{"checked", "6 readings, 0.25 GB of 0.25 GB"}, {"transport", "network mlx5_0/1 3 GB"}};
  }

  Mesh& measure(const Speed& speed) {
    const p2p::Schedule schedule(node_of_, p2p::Pairs::all, rounds_, 1);
    for (int round = 0; round < schedule.rounds(); ++round)
      for (int rank = 0; rank < schedule.ranks(); ++rank)
        if (const int peer = schedule.partner(rank, round); peer >= 0) add({rank, peer, is_within(rank, peer)}, speed);
    return *this;
  }
  /// Three readings of from -> to while nobody else was at it.
  Mesh& again(int from, int to, const Speed& speed) {
    for (int i = 0; i < 3; ++i) add({from, to, is_within(from, to), true}, speed);
    return *this;
  }

  Observation& of(int rank) { return seen_[static_cast<std::size_t>(rank)]; }
  void silence(int rank) { silent_ = rank; }

  [[nodiscard]] MadeCase made() const {
    MadeCase made(p2p_probe(), {{"rounds", std::to_string(rounds_)}, {"seed", "1"}});
    for (std::size_t rank = 0; rank < seen_.size(); ++rank) {
      const std::string host = "nid00" + std::to_string(node_of_[rank] + 1);
      if (static_cast<int>(rank) == silent_)
        made.rank(host, std::nullopt);
      else
        made.rank(host, seen_[rank]);
    }
    return made;
  }
  [[nodiscard]] ProbeJudgement judge() const { return made().judge(); }

 private:
  [[nodiscard]] bool is_within(int a, int b) const {
    return node_of_[static_cast<std::size_t>(a)] == node_of_[static_cast<std::size_t>(b)];
  }
  void add(const LinkAt& link, const Speed& speed) {
    // Noise of 1 %, always the same.
    const double wobble = 1 + 0.01 * (((link.from * 7 + link.to * 13) % 5) - 2) / 2.0;
    Reading reading;
    reading.metric = "bandwidth";
    if (link.is_alone) reading.where.emplace_back("alone", "yes");
    reading.where.emplace_back("link", link.is_within ? "cache" : "network");
    reading.where.emplace_back("size", "16MiB");
    reading.peer = link.to;
    if (const double value = speed(link) * wobble; value > 0) reading.summary = {9, value, value, value, value, 0};
    of(link.from).readings.push_back(std::move(reading));
  }

  int rounds_;
  int silent_ = -1;
  std::vector<int> node_of_;
  std::vector<Observation> seen_;
};

double healthy(const LinkAt& link) {
  return link.is_within ? 40 : 12;
}

/// Links that `is_slow` picks reach half of what they should.
Mesh::Speed half(std::function<bool(const LinkAt&)> is_slow) {
  return [is_slow = std::move(is_slow)](const LinkAt& link) { return healthy(link) * (is_slow(link) ? 0.5 : 1); };
}

// --- data ---

TEST(P2pJudge, WrongDataNamesRankPeerOffsetAndBits) {
  Mesh mesh(2, 1);
  mesh.measure(healthy).of(1).facts.push_back(
      {"corrupt", "0 1MiB bandwidth bit 3 of byte 4711 is flipped (0x08 instead of 0x00)"});
  const auto judgement = mesh.judge();
  expect_finding(judgement, Verdict::fail,
                 "rank 1 on nid002 received wrong data from rank 0 on nid001 (bandwidth, 1MiB): bit 3 of byte 4711 is "
                 "flipped (0x08 instead of 0x00)");
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::link, "rank 0 -> rank 1", "", -1},
                                                                  {CulpritKind::rank, "rank 0", "nid001", 0},
                                                                  {CulpritKind::rank, "rank 1", "nid002", 1}}));
}

TEST(P2pJudge, WrongDataFromOnePeerIsOneFinding) {
  Mesh mesh(1, 3);
  for (const char* reported : {"0 8B latency bit 0 of byte 1 is flipped", "0 1MiB bandwidth bit 2 of byte 3 is flipped",
                               "2 8B latency bit 4 of byte 5 is flipped"})
    mesh.of(1).facts.push_back({"corrupt", reported});
  const auto judgement = mesh.judge();
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].reason,
            "rank 1 on nid001 received wrong data from rank 0 on nid001 (latency, 8B): bit 0 of byte 1 is flipped; 2 "
            "readings were wrong");
  EXPECT_NE(judgement.findings[1].reason.find("from rank 2 on nid001"), std::string::npos);
}

TEST(P2pJudge, WrongDataThatCanNotBeReadIsNoLessAFault) {
  for (const char* reported : {"", "x", "99 1MiB bandwidth bit 0 is flipped", "-1"}) {
    Mesh mesh(2, 1);
    mesh.measure(healthy).of(0).facts.push_back({"corrupt", reported});
    const auto judgement = mesh.judge();
    ASSERT_EQ(judgement.findings.size(), 1u) << reported;
    EXPECT_EQ(judgement.findings[0].verdict, Verdict::fail);
    EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::rank, "rank 0", "nid001", 0}}));
  }
}

TEST(P2pJudge, TextOfARankIsHarmless) {
  Mesh mesh(2, 1);
  mesh.measure(healthy).of(0).facts.push_back({"corrupt", "1 1MiB band\x1b[31m bit\nflipped"});
  const std::string reason = mesh.judge().findings.at(0).reason;
  EXPECT_EQ(reason.find('\x1b'), std::string::npos);
  EXPECT_EQ(reason.find('\n'), std::string::npos);
}

// --- speed ---

TEST(P2pJudge, AHealthyClusterIsEvidence) {
  Mesh mesh(4, 2);
  const auto judgement = mesh.measure(healthy).judge();
  ASSERT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  EXPECT_EQ(judgement.evidence,
            (std::vector<std::string>{"bandwidth at 16MiB: cache 40.1 GB/s, network 12 GB/s",
                                      "8 ranks compared 2 GB from 48 readings, bit by bit: all right",
                                      "24 readings of 16MiB between nodes compared, no node slow by 13 % or more"}));
}

TEST(P2pJudge, TheShareThatWasComparedIsReported) {
  Mesh mesh(4, 2);
  mesh.measure(healthy);
  for (int rank = 0; rank < 8; ++rank) mesh.of(rank).facts.front() = {"checked", "6 readings, 0.25 GB of 10 GB"};
  EXPECT_EQ(mesh.judge().evidence[1],
            "8 ranks compared 2 GB from 48 readings, bit by bit: all right; 2.5 % of what they received");
  for (int rank = 0; rank < 8; ++rank) {
    mesh.of(rank).facts.push_back({"verified", "8B 100 of 100"});
    mesh.of(rank).facts.push_back({"verified", "1MiB 640 of 5120"});
    mesh.of(rank).facts.push_back({"verified", "16MiB 1 of 9"});
    mesh.of(rank).facts.push_back({"verified", "2MiB many of -1"});
  }
  EXPECT_EQ(
      mesh.judge().evidence[2],
      "messages compared whole: all 800 of 8B, 5120 of 40960 of 1MiB (12 %) and 8 of 72 of 16MiB (11 %); one wrong "
      "message in 173 of 8B and 1111 of 1MiB is found with 99 %");
}

TEST(P2pJudge, RacksWithoutLabelsAreNamedAsKindsOfPairs) {
  Mesh mesh(16, 1);
  const auto judgement = mesh.measure([](const LinkAt& link) { return link.from / 4 == link.to / 4 ? 12 : 8; }).judge();
  ASSERT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  EXPECT_EQ(judgement.evidence.back(),
            "16MiB between nodes: 2 kinds of pairs, as of racks: 48 readings around 12.03 GB/s and 192 readings around "
            "8 GB/s");
}

/// Pairs of different halves share uplinks, but for some: alone they are as fast as all others.
TEST(P2pJudge, PairsThatAreSlowOnlyBesideOthersAreCounted) {
  Mesh mesh(16, 1);
  const auto shares = [](const LinkAt& link) {
    const auto [low, high] = std::minmax(link.from, link.to);
    return low / 8 != high / 8 && (low * 3 + high * 5) % 7 < 3;
  };
  const auto speed = half([&](const LinkAt& link) { return !link.is_alone && shares(link); });
  mesh.measure(speed);
  EXPECT_EQ(mesh.judge().evidence.back(),
            "16MiB between nodes: 27 of 120 pairs were slow while other pairs communicated");
  for (int from = 0; from < 16; ++from)
    for (int to = 0; to < 16; ++to)
      if (from != to && shares({from, to})) mesh.again(from, to, speed);
  const auto judgement = mesh.judge();
  ASSERT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  EXPECT_EQ(
      judgement.evidence.back(),
      "16MiB between nodes: 27 of 120 pairs were slow while other pairs communicated, 54 of 54 measured alone were "
      "faster then");
}

/// The slow node is slower by less than what pairs share.
TEST(P2pJudge, ASlowNodeIsNamedByWhatPairsReachAlone) {
  Mesh mesh(16, 1);
  const auto shares = [](const LinkAt& link) {
    const auto [low, high] = std::minmax(link.from, link.to);
    return (low * 3 + high * 5) % 5 < 3;
  };
  const auto is_slow = [](const LinkAt& link) { return link.from % 4 == 3 || link.to % 4 == 3; };
  const Mesh::Speed speed = [&](const LinkAt& link) {
    return std::min(!link.is_alone && shares(link) ? 8.0 : 12.0, is_slow(link) ? 10.0 : 12.0);
  };
  mesh.measure(speed);
  for (int from = 0; from < 16; ++from)
    for (int to = 0; to < 16; ++to)
      if (from != to && (shares({from, to}) || is_slow({from, to}))) mesh.again(from, to, speed);
  const auto judgement = mesh.judge();
  ASSERT_EQ(judgement.findings.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(judgement.findings[i].culprits.front().name, "nid00" + std::to_string(4 * i + 4));
}

void expect_node(const ProbeJudgement& judgement, const std::string& host, const std::string& claim) {
  ASSERT_EQ(judgement.findings.size(), 1u);
  const Finding& finding = judgement.findings[0];
  EXPECT_EQ(finding.verdict, Verdict::fail);
  EXPECT_EQ(finding.reason.rfind(host + " " + claim + ": ", 0), 0u) << finding.reason;
  EXPECT_NE(finding.reason.find("(16MiB, between nodes)"), std::string::npos) << finding.reason;
  EXPECT_EQ(finding.culprits, (std::vector<Culprit>{{CulpritKind::node, host, host, -1}}));
  EXPECT_FALSE(finding.remedy.empty());
  EXPECT_TRUE(judgement.evidence.empty());
}

bool is_on(int rank, int node) {
  return rank / 2 == node;
}

TEST(P2pJudge, ASlowNodeIsNamed) {
  for (const int rounds : {0, 3}) {
    Mesh mesh(4, 2, rounds);
    mesh.measure(half([](const LinkAt& l) { return !l.is_within && (is_on(l.from, 2) || is_on(l.to, 2)); }));
    expect_node(mesh.judge(), "nid003", "is slow both ways");
  }
}

TEST(P2pJudge, ASlowNodeIsNamedWithSpeeds) {
  Mesh mesh(4, 2);
  mesh.measure(half([](const LinkAt& l) { return !l.is_within && (is_on(l.from, 2) || is_on(l.to, 2)); }));
  const std::string reason = mesh.judge().findings.at(0).reason;
  EXPECT_NE(reason.find("GB/s, comparable ones reach 1"), std::string::npos) << reason;
  EXPECT_NE(reason.find("in 12 of 12 readings"), std::string::npos) << reason;
}

TEST(P2pJudge, ASlowSenderIsNamed) {
  Mesh mesh(4, 2);
  mesh.measure(half([](const LinkAt& l) { return !l.is_within && is_on(l.from, 1); }));
  expect_node(mesh.judge(), "nid002", "is slow when it sends");
}

TEST(P2pJudge, ASlowReceiverIsNamed) {
  Mesh mesh(4, 2);
  mesh.measure(half([](const LinkAt& l) { return !l.is_within && is_on(l.to, 1); }));
  expect_node(mesh.judge(), "nid002", "is slow when it receives");
}

TEST(P2pJudge, TwoSlowNodesAreBothNamed) {
  Mesh mesh(4, 2);
  mesh.measure(half([](const LinkAt& l) {
    return !l.is_within && (is_on(l.from, 0) || is_on(l.to, 0) || is_on(l.from, 2) || is_on(l.to, 2));
  }));
  const auto judgement = mesh.judge();
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].culprits.at(0).name, "nid001");
  EXPECT_EQ(judgement.findings[1].culprits.at(0).name, "nid003");
}

TEST(P2pJudge, ASlowRankWithinANodeIsNamedAsRank) {
  Mesh mesh(1, 8);
  mesh.measure(half([](const LinkAt& l) { return l.from == 5 || l.to == 5; }));
  const auto judgement = mesh.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].reason.rfind("rank 5 on nid001 is slow both ways: ", 0), 0u);
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::rank, "rank 5", "nid001", 5}}));
}

bool is_the_link(const LinkAt& link) {
  return link.from == 1 && link.to == 4;
}

TEST(P2pJudge, ASlowLinkIsNamedOnlyWhenSlowAgainAlone) {
  Mesh mesh(6, 1);
  mesh.measure(half(is_the_link));
  EXPECT_TRUE(mesh.judge().findings.empty()) << "nobody looked again";
  const auto judgement = mesh.again(1, 4, half(is_the_link)).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].reason.rfind("the link nid002 -> nid005 is slow: ", 0), 0u)
      << judgement.findings[0].reason;
  EXPECT_NE(judgement.findings[0].reason.find("again when measured alone"), std::string::npos);
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::link, "nid002 -> nid005", "", -1}}));
}

/// As seen on four virtual nodes: which of two pairs gets the adapter is chance, the slow nodes are not.
TEST(P2pJudge, SlowNodesAreNamedWhosePairsShareAnAdapterUnfairly) {
  Mesh mesh(4, 2);
  mesh.measure([](const LinkAt& l) {
    if (l.is_within) return healthy(l);
    const bool is_slow = is_on(l.from, 0) || is_on(l.to, 0) || is_on(l.from, 2) || is_on(l.to, 2);
    return healthy(l) * (is_slow ? 0.2 : 1) * (l.from % 2 == 0 ? 1.6 : 0.4);
  });
  const auto judgement = mesh.judge();
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].reason.rfind("nid001 is slow both ways: ", 0), 0u) << judgement.findings[0].reason;
  EXPECT_EQ(judgement.findings[1].reason.rfind("nid003 is slow both ways: ", 0), 0u) << judgement.findings[1].reason;
}

TEST(P2pJudge, ALinkBetweenNodesIsReadAgainWithAllItsPairs) {
  Mesh mesh(6, 2);
  const auto slow = half([](const LinkAt& l) { return is_on(l.from, 1) && is_on(l.to, 4); });
  mesh.measure(slow).again(2, 8, slow).again(3, 9, slow);
  const auto judgement = mesh.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].reason.rfind("the link nid002 -> nid005 is slow: ", 0), 0u)
      << judgement.findings[0].reason;
}

TEST(P2pJudge, ALinkThatIsWellAloneIsCleared) {
  Mesh mesh(6, 1);
  const auto judgement = mesh.measure(half(is_the_link)).again(1, 4, healthy).judge();
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.evidence.size(), 3u);
}

TEST(P2pJudge, WhereTheEndsMetNobodyElseItIsEither) {
  // Ranks in pairs on four nodes, nothing between nodes: each link is all that its ends are known by.
  Mesh mesh(4, 2);
  const auto speed = [](const LinkAt& link) {
    return !link.is_within ? 0.0 : healthy(link) * (link.from / 2 == 1 ? 0.5 : 1);
  };
  mesh.measure(speed);
  EXPECT_TRUE(mesh.judge().findings.empty()) << "nobody looked again";
  const auto judgement = mesh.again(2, 3, speed).again(3, 2, speed).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].reason.rfind(
                "rank 2 on nid002 or rank 3 on nid002, or the link rank 2 <-> rank 3 itself, is slow: ", 0),
            0u)
      << judgement.findings[0].reason;
  EXPECT_EQ(judgement.findings[0].culprits.size(), 2u);
}

TEST(P2pJudge, RepeatsThatDisagreeShowTheNoise) {
  Mesh mesh(6, 1);
  mesh.measure(half(is_the_link));
  int i = 0;
  // All slow, but one three times as slow as another: that is no steady link.
  mesh.again(1, 4, [&](const LinkAt&) { return std::vector{7.0, 4.0, 2.3}[static_cast<std::size_t>(i++)]; });
  const auto judgement = mesh.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::unmeasured) << judgement.findings[0].reason;
}

/// What two runs of a virtual cluster with one link at 200 Mbit/s read: MB/s, from each rank to the others.
constexpr double slow_sender[8][8] = {
    {0, 415.0, 514.6, 560.1, 736.3, 620.8, 989.4, 602.1}, {605.4, 0, 399.1, 650.6, 515.5, 827.4, 705.0, 833.5},
    {12.2, 11.4, 0, 434.1, 12.7, 11.4, 11.8, 11.4},       {12.1, 12.1, 728.0, 0, 12.0, 11.4, 11.6, 12.2},
    {656.7, 381.2, 627.8, 449.0, 0, 277.4, 654.2, 460.3}, {398.5, 521.1, 521.7, 425.8, 403.9, 0, 366.5, 597.2},
    {669.2, 566.4, 554.3, 397.9, 791.7, 530.1, 0, 429.9}, {259.5, 463.3, 336.7, 485.8, 585.5, 953.0, 386.6, 0}};
constexpr double slow_node[8][8] = {{0, 0, 913.2, 0, 0, 12.4, 0, 692.4}, {0, 0, 0, 983.7, 11.3, 0, 817.0, 0},
                                    {822.1, 0, 0, 0, 0, 11.2, 0, 464.5}, {0, 1055.1, 0, 0, 11.1, 0, 602.7, 0},
                                    {0, 12.0, 0, 12.0, 0, 0, 12.1, 0},   {12.2, 0, 11.2, 0, 0, 0, 0, 11.8},
                                    {0, 571.4, 0, 376.5, 11.4, 0, 0, 0}, {419.3, 0, 604.1, 0, 0, 12.0, 0, 0}};

void expect_begun(const ProbeJudgement& judgement, Verdict verdict, const std::string& reason) {
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, verdict);
  EXPECT_EQ(judgement.findings[0].reason.rfind(reason, 0), 0u) << judgement.findings[0].reason;
  EXPECT_FALSE(judgement.findings[0].remedy.empty());
}

/// With samples that spread as those on busy cores do.
ProbeJudgement judge_matrix(const double (&matrix)[8][8], double spread, double slowest = 0) {
  Mesh mesh(4, 2);
  mesh.measure([&](const LinkAt& link) { return std::max(slowest, matrix[link.from][link.to]) / 1000; });
  for (int rank = 0; rank < 8; ++rank)
    for (Reading& reading : mesh.of(rank).readings) reading.summary.mad = reading.summary.median * spread;
  return mesh.judge();
}

TEST(P2pJudge, NoiseHidesNobodyWhoIsWorseThanAllOthers) {
  for (const double spread : {0.3, 0.6, 0.9}) {
    expect_begun(judge_matrix(slow_sender, spread), Verdict::fail, "nid002 is slow when it sends");
    expect_begun(judge_matrix(slow_node, spread), Verdict::fail, "nid003 is slow both ways");
  }
}

TEST(P2pJudge, NoneSlowIsNotSaidWhereNobodyCouldHaveBeenSeen) {
  // The same readings without the slow ones: nobody is slow, but that could not have been seen.
  const auto judgement = judge_matrix(slow_sender, 0.9, 400);
  expect_begun(judgement, Verdict::unmeasured,
               "too noisy to identify slow ones: in 24 readings of 16MiB between nodes");
  ASSERT_EQ(judgement.evidence.size(), 2u) << "data is right all the same";
  EXPECT_NE(judgement.evidence[1].find("bit by bit: all right"), std::string::npos);
}

TEST(P2pJudge, FewReadingsSayWhatTheyCouldHaveShown) {
  Mesh mesh(3, 1);
  const auto judgement = mesh.measure(healthy).judge();
  ASSERT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  EXPECT_EQ(judgement.evidence.back(), "6 readings of 16MiB between nodes compared, no node slow by 30 % or more");
}

TEST(P2pJudge, ReadingsWithoutCleanSamplesAreLeftOut) {
  Mesh mesh(4, 2);
  const auto judgement = mesh.measure([](const LinkAt&) { return 0.0; }).judge();
  ASSERT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.evidence.size(), 1u) << "no word on speed";
}

TEST(P2pJudge, DisturbedReadingsAreTold) {
  Mesh mesh(4, 2);
  mesh.measure(healthy);
  mesh.of(3).facts.push_back({"disturbed", "5 of 12 readings: others used 40 % of the CPU time, 0 % was stolen"});
  EXPECT_EQ(
      mesh.judge().evidence.at(1),
      "8 ranks compared 2 GB from 48 readings, bit by bit: all right; 5 had no clean timing, others used the CPUs");
}

/// A reading that is missing must not shift those after it into other rounds.
TEST(P2pJudge, DisturbanceIsNoReasonWhereTimingIsNotJudged) {
  Mesh mesh(4, 2);
  mesh.measure(healthy);
  mesh.of(3).facts.push_back({"disturbed", "5 of 12 readings: others used 40 % of the CPU time, 0 % was stolen"});
  for (const std::string& evidence : mesh.made().doubt("16 ranks share 2 cores").judge().evidence)
    EXPECT_EQ(evidence.find("others used the CPUs"), std::string::npos) << evidence;
}

TEST(P2pJudge, RoundsAreCountedWithReadingsThatFailed) {
  Mesh mesh(4, 1, 12);  // each pair meets four times
  int meetings = 0;
  mesh.measure([&](const LinkAt& link) {
    const bool is_node = link.from == 2 || link.to == 2;
    if (link.from == 0 && link.to == 2 && meetings++ == 0) return 0.0;
    return healthy(link) * (is_node ? 0.5 : 1);
  });
  const auto judgement = mesh.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].reason.find("intermittent"), std::string::npos) << judgement.findings[0].reason;
  EXPECT_NE(judgement.findings[0].reason.find("in 23 of 23 readings"), std::string::npos);
}

TEST(P2pJudge, WhereTimingMeansNothingOnlyDataIsJudged) {
  Mesh mesh(4, 2);
  mesh.measure(half([](const LinkAt& l) { return !l.is_within && (is_on(l.from, 2) || is_on(l.to, 2)); }));
  const auto judgement = mesh.made().doubt("4 ranks share 2 cores").judge();
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.evidence.size(), 1u);
  mesh.of(1).facts.push_back({"corrupt", "0 1MiB bandwidth bit 3 of byte 4711 is flipped"});
  EXPECT_EQ(mesh.made().doubt("4 ranks share 2 cores").judge().findings.size(), 1u);
}

// --- evidence ---

TEST(P2pJudge, ARankWithoutEvidenceIsUnmeasured) {
  for (const std::string checked : {"0 readings, 0 GB", "lots", ""}) {
    Mesh mesh(2, 2);
    mesh.measure(healthy).of(2).facts.clear();
    if (!checked.empty()) mesh.of(2).facts.push_back({"checked", checked});
    expect_finding(mesh.judge(), Verdict::unmeasured, "rank 2 did not look at what it received");
  }
}

TEST(P2pJudge, ASilentRankIsTheFramesBusiness) {
  Mesh mesh(2, 2);
  mesh.measure(healthy).silence(2);
  EXPECT_TRUE(mesh.judge().findings.empty());
}

TEST(P2pJudge, SilenceOfAllIsNoEvidence) {
  MadeCase made(p2p_probe());
  made.rank("a", std::nullopt).rank("b", std::nullopt);
  EXPECT_TRUE(made.judge().findings.empty());
  EXPECT_TRUE(made.judge().evidence.empty());
}

TEST(P2pJudge, WhoNeverHadAPartnerOwesNothing) {
  // Three ranks, one random round: one of them waits.
  const p2p::Schedule schedule({0, 0, 0}, p2p::Pairs::all, 1, 1);
  Mesh mesh(1, 3, 1);
  for (int rank = 0; rank < 3; ++rank)
    if (schedule.partner(rank, 0) < 0) mesh.of(rank).facts.clear();
  const auto judgement = mesh.judge();
  ASSERT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  EXPECT_EQ(judgement.evidence.at(0).rfind("2 ranks compared", 0), 0u);
}

TEST(P2pJudge, OneRankIsSkipped) {
  MadeCase made(p2p_probe());
  made.rank("a", std::vector<Fact>{});
  expect_finding(made.judge(), Verdict::skip, "a single rank has no partner to exchange messages with");
}

// --- transport ---

MadeCase carried(const std::vector<std::string>& transports, const char* fast, const char* sockets = "fallback") {
  MadeCase made(p2p_probe(), {{"sockets", sockets}});
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<Fact> facts{{"checked", "6 readings, 1 GB of 1 GB"}};
    if (fast != nullptr) facts.push_back({"fast_ports", fast});
    for (const std::string& transport : transports) facts.push_back({"transport", transport});
    made.rank(rank < 2 ? "nid001" : "nid002", std::move(facts));
  }
  return made;
}

TEST(P2pFallback, SocketsWithinANode) {
  const auto judgement = carried({"cache lo 3 GB", "node lo 2 GB", "network eth0 1 GB"}, nullptr).judge();
  expect_finding(judgement, Verdict::fail,
                 "messages within a node go through sockets on lo instead of shared memory (4 of 4 ranks, proven by "
                 "the interface's byte counters)");
  EXPECT_EQ(judgement.findings[0].culprits.size(), 4u);
}

TEST(P2pFallback, TheAdapterWithinANode) {
  expect_finding(carried({"numa mlx5_0/1 3 GB"}, "mlx5_0/1").judge(), Verdict::fail,
                 "messages within a node go through the adapter mlx5_0/1 instead of shared memory (4 of 4 ranks, "
                 "proven by the interface's byte counters)");
}

TEST(P2pFallback, SocketsBetweenNodesWhereThereIsAFabric) {
  expect_finding(carried({"cache memory 3 GB", "network eth0 1 GB"}, "mlx5_0/1 mlx5_1/1").judge(), Verdict::fail,
                 "messages between nodes go through sockets on eth0, though mlx5_0/1 mlx5_1/1 is there (4 of 4 ranks, "
                 "proven by the interface's byte counters)");
}

TEST(P2pFallback, SocketsAreRightWhereThereIsNothingElse) {
  EXPECT_TRUE(carried({"network eth0 1 GB"}, nullptr).judge().findings.empty());
}

TEST(P2pFallback, TheFabricIsRight) {
  EXPECT_TRUE(carried({"cache memory 1 GB", "network mlx5_0/1 1 GB"}, "mlx5_0/1").judge().findings.empty());
}

TEST(P2pFallback, WhatIsNotProvenIsNotSaid) {
  EXPECT_TRUE(carried({"cache unknown 1 GB", "network unknown 1 GB"}, "mlx5_0/1").judge().findings.empty());
  EXPECT_TRUE(carried({"cache lo 0.2 GB", "cache memory 3 GB"}, nullptr).judge().findings.empty())
      << "a moment of other traffic";
  EXPECT_TRUE(carried({"", "cache", "cache lo"}, nullptr).judge().findings.empty());
}

TEST(P2pFallback, MayBeAllowed) {
  EXPECT_TRUE(carried({"cache lo 3 GB"}, nullptr, "allowed").judge().findings.empty());
}

// --- NICs of nodes that have several ---

/// Each rank reports the NIC that its messages to other nodes take; `ranks_of_nic` share one.
Mesh with_nics(int nodes, int per_node, int ranks_of_nic = 1, const std::string& how = "counted") {
  Mesh mesh(nodes, per_node);
  for (int rank = 0; rank < nodes * per_node; ++rank) {
    // What all ranks of the NIC moved is to be seen there.
    if (how == "counted") mesh.of(rank).facts.push_back({"rail_bytes", fmt::format("100 of {}", 103 * ranks_of_nic)});
    mesh.of(rank).facts.push_back({"rail", how + " hsn" + std::to_string(rank % per_node / ranks_of_nic)});
  }
  return mesh;
}

/// Between nodes, what `sends` or `receives` of these ranks reaches half.
Mesh::Speed half_of(std::set<int> ranks, bool sends = true, bool receives = true) {
  return half([=](const LinkAt& link) {
    return !link.is_within && ((sends && ranks.count(link.from) > 0) || (receives && ranks.count(link.to) > 0));
  });
}

void expect_nic(const ProbeJudgement& judgement, const std::string& start, const std::string& name, const char* host) {
  ASSERT_EQ(judgement.findings.size(), 1u);
  const Finding& finding = judgement.findings[0];
  EXPECT_EQ(finding.verdict, Verdict::fail);
  EXPECT_EQ(finding.reason.substr(0, start.size()), start);
  EXPECT_EQ(finding.culprits, (std::vector<Culprit>{{CulpritKind::device, name, host, -1}}));
  EXPECT_NE(finding.remedy.find(host), std::string::npos);
}

/// So that no node is drained for it.
void expect_ranks_beside_device(const Finding& finding, const std::vector<int>& ranks, const char* host) {
  ASSERT_EQ(finding.culprits.size(), ranks.size() + 2);
  EXPECT_EQ(finding.culprits[0].kind, CulpritKind::device);
  EXPECT_EQ(finding.culprits[1].kind, CulpritKind::link);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    EXPECT_EQ(finding.culprits[i + 2], (Culprit{CulpritKind::rank, fmt::format("rank {}", ranks[i]), host, ranks[i]}));
}

TEST(P2pRails, OneSlowNicOfFourIsNamedWithItsNode) {
  expect_nic(with_nics(2, 4).measure(half_of({6})).judge(),
             "NIC hsn2 of nid002 is slow both ways: 50 % slower than comparable ones (16MiB, between nodes), in 8 of 8 "
             "readings "
             "(rank 6)",
             "NIC hsn2", "nid002");
  expect_nic(with_nics(4, 4).measure(half_of({6})).judge(), "NIC hsn2 of nid002 is slow both ways: ", "NIC hsn2",
             "nid002");
  expect_nic(with_nics(3, 4).measure(half_of({3}, true, false)).judge(),
             "NIC hsn3 of nid001 is slow when it sends: ", "NIC hsn3", "nid001");
  expect_nic(with_nics(3, 4).measure(half_of({8}, false, true)).judge(),
             "NIC hsn0 of nid003 is slow when it receives: ", "NIC hsn0", "nid003");
}

TEST(P2pRails, RanksOfOneNicAreOneReading) {
  expect_nic(with_nics(3, 8, 2).measure(half_of({10, 11})).judge(),
             "NIC hsn1 of nid002 is slow both ways: ", "NIC hsn1", "nid002");
}

TEST(P2pRails, WhereNothingCountedTheNearestNicIsNotCertain) {
  const auto judgement = with_nics(3, 8, 2, "near").measure(half_of({10, 11})).judge();
  ASSERT_EQ(judgement.findings.size(), 2u);
  const std::string& reason = judgement.findings[0].reason;
  EXPECT_EQ(reason.rfind("the NIC of ranks 10 and 11 of nid002 is slow both ways: ", 0), 0u) << reason;
  EXPECT_NE(reason.find(" (assumed: the NIC nearest to ranks 10 and 11, hsn1)"), std::string::npos) << reason;
  expect_ranks_beside_device(judgement.findings[0], {10, 11}, "nid002");
  EXPECT_EQ(judgement.findings[1].reason.rfind("nid002 is slow both ways: ", 0), 0u)
      << "what is assumed replaces no finding on the node: " << judgement.findings[1].reason;
}

TEST(P2pRails, AnInterfaceThatDidNotCountTheBytesIsNotCertain) {
  // Half: what goes out leaves by the first route. Two ranks of one NIC are judged together.
  for (const char* bytes : {"100 of 55", "100 of 195", "100", ""}) {
    Mesh mesh = with_nics(3, 8, 2);
    for (const int rank : {10, 11}) mesh.of(rank).facts.end()[-2].value = bytes;
    const auto judgement = mesh.measure(half_of({10, 11})).judge();
    ASSERT_EQ(judgement.findings.size(), 2u) << bytes;
    EXPECT_NE(judgement.findings[0].reason.find(" (assumed: the NIC with the address of their connections, hsn1, "),
              std::string::npos)
        << judgement.findings[0].reason;
    expect_ranks_beside_device(judgement.findings[0], {10, 11}, "nid002");
  }
}

TEST(P2pRails, WithAnAssumedNicNoneIsReportedAsNotSlow) {
  Mesh mesh = with_nics(2, 4);
  mesh.of(5).facts.back().value = "near hsn1";
  for (const std::string& evidence : mesh.measure(healthy).judge().evidence)
    EXPECT_EQ(evidence.find(" NICs "), std::string::npos) << evidence;
  for (const std::string& evidence : with_nics(2, 4, 1, "near").measure(healthy).judge().evidence)
    EXPECT_EQ(evidence.find(" NICs "), std::string::npos) << evidence;
}

TEST(P2pRails, ANodeAllOfWhoseNicsAreSlowIsTheCulprit) {
  const auto judgement = with_nics(4, 4).measure(half_of({4, 5, 6, 7})).judge();
  ASSERT_EQ(judgement.findings.size(), 1u) << judgement.findings[1].reason;
  EXPECT_EQ(judgement.findings[0].reason.rfind("nid002 is slow both ways: ", 0), 0u) << judgement.findings[0].reason;
  EXPECT_EQ(judgement.findings[0].culprits.at(0).kind, CulpritKind::node);
}

TEST(P2pRails, WithNoneSlowWhatWasComparedIsEvidence) {
  const auto judgement = with_nics(2, 4).measure(healthy).judge();
  EXPECT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  EXPECT_EQ(
      judgement.evidence.back().rfind("32 readings of 16MiB between 8 NICs of 2 nodes compared, no NIC slow by ", 0),
      0u)
      << judgement.evidence.back();
}

/// Such nodes may be too unlike to be compared.
void expect_no_failure(const ProbeJudgement& judgement) {
  for (const Finding& finding : judgement.findings) EXPECT_EQ(finding.verdict, Verdict::unmeasured) << finding.reason;
}

TEST(P2pRails, ANicThatIsSlowerOnAllNodesIsOfAnotherKind) {
  for (const int nodes : {3, 4, 6}) {
    std::set<int> ranks;
    for (int node = 0; node < nodes; ++node) ranks.insert(4 * node + 3);
    const auto judgement = with_nics(nodes, 4).measure(half_of(ranks)).judge();
    expect_no_failure(judgement);
    ASSERT_FALSE(judgement.evidence.empty());
    EXPECT_EQ(judgement.evidence.back(), "hsn3 is slower than the other NICs on a third of the nodes or more");
  }
}

TEST(P2pRails, NicsOfDifferentNumbersOfRanksAreNotCompared) {
  Mesh mesh = with_nics(4, 3);
  for (int rank = 0; rank < 12; rank += 3) mesh.of(rank).facts.back().value = "counted hsn1";
  const auto judgement = mesh.measure(half_of({0, 1, 3, 4, 6, 7, 9, 10})).judge();
  expect_no_failure(judgement);
  ASSERT_FALSE(judgement.evidence.empty());
  EXPECT_EQ(judgement.evidence.back(),
            "NICs carry the messages of different numbers of ranks: they were not compared one by one");
}

TEST(P2pRails, NicsThatARankUsesAtOnceAreReported) {
  Mesh mesh(2, 4);
  for (int rank = 0; rank < 8; ++rank) mesh.of(rank).facts.push_back({"rail", "counted hsn0,hsn1"});
  EXPECT_EQ(mesh.measure(healthy).judge().evidence.back(),
            "messages of a rank between nodes went over hsn0 and hsn1 at once: NICs were not compared one by one");
}

TEST(P2pRails, WithoutTheNicOfEveryRankNothingIsCompared) {
  for (const char* reported : {"", "counted", "near ", "guessed hsn0"}) {
    Mesh mesh = with_nics(3, 4);
    mesh.of(5).facts.back().value = reported;
    for (const std::string& evidence : mesh.measure(healthy).judge().evidence)
      EXPECT_EQ(evidence.find(" NICs "), std::string::npos) << evidence;
  }
  // One NIC a node: the nodes are compared.
  for (const std::string& evidence : with_nics(3, 4, 4).measure(healthy).judge().evidence)
    EXPECT_EQ(evidence.find(" NICs "), std::string::npos) << evidence;
}

}  // namespace
}  // namespace muster
