// The judge alone, on observations made by hand. What whole trainings show is in training_run_test.cpp.
#include "probes/judging.hpp"

namespace muster {
namespace {

const ProbeSpec& probe() {
  return *find_probe("training");
}

Reading value(const char* metric, double number) {
  return {metric, {}, Summary{1, number, number, number, number, 0}};
}

/// What rank 0 tells when all is well.
Observation good() {
  Observation seen;
  seen.readings = {value("initial_loss", 2.31), value("final_loss", 0.01), value("accuracy", 0.99),
                   value("throughput", 61234)};
  seen.facts = {{"steps", "168 of 168"},
                {"covered", "8 of 8"},
                {"reference", "100 57 3e-07"},
                {"checkpoint.wrote", "yes"},
                {"resumed", "21"},
                {"checkpoint.writer", "0"},
                {"slowest", "1 12.5"},
                {"execution", "host, plain loops"}};
  return seen;
}

Observation with(std::vector<Fact> facts) {
  Observation seen = good();
  for (Fact& fact : facts) {
    std::erase_if(seen.facts, [&](const Fact& other) { return other.key == fact.key; });
    seen.facts.push_back(std::move(fact));
  }
  return seen;
}

ProbeJudgement judged(const Observation& first, std::vector<Fact> second = {}) {
  return MadeCase(probe()).rank("nid001", first).rank("nid002", std::move(second)).judge();
}

TEST(TrainingJudge, AGoodOnePassesWithEvidence) {
  const auto judgement = judged(good());
  ASSERT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  const std::vector<std::string> due{
      "loss 2.31 -> 0.01 in 168 steps, accuracy 99.00 % (host, plain loops)", "61234 samples/s",
      "the first 100 losses are those of one rank alone (largest deviation 3e-07, at step 57)",
      "2 ranks have the same parameters to the bit after each step; 21 steps after the checkpoint are, too",
      "slowest in computing is rank 1 on nid002, 12.5 % above the median"};
  EXPECT_EQ(judgement.evidence, due);
}

TEST(TrainingJudge, WhereTimingMeansNothingNobodyIsCalledSlow) {
  const auto judgement = MadeCase(probe()).doubt("ranks share cores").rank("a", good()).rank("a", good()).judge();
  EXPECT_EQ(judgement.evidence.size(), 0u) << "two ranks wrote";
  const auto quiet = MadeCase(probe()).doubt("ranks share cores").rank("a", good()).judge();
  EXPECT_EQ(quiet.evidence.size(), 3u);
}

TEST(TrainingJudge, WithoutRank0ThereIsNeitherEvidenceNorFinding) {
  const auto judgement = MadeCase(probe()).rank("a", std::nullopt).rank("b", good()).judge();
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_TRUE(judgement.evidence.empty());
}

TEST(TrainingJudge, AnythingLeftOutIsUnmeasured) {
  for (const char* key : {"steps", "reference", "resumed"}) {
    Observation seen = good();
    std::erase_if(seen.facts, [&](const Fact& fact) { return fact.key == key; });
    expect_finding(judged(seen), Verdict::unmeasured, "rank 0 did not tell all that a judgement needs");
  }
  for (std::size_t reading = 0; reading < 3; ++reading) {
    Observation seen = good();
    seen.readings.erase(seen.readings.begin() + static_cast<std::ptrdiff_t>(reading));
    expect_finding(judged(seen), Verdict::unmeasured, "rank 0 did not tell all that a judgement needs");
  }
  for (const char* steps : {"167 of 168", "0 of 0", "", "168"})
    expect_finding(judged(with({{"steps", steps}})), Verdict::unmeasured,
                   "rank 0 did not tell all that a judgement needs");
  expect_finding(judged(with({{"resumed", "0"}})), Verdict::unmeasured,
                 "rank 0 did not tell all that a judgement needs");
  expect_finding(judged(Observation()), Verdict::fail, "no rank wrote the checkpoint");
}

TEST(TrainingJudge, BoundsAreThoseOfTheParameters) {
  Observation seen = good();
  seen.readings[1] = value("final_loss", 0.1);
  expect_finding(judged(seen), Verdict::fail, "the loss went from 2.31 to 0.1, and should be below 0.1 (max_loss)");
  seen = good();
  seen.readings[2] = value("accuracy", 0.97);
  expect_finding(judged(seen), Verdict::fail,
                 "97.00 % of samples that were not trained on are told right, and more than 97.00 % should be "
                 "(min_accuracy)");
  EXPECT_TRUE(MadeCase(probe(), {{"min_accuracy", "0.9"}}).rank("a", seen).judge().findings.empty());
}

TEST(TrainingJudge, NamesNodesOfThoseWhoCameApart) {
  const auto judgement = judged(with({{"diverged", "51 memory certain 1"}}));
  expect_finding(judgement, Verdict::fail,
                 "parameters changed in the memory of rank 1 on nid002: ranks have not had the same parameters since "
                 "step 51, and nobody wrote to them then");
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::rank, "rank 1", "nid002", 1}}));
  expect_finding(judged(with({{"diverged", "0 start suspected 0,1"}})), Verdict::fail,
                 "ranks start from different parameters: rank 0 on nid001 or rank 1 on nid002 have others; of these "
                 "nobody can say which");
}

