// The judge alone, on observations made by hand. What whole trainings show is in training_run_test.cpp.
#include <filesystem>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "probes/judging.hpp"
#include "probes/training/observe.hpp"
#include "probes/training/param_check.hpp"

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
    expect_finding(judged(seen), Verdict::unmeasured, "rank 0 did not report all required data");
  }
  for (std::size_t reading = 0; reading < 3; ++reading) {
    Observation seen = good();
    seen.readings.erase(seen.readings.begin() + static_cast<std::ptrdiff_t>(reading));
    expect_finding(judged(seen), Verdict::unmeasured, "rank 0 did not report all required data");
  }
  for (const char* steps : {"167 of 168", "0 of 0", "", "168"})
    expect_finding(judged(with({{"steps", steps}})), Verdict::unmeasured, "rank 0 did not report all required data");
  expect_finding(judged(with({{"resumed", "0"}})), Verdict::unmeasured, "rank 0 did not report all required data");
  expect_finding(judged(Observation()), Verdict::fail, "no rank wrote the checkpoint");
}

TEST(TrainingJudge, BoundsAreThoseOfTheParameters) {
  Observation seen = good();
  seen.readings[1] = value("final_loss", 0.1);
  expect_finding(judged(seen), Verdict::fail, "the loss went from 2.31 to 0.1, and should be below 0.1 (max_loss)");
  seen = good();
  seen.readings[2] = value("accuracy", 0.97);
  expect_finding(judged(seen), Verdict::fail,
                 "97.00 % of held-out samples are classified correctly, and more than 97.00 % should be "
                 "(min_accuracy)");
  EXPECT_TRUE(MadeCase(probe(), {{"min_accuracy", "0.9"}}).rank("a", seen).judge().findings.empty());
}

TEST(TrainingJudge, NamesNodesOfThoseWhoCameApart) {
  const auto judgement = judged(with({{"diverged", "51 memory certain 1"}}));
  expect_finding(judgement, Verdict::fail,
                 "parameters changed in the memory of rank 1 on nid002: ranks have not had the same parameters since "
                 "step 51, while they were not written");
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::rank, "rank 1", "nid002", 1}}));
  expect_finding(judged(with({{"diverged", "0 start suspected 0,1"}})), Verdict::fail,
                 "ranks start from different parameters: rank 0 on nid001 or rank 1 on nid002 have others; the one "
                 "at fault is unknown");
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

TEST(TrainingJudge, StepsThatAreTooLongAreNoRanksFault) {
  const auto diverged = [](const char* rate, const char* grown) {
    MadeCase made(probe(), {{"learning_rate", rate}});
    made.rank("a", with({{"grown", grown}})).rank("b", {{"not_finite.own", "3"}, {"not_finite.sum", "3"}});
    return made.judge();
  };
  const std::vector<Culprit> rate{{CulpritKind::setting, "learning_rate", "", -1}};
  const auto long_steps = diverged("0.4", "2.306 5417 2");
  expect_finding(
      long_steps, Verdict::fail,
      "the training diverges with learning_rate = 0.4: gradients are not finite in step 3, after the loss grew "
      "from 2.306 to 5417 in step 2");
  EXPECT_EQ(long_steps.findings[0].culprits, rate);
  EXPECT_EQ(long_steps.findings[0].remedy, "choose a lower learning_rate; 0.05 is the default");
  const auto at_once = diverged("900", "2.306 2.306 0");
  expect_finding(at_once, Verdict::fail,
                 "the training diverges with learning_rate = 900: gradients are not finite in step 3");
  EXPECT_EQ(at_once.findings[0].culprits, rate);
  const auto machine = diverged("0.05", "2.306 5417 2");
  EXPECT_TRUE(machine.findings.at(0).culprits.empty()) << "who began is not known";
  EXPECT_NE(machine.findings[0].remedy.find("healthy machines do not diverge at this rate"), std::string::npos);
  EXPECT_EQ(diverged("0.4", "2.306 2.306 0").findings.at(0).culprits.at(0).name, "rank 1");
}

TEST(TrainingJudge, WhatFollowsAfterATrainingThatDivergesIsNotReported) {
  MadeCase made(probe(), {{"learning_rate", "0.4"}});
  made.rank("a", with({{"grown", "2.306 5417 2"}, {"reference.off", "4 7 8"}, {"checkpoint.writer", "5"}}))
      .rank("b", {{"not_finite.own", "3"}, {"same_order", "2"}});
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u) << judgement.findings[1].reason;
  EXPECT_TRUE(judgement.findings[0].reason.starts_with("the training diverges")) << judgement.findings[0].reason;
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
        EXPECT_FALSE(judgement.findings.empty()) << key << " " << text << " is not a pass";
      }
    }
}