TEST(TrainingJudge, WithoutAMajorityNobodyIsNamed) {
  MadeCase made(probe());
  made.rank("a", with({{"diverged", "3 sum suspected 0,1,2"}}))
      .rank("b", std::vector<Fact>())
      .rank("c", std::vector<Fact>());
  const auto judgement = made.judge();
  expect_finding(
      judgement, Verdict::fail,
      "ranks have not had the same parameters since step 3: no majority of the ranks agrees: each may have got "
      "another sum of gradients");
  EXPECT_TRUE(judgement.findings[0].culprits.empty());
}

TEST(TrainingJudge, TheFirstOfManyIsTheCause) {
  const auto judgement = judged(with({{"not_finite.sum", "7"}}), {{"not_finite.own", "7"}, {"not_finite.sum", "7"}});
  expect_finding(judgement, Verdict::fail, "gradients of rank 1 on nid002 are not finite in step 7");
}

TEST(TrainingJudge, ACheckpointOfSomebodyElse) {
  expect_finding(judged(with({{"checkpoint.writer", "5"}})), Verdict::fail,
                 "the checkpoint is rank 5's, though rank 0 on nid001 wrote it");
}

TEST(TrainingJudge, FactsThatAreNoFactsDoNoHarm) {
  for (const char* key : {"diverged", "miscounted", "miscovered", "reference.off", "not_finite.own", "not_finite.sum",
                          "zero.own", "zero.sum", "same_order", "constant", "checkpoint.writer", "resumed.off",
                          "slowest", "reference", "steps", "resumed"})
    for (const char* text : {"", " ", "x", "-1", "9999999999999999999999", "1 2 3 4 5 6 7", "3 memory certain 77",
                             "3 memory certain x,", "1 2 -5,400", "\x1b[31m \xff"}) {
      const auto judgement = judged(with({{key, text}}), {{key, text}});
      for (const Finding& finding : judgement.findings) {
        EXPECT_EQ(finding.reason.find('\x1b'), std::string::npos) << key;
        EXPECT_FALSE(finding.remedy.empty()) << key;
      }
      EXPECT_TRUE(judgement.findings.empty() || judgement.evidence.empty()) << key << " " << text;
      const std::string_view name(key);
      const bool is_trouble =
          name != "slowest" && name != "checkpoint.writer" && name != "reference" && name != "resumed";
      if (is_trouble) {
        EXPECT_FALSE(judgement.findings.empty()) << key << " " << text << " is no pass";
      }
    }
}

TEST(TrainingPrepare, ABatchLargerThanTheDataIsRefused) {
  const MadeCase made(probe(), {{"batch", "100"}, {"samples", "99"}});
  SilentRecorder recorder;
  const RankPlace place;
  const auto state = probe().prepare({made.params(), place, recorder});
  ASSERT_FALSE(state);
  EXPECT_EQ(to_string(state.error()), "batch: no more than the 99 samples");
}

}  // namespace
}  // namespace muster