/// Why `prepare` on rank 0 of two on a node refuses; empty: it does not.
std::string refusal(std::vector<std::pair<std::string, std::string>> params) {
  const MadeCase made(probe(), std::move(params));
  SilentRecorder recorder;
  const RankPlace place{.world_size = 2, .local_size = 2, .host = "here"};
  const auto state = probe().prepare({made.params(), place, recorder});
  if (state) return {};
  EXPECT_EQ(state.error().kind, ErrorKind::usage) << to_string(state.error());
  return to_string(state.error());
}

TEST(TrainingPrepare, ABatchLargerThanTheDataIsRefused) {
  EXPECT_EQ(refusal({{"batch", "100"}, {"samples", "99"}}),
            "batch: 100 exceeds the 99 samples; use at most 99, or increase samples");
  EXPECT_EQ(refusal({{"batch", "99"}, {"samples", "99"}}), "");
}

TEST(TrainingPrepare, MoreThanTheMemoryIsRefusedBeforeItIsTaken) {
  const RankPlace place{.world_size = 2, .local_size = 2, .host = "here"};
  const auto message = [&](training::Settings settings, std::uint64_t available) {
    const auto fits = training::demand_sense(settings, place, available);
    return fits ? std::string() : to_string(fits.error());
  };
  constexpr std::uint64_t gib = 1u << 30;
  EXPECT_EQ(message({}, gib), "");
  EXPECT_EQ(message({}, 0), "") << "not known";
  training::Settings wide;
  wide.hidden = 65536;
  EXPECT_EQ(message(wide, 64 * gib),
            "hidden: with these sizes the 2 ranks of a node need 385.0 GiB, and 64.0 GiB are available; a smaller one, "
            "or fewer ranks per node");
  EXPECT_EQ(message(wide, 512 * gib), "");
  training::Settings much;
  much.samples = 100'000'000;
  EXPECT_TRUE(message(much, 32 * gib).starts_with("samples: with these sizes")) << message(much, 32 * gib);
  training::Settings big;
  big.samples = big.batch = 1'000'000;
  big.features = 1;
  EXPECT_TRUE(message(big, gib).starts_with("batch: with these sizes")) << message(big, gib);
}

TEST(TrainingPrepare, SizesThatNoMachineHasAreRefused) {
  EXPECT_TRUE(refusal({{"samples", "100000000"}, {"features", "65536"}}).starts_with("samples: with these sizes"));
}

TEST(TrainingPrepare, AFileThatIsNotOursIsNotOverwritten) {
  const fs::path folder = fs::temp_directory_path() / ("muster-training-prepare-" + random_hex(8));
  fs::create_directories(folder);
  const std::string file = folder / "thesis.tex";
  ASSERT_TRUE(write_file(file, "ten years of work"));
  EXPECT_EQ(refusal({{"checkpoint", file}}),
            "checkpoint: " + file + " exists and is not a checkpoint of muster; it is not overwritten");
  EXPECT_EQ(refusal({{"checkpoint", folder}}), "checkpoint: " + folder.string() + " exists and is not a file");
  EXPECT_EQ(refusal({{"checkpoint", folder / "no/x"}}),
            "checkpoint: " + (folder / "no/x").string() + ": there is no folder " + (folder / "no").string());
  EXPECT_EQ(refusal({{"checkpoint", folder / "new"}}), "");
  ASSERT_TRUE(write_file(file, "MUSTRAIN and so on"));
  EXPECT_EQ(refusal({{"checkpoint", file}}), "");
  fs::remove_all(folder);
}

TEST(TrainingJudge, ABoundThatTheUserTightenedIsNotTheMachine) {
  MadeCase made(probe(), {{"min_accuracy", "0.999"}});
  const auto judgement = made.rank("nid001", good()).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].reason,
            "it trains like the reference, but misses the required bound: accuracy 99.00 %, and more than "
            "99.90 % is required (min_accuracy)");
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::setting, "min_accuracy", "", -1}}));
}

TEST(TrainingJudge, ABoundMissedWithFewerEpochsIsNotTheMachine) {
  MadeCase made(probe(), {{"epochs", "2"}, {"threads", "3"}, {"min_accuracy", "0.9"}});
  Observation seen = good();
  seen.readings[1] = value("final_loss", 0.5);
  const auto judgement = made.rank("nid001", seen).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::setting, "epochs", "", -1}}));
}

TEST(TrainingJudge, AnotherRunOnTheSameCheckpointIsNamedAsSuch) {
  MadeCase made(probe(), {{"checkpoint", "/scratch/a"}});
  Observation seen = good();
  seen.facts.push_back({"checkpoint.stranger", "yes"});
  const auto judgement = made.rank("nid001", seen).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_TRUE(judgement.findings[0].reason.starts_with("another run has written the checkpoint meanwhile"));
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::file, "/scratch/a", "nid001", -1}}));
}

// What a rank reports of its times, from times that are known.

/// One warm-up epoch and two more of two steps: 3 ms computing, 1 ms waiting, 8 ms in all.
training::Trained timed() {
  training::Trained trained;
  trained.epochs = trained.planned_epochs = 3;
  for (int step = 0; step < 6; ++step) {
    trained.losses.push_back(2.0 - 0.1 * step);
    trained.times.push_back(step < 2 ? training::StepTimes{1, 1, 9} : training::StepTimes{0.003, 0.001, 0.008});
    trained.own_samples.push_back(25);
  }
  trained.sum_seconds = {0.004, 0.004, 0.004};
  trained.compute_by_rank = {0.003, 0.006, 0.003};
  return trained;
}

std::vector<Fact> on_gpu(std::vector<Fact> more) {
  more.push_back({"data.device", "GPU 0000:1b:00.0 (GPU-1234)"});
  more.push_back({"data.carrier", "NCCL 2.21.5"});
  return more;
}

TEST(TrainingOnGpus, TheEvidenceSaysWhereAndAgainstWhat) {
  const auto judgement = judged(
      with(on_gpu({{"execution", "GPU 0000:1b:00.0, cuBLAS 12.8.4"}, {"reference.execution", "host, plain loops"}})),
      {{"data.device", "GPU 0000:2b:00.0"}, {"data.carrier", "NCCL 2.21.5"}});
  ASSERT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  EXPECT_TRUE(judgement.evidence[0].ends_with("(GPU 0000:1b:00.0, cuBLAS 12.8.4)")) << judgement.evidence[0];
  EXPECT_EQ(judgement.evidence[1], "memory of 2 GPUs over NCCL 2.21.5");
  EXPECT_EQ(judgement.evidence[3],
            "the first 100 losses are those of one rank alone on the host (largest deviation 3e-07, at step 57)");
}

TEST(TrainingOnGpus, WhoFailedOrComputesWronglyIsNamedWithItsGpu) {
  const Culprit second{CulpritKind::device, "GPU 0000:1b:00.0 (GPU-1234)", "nid002", 1};
  auto judgement = judged(with({{"stopped", "12 "}}),
                          on_gpu({{"broken", "12 cuLaunchKernel returned 719: CUDA_ERROR_LAUNCH_FAILED"}}));
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].reason,
            "rank 1 on nid002, GPU 0000:1b:00.0 (GPU-1234) failed in step 12: cuLaunchKernel returned 719: "
            "CUDA_ERROR_LAUNCH_FAILED");
  EXPECT_EQ(judgement.findings[0].culprits, std::vector<Culprit>{second});
  EXPECT_TRUE(judgement.evidence.empty());

  judgement = judged(with({{"gradients.wrong", "1"}, {"reference.execution", "host, plain loops"}}), on_gpu({}));
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].reason,
            "rank 1 on nid002, GPU 0000:1b:00.0 (GPU-1234) computes wrongly: from the same parameters and samples it "
            "makes other gradients than the host does (host, plain loops)");
  EXPECT_EQ(judgement.findings[0].culprits, std::vector<Culprit>{second});

  judgement = judged(with({{"gradients.wrong", "0,1"}}));
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_TRUE(judgement.findings[0].reason.starts_with("every rank computes wrongly"));
  EXPECT_TRUE(judgement.findings[0].culprits.empty());
}

TEST(TrainingOnGpus, AStopThatNobodyExplainsIsNoPass) {
  const auto judgement = judged(with({{"stopped", "3 "}}), {{"stopped", "3 "}});
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::unmeasured);
}

double median_of(const Observation& seen, std::string_view metric) {
  for (const Reading& one : seen.readings)
    if (one.metric == metric) return one.summary.median;
  ADD_FAILURE() << "no " << metric;
  return -1;
}

TEST(TrainingObserve, TimesAreThoseThatWereTaken) {
  training::Settings settings;
  settings.samples = 100;
  settings.batch = 50;
  const Observation seen = training::observe(timed(), settings, 0);
  EXPECT_DOUBLE_EQ(median_of(seen, "throughput"), 100 / 0.016);
  EXPECT_DOUBLE_EQ(median_of(seen, "rank_throughput"), 50 / 0.016);
  EXPECT_DOUBLE_EQ(median_of(seen, "step_time"), 8000);
  EXPECT_DOUBLE_EQ(median_of(seen, "compute_time"), 3000);
  EXPECT_DOUBLE_EQ(median_of(seen, "wait_share"), 0.125);
  EXPECT_DOUBLE_EQ(median_of(seen, "overlap"), 0.75);
  EXPECT_DOUBLE_EQ(median_of(seen, "skew"), 0);
  EXPECT_DOUBLE_EQ(median_of(training::observe(timed(), settings, 1), "skew"), 3000);
  ASSERT_NE(seen.fact("slowest"), nullptr);
  EXPECT_EQ(*seen.fact("slowest"), "1 100.0");
}

}  // namespace
}  // namespace muster
