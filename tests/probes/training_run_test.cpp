// The whole training on ranks that are threads; and what it says of ranks that do wrong.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "base/clock.hpp"
#include "probes/training_faults.hpp"

namespace muster::training {
namespace {

namespace fs = std::filesystem;

/// A folder that is gone afterwards.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("muster-training-test-" + random_hex(8));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  [[nodiscard]] std::string file(const char* name) const { return path / name; }
};

void expect_pass(const Outcome& outcome) {
  for (const Finding& finding : outcome.judgement.findings) ADD_FAILURE() << finding.reason;
  EXPECT_GE(outcome.judgement.evidence.size(), 3u);
}

/// Exactly one finding: `fail`, this reason, these culprits.
void expect_fail(const Outcome& outcome, const std::string& reason, const std::vector<int>& culprits) {
  ASSERT_FALSE(outcome.judgement.findings.empty());
  for (std::size_t i = 1; i < outcome.judgement.findings.size(); ++i)
    ADD_FAILURE() << "more: " << outcome.judgement.findings[i].reason;
  const Finding& finding = outcome.judgement.findings[0];
  EXPECT_EQ(finding.verdict, Verdict::fail);
  EXPECT_EQ(finding.reason, reason);
  EXPECT_FALSE(finding.remedy.empty());
  std::vector<int> named;
  for (const Culprit& culprit : finding.culprits) named.push_back(culprit.rank);
  EXPECT_EQ(named, culprits);
  EXPECT_TRUE(outcome.judgement.evidence.empty());
}

Change on_rank(int rank, const Change& change) {
  return [=](Odd& odd) {
    if (odd.rank == rank) change(odd);
  };
}

TEST(TrainingRun, LearnsTheSameOnAnyNumberOfRanks) {
  const Outcome alone = train_on(1, small_settings());
  expect_pass(alone);
  ASSERT_EQ(alone.first().losses.size(), 6u * 17);
  EXPECT_NEAR(alone.first().losses[0], std::log(10.0), 0.2);
  for (const int ranks : {2, 3, 4, 7}) {
    const Outcome together = train_on(ranks, small_settings());
    expect_pass(together);
    const auto difference = compare_curves(together.first().losses, alone.first().losses);
    EXPECT_EQ(difference.steps, 6 * 17);
    EXPECT_LT(difference.most, 1e-3) << ranks;
    EXPECT_EQ(together.first().reference.steps, 100);
    EXPECT_EQ(together.first().reference.first, -1);
    EXPECT_EQ(together.first().saved.compared, 17);
    EXPECT_FALSE(together.first().sum_seconds.empty());
  }
}

TEST(TrainingRun, RanksWithoutSamplesTakePart) {
  Settings settings = small_settings();
  settings.samples = 64;
  settings.batch = 3;  // and a last one of a single sample
  settings.epochs = 3;
  const Outcome outcome = train_on(5, settings);
  EXPECT_EQ(outcome.first().reference.first, -1);
  EXPECT_EQ(outcome.first().reference.steps, 66);
  EXPECT_EQ(outcome.first().covered, 3);
  EXPECT_EQ(outcome.first().saved.first_difference, -1);
  EXPECT_FALSE(outcome.first().divergence);
  int idle = 0;
  for (const auto& trained : outcome.trained)
    for (const int samples : trained->own_samples) idle += samples == 0;
  EXPECT_EQ(idle, 3 * (21 * 2 + 4));
}

TEST(TrainingRun, MemoryThatIsNotTheHostsGivesTheSameBits) {
  Settings settings = small_settings();
  settings.epochs = 2;
  const Outcome near = train_on(2, settings);
  const Outcome far = train_on(2, settings, [](Odd& odd) { odd.execution.is_host = false; });
  EXPECT_EQ(far.first().losses, near.first().losses);
  EXPECT_EQ(far.first().reference.first, -1);
  EXPECT_EQ(far.first().saved.first_difference, -1);
  const Outcome direct = train_on(2, settings, [](Odd& odd) {
    odd.execution.is_host = false;
    odd.parts.carrier = {nullptr, true, false, {}};
  });
  EXPECT_EQ(direct.first().losses, near.first().losses);
}

TEST(TrainingFault, ADeviceThatFailsStopsAllRanksWhereverItIs) {
  for (const bool is_staged : {true, false})
    for (const int calls : {0, 1, 30, 300}) {
      const Outcome outcome = train_on(3, small_settings(), [&](Odd& odd) {
        odd.execution.is_host = false;
        if (!is_staged) odd.parts.carrier = {nullptr, true, false, {}};
        if (odd.rank == 1) odd.execution.finishes_left = calls;
      });
      for (const auto& trained : outcome.trained) {
        ASSERT_TRUE(trained);
        ASSERT_TRUE(trained->broken);
        EXPECT_EQ(trained->broken->step, outcome.trained[1]->broken->step);
      }
      expect_fail(outcome,
                  "rank 1 on here failed in step " + std::to_string(outcome.first().broken->step) +
                      ": cuLaunchKernel returned 719: lost",
                  {1});
    }
}

TEST(TrainingFault, AProcessorThatComputesWronglyIsNamed) {
  const auto change = [](Odd& odd) {
    odd.execution.after_product = [](const Product& product) {
      if (product.is_a_transposed && product.rows == 48) product.c[17] += 1.0f;
    };
  };
  expect_fail(
      train_on(3, small_settings(), on_rank(2, change)),
      "rank 2 on here computes wrongly: from the same parameters and samples it makes other gradients than plain "
      "loops on the host do",
      {2});
}

TEST(TrainingFault, GradientsThatAreNotAddedUp) {
  const auto leave_out = [](Odd& odd) {
    odd.comm.spoil_sum = [](std::span<const float> in, std::span<float> sum) {
      std::copy(in.begin(), in.end(), sum.begin());
    };
  };
  expect_fail(train_on(2, small_settings(), leave_out),
              "gradients are not added up over all ranks: in step 0 all ranks have sums of 30 of 60 samples", {});
  expect_fail(train_on(3, small_settings(), on_rank(1, leave_out)),
              "gradients are not added up over all ranks: in step 0 rank 1 on here has sums of 20 of 60 samples", {1});
}

TEST(TrainingFault, OneRankWithTwiceTheLearningRate) {
  const auto twice = [](Odd& odd) {
    odd.parts.update = [](Execution& execution, Update update) {
      update.rate *= 2;
      execution.update(update);
    };
  };
  for (const int ranks : {2, 3})
    expect_fail(train_on(ranks, small_settings(), on_rank(1, twice)),
                "ranks have not had the same parameters since step 0: rank 1 on here made another update of the same "
                "parameters and gradients",
                {1});
}

TEST(TrainingFault, OneWrongUpdateOfTwoRanksIsOneOrTheOther) {
  expect_fail(train_on(2, small_settings(),
                       on_rank(1,
                               [](Odd& odd) {
                                 odd.parts.update = [calls = 0](Execution& execution, Update update) mutable {
                                   if (++calls == 7) update.momentum = 0.5f;
                                   execution.update(update);
                                 };
                               })),
              "ranks have not had the same parameters since step 3: rank 0 on here or rank 1 on here made another "
              "update of the same parameters and gradients; the one at fault is unknown",
              {0, 1});
}

/// Flips a bit of a weight while step `step` of the training computes forward.
Change flip_a_bit(int step) {
  return [step](Odd& odd) {
    // The first product of a step is the first layer's: b points to its weights.
    odd.execution.before_product = [step, rows = 32, count = 0](const Product& product) mutable {
      const bool is_first_of_step = product.inner == rows && !product.is_a_transposed && !product.is_b_transposed;
      if (!is_first_of_step || count++ != step) return;
      float& weight = const_cast<float&>(product.b[5]);
      weight = std::bit_cast<float>(std::bit_cast<std::uint32_t>(weight) ^ 8U);
    };
  };
}

TEST(TrainingFault, OneBitOfOneParameterNamesItsRankAndStep) {
  for (const int ranks : {2, 4})
    expect_fail(train_on(ranks, small_settings(), on_rank(1, flip_a_bit(51))),
                "parameters changed in the memory of rank 1 on here: ranks have not had the same parameters since step "
                "51, while they were not written",
                {1});
}

TEST(TrainingFault, OneBitOfOneVelocityNamesItsRankAndStep) {
  const auto flip = [](Odd& odd) {
    auto velocity = std::make_shared<float*>(nullptr);
    odd.parts.update = [velocity](Execution& execution, const Update& update) {
      *velocity = update.velocity;
      execution.update(update);
    };
    odd.execution.before_product = [velocity, count = 0](const Product& product) mutable {
      const bool is_first_of_step = product.inner == 32 && !product.is_a_transposed && !product.is_b_transposed;
      if (is_first_of_step && count++ == 51)
        **velocity = std::bit_cast<float>(std::bit_cast<std::uint32_t>(**velocity) ^ 8U);
    };
  };
  expect_fail(train_on(2, small_settings(), on_rank(1, flip)),
              "parameters changed in the memory of rank 1 on here: ranks have not had the same parameters since step "
              "51, while they were not written",
              {1});
}

TEST(TrainingRun, SumsAreUnderWayWhileBackwardGoesOn) {
  std::vector<char> first_step;  // of rank 0: s for a sum that starts, p for a product
  train_on(2, small_settings(), on_rank(0, [&](Odd& odd) {
             odd.comm.spoil_input = [&](std::span<float>) { first_step.push_back('s'); };
             odd.execution.before_product = [&](const Product&) { first_step.push_back('p'); };
           }));
  const auto first_sum = std::find(first_step.begin(), first_step.end(), 's');
  ASSERT_NE(first_sum, first_step.end());
  EXPECT_GT(std::count(first_step.begin(), first_sum, 'p'), 3) << "forward, and the last layer backward";
  const auto next_step = std::find(first_sum + 1, first_step.end(), 's');
  EXPECT_GT(std::count(first_sum, next_step, 'p'), 0) << "nothing is computed between one sum and the next";
}

TEST(TrainingFault, ABitOfASum) {
  const auto flip = [](Odd& odd) {
    odd.comm.spoil_sum = [count = 0](std::span<const float>, std::span<float> sum) mutable {
      if (++count == 10) sum[3] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(sum[3]) ^ 1U);
    };
  };
  expect_fail(train_on(3, small_settings(), on_rank(2, flip)),
              "ranks have not had the same parameters since step 4: rank 2 on here got another sum of gradients", {2});
  expect_fail(
      train_on(2, small_settings(), on_rank(0, flip)),
      "ranks have not had the same parameters since step 4: rank 0 on here or rank 1 on here got another sum of "
      "gradients; the one at fault is unknown",
      {0, 1});
}

TEST(TrainingFault, SharesThatOverlapByOneSample) {
  const auto overlap = [](Odd& odd) {
    odd.parts.part = [](std::span<const std::uint32_t> batch, int rank, int ranks) {
      const auto mine = part_of(batch, rank, ranks);
      std::vector<std::uint32_t> taken(mine.begin(), mine.end());
      if (rank == 0) taken.push_back(part_of(batch, 1, ranks)[0]);
      return taken;
    };
  };
  const Settings settings = small_settings();
  const Outcome outcome = train_on(2, settings, on_rank(0, overlap));
  ASSERT_EQ(outcome.judgement.findings.size(), 1u);
  const Finding& finding = outcome.judgement.findings[0];
  EXPECT_EQ(finding.verdict, Verdict::fail);
  std::uint32_t lowest = 1000;
  const auto order = order_of(settings, 0);
  for (int step = 0; step < settings.steps_per_epoch(); ++step)
    lowest = std::min(lowest, order[static_cast<std::size_t>(step * 60 + settings.batch_at(step) / 2)]);
  const std::string due = "the ranks' shares do not cover every sample exactly once in epoch 0: sample " +
                          std::to_string(lowest) + " was taken 2 times, by rank 0 on here and rank 1 on here; sample ";
  EXPECT_TRUE(finding.reason.starts_with(due)) << finding.reason << "\n" << due;
  ASSERT_EQ(finding.culprits.size(), 2u);
}

TEST(TrainingFault, ASampleThatNobodyTakes) {
  const Settings settings = small_settings();
  const Outcome outcome =
      train_on(3, settings, on_rank(2, [](Odd& odd) {
                 odd.parts.part = [count = 0](std::span<const std::uint32_t> batch, int rank, int ranks) mutable {
                   auto mine = part_of(batch, rank, ranks);
                   if (++count == 1) mine = mine.subspan(1);
                   return std::vector<std::uint32_t>(mine.begin(), mine.end());
                 };
               }));
  expect_fail(outcome,
              "the ranks' shares do not cover every sample exactly once in epoch 0: sample " +
                  std::to_string(order_of(settings, 0)[40]) + " was taken by no rank",
              {});
}

TEST(TrainingFault, TheSameOrderInEveryEpoch) {
  Outcome outcome = train_on(2, small_settings(), [](Odd& odd) {
    odd.parts.order = [](const Settings& settings, int) { return order_of(settings, 0); };
  });
  ASSERT_GE(outcome.judgement.findings.size(), 2u) << "the reference has the right order, and so another curve";
  outcome.judgement.findings.resize(1);
  expect_fail(outcome, "the order of samples is that of the epoch before on all ranks in epoch 1", {0, 1});
}

TEST(TrainingFault, ARankWithOtherData) {
  const auto change = [](Odd& odd) { odd.data.values[31'000] += 0.25f; };
  expect_fail(train_on(3, small_settings(), on_rank(1, change)),
              "ranks make different data from the same seed: rank 1 on here has others", {1});
  expect_fail(train_on(2, small_settings(), on_rank(1, change)),
              "ranks make different data from the same seed: rank 0 on here or rank 1 on here have others; the one "
              "at fault is unknown",
              {0, 1});
}

TEST(TrainingFault, LabelsWithoutMeaning) {
  const Outcome outcome = train_on(2, small_settings(), [](Odd& odd) {
    std::mt19937 random(5);
    for (float& label : odd.data.labels) label = static_cast<float>(random() % 10);
  });
  ASSERT_EQ(outcome.judgement.findings.size(), 2u);
  EXPECT_TRUE(outcome.judgement.findings[0].reason.starts_with("the loss went from 2.3"))
      << outcome.judgement.findings[0].reason;
  EXPECT_TRUE(outcome.judgement.findings[0].reason.ends_with(", and should be below 0.2 (max_loss)"));
  EXPECT_TRUE(outcome.judgement.findings[1].reason.ends_with(
      " % of held-out samples are classified correctly, and more than 80.00 % should be (min_accuracy)"))
      << outcome.judgement.findings[1].reason;
}

TEST(TrainingFault, ALossOverOneClassIsConstant) {
  expect_fail(train_on(2, small_settings(),
                       [](Odd& odd) {
                         odd.execution.after_classify = [](const Classified& output) {
                           std::fill_n(output.gradient, output.rows * output.classes, 0.0f);
                           output.tally[0] = 0;
                           output.tally[1] = static_cast<float>(output.rows);
                         };
                       }),
              "the loss does not change: it is 0 at every step; nothing is learned", {});
}

TEST(TrainingFault, ARankWhoseGradientsAreZero) {
  const Outcome outcome = train_on(3, small_settings(), on_rank(2, [](Odd& odd) {
                                     odd.execution.after_classify = [](const Classified& output) {
                                       std::fill_n(output.gradient, output.rows * output.classes, 0.0f);
                                     };
                                   }));
  ASSERT_EQ(outcome.judgement.findings.size(), 2u);
  EXPECT_EQ(outcome.judgement.findings[0].reason, "all gradients of rank 2 on here are 0 in step 0");
  EXPECT_EQ(outcome.judgement.findings[0].culprits.at(0).rank, 2);
}

TEST(TrainingFault, TwoRanksThatWriteTheCheckpoint) {
  expect_fail(
      train_on(3, small_settings(), [](Odd& odd) { odd.parts.writes_checkpoint = [](int rank) { return rank != 1; }; }),
      "2 ranks write the checkpoint: rank 0 on here and rank 2 on here; the last one wins, and a reader may get "
      "a mixture",
      {0, 2});
}

TEST(TrainingFault, NobodyWritesTheCheckpoint) {
  const Outcome outcome =
      train_on(2, small_settings(), [](Odd& odd) { odd.parts.writes_checkpoint = [](int) { return false; }; });
  ASSERT_FALSE(outcome.judgement.findings.empty());
  EXPECT_TRUE(outcome.judgement.findings[0].reason.starts_with("training can't resume from the checkpoint: "))
      << outcome.judgement.findings[0].reason;
}

/// In the gradient of the second layer, which is 48 x 48.
Change spoil_gradient(int step, float value) {
  return [=](Odd& odd) {
    odd.execution.after_product = [=, count = 0](const Product& product) mutable {
      if (!product.is_a_transposed || product.rows != 48 || product.columns != 48 || count++ != step) return;
      product.c[17] = value;
    };
  };
}

TEST(TrainingFault, AGradientThatIsNotANumberNamesItsRank) {
  expect_fail(train_on(3, small_settings(), on_rank(1, spoil_gradient(20, std::numeric_limits<float>::quiet_NaN()))),
              "gradients of rank 1 on here are not finite in step 20", {1});
  expect_fail(train_on(2, small_settings(), on_rank(0, spoil_gradient(3, std::numeric_limits<float>::infinity()))),
              "gradients of rank 0 on here are not finite in step 3", {0});
}

TEST(TrainingFault, ASumThatIsNotANumberThoughAllGradientsAre) {
  expect_fail(train_on(2, small_settings(),
                       on_rank(1,
                               [](Odd& odd) {
                                 odd.comm.spoil_input = [count = 0](std::span<float> in) mutable {
                                   if (++count == 5) in[0] = std::numeric_limits<float>::quiet_NaN();
                                 };
                               })),
              "sums of gradients are not finite in step 2, although the gradients of every rank are", {});
}

TEST(TrainingFault, AGradientThatIsWrongOnItsWayToAllMakesAnotherCurve) {
  const Outcome outcome = train_on(2, small_settings(), on_rank(1, [](Odd& odd) {
                                     odd.comm.spoil_input = [](std::span<float> in) {
                                       for (float& value : in.first(16)) value *= 1.5f;
                                     };
                                   }));
  ASSERT_FALSE(outcome.judgement.findings.empty());
  EXPECT_TRUE(
      outcome.judgement.findings[0].reason.starts_with("2 ranks do not learn what one rank alone does: from step "))
      << outcome.judgement.findings[0].reason;
}

TEST(TrainingFault, AProcessorThatIsWrongFromTheCheckpointOn) {
  const Outcome outcome = train_on(2, small_settings(), on_rank(1, [](Odd& odd) {
                                     auto is_resumed = std::make_shared<bool>(false);
                                     odd.recorder.at = [=](std::string_view step) {
                                       if (step == "resume") *is_resumed = true;
                                     };
                                     odd.execution.after_product = [=](const Product& product) {
                                       if (*is_resumed && product.is_a_transposed) product.c[0] += 1e-3f;
                                     };
                                   }));
  expect_fail(outcome,
              "a run resumed from the checkpoint deviates from the original one from step 85 on (on all ranks)", {});
}

TEST(TrainingCheckpointFile, ThatIsDamagedIsFound) {
  const Folder folder;
  const std::string file = folder.file("a.checkpoint");
  const Outcome outcome = train_on(2, small_settings(),
                                   on_rank(0,
                                           [&](Odd& odd) {
                                             odd.recorder.at = [&](std::string_view step) {
                                               if (step != "resume") return;
                                               std::string bytes = *read_file(file);
                                               bytes[bytes.size() / 2] ^= 16;
                                               ASSERT_TRUE(write_file(file, bytes));
                                             };
                                           }),
                                   file);
  expect_fail(outcome,
              "training can't resume from the checkpoint: " + file +
                  ": its checksum is wrong: it was damaged after it was written",
              {});
}

TEST(TrainingCheckpointFile, OfAnotherRunIsFound) {
  const Folder folder;
  const std::string ours = folder.file("a.checkpoint");
  const std::string theirs = folder.file("b.checkpoint");
  expect_pass(train_on(
      1, small_settings(), [](Odd&) {}, theirs));
  const auto replace = [&](Odd& odd) {
    odd.recorder.at = [&](std::string_view step) {
      if (step == "resume") fs::rename(theirs, ours);
    };
  };
  expect_fail(train_on(2, small_settings(), on_rank(0, replace), ours),
              "another run has written the checkpoint meanwhile: what is read back is not what this one wrote", {});
}

TEST(TrainingCheckpointFile, ThatWasThereIsReplacedAsAWhole) {
  const Folder folder;
  const std::string file = folder.file("a.checkpoint");
  expect_pass(train_on(
      1, small_settings(), [](Odd&) {}, file));
  const std::string before = *read_file(file);
  fs::create_hard_link(file, folder.file("kept"));
  expect_pass(train_on(
      1, small_settings(), [](Odd&) {}, file));
  EXPECT_TRUE(*read_file(folder.file("kept")) == before) << "the old one was written into";
  EXPECT_FALSE(*read_file(file) == before) << "each run has a number of its own";
}

TEST(TrainingCheckpointFile, ThatIsNoCheckpointStaysAsItIs) {
  const Folder folder;
  const std::string file = folder.file("thesis.tex");
  ASSERT_TRUE(write_file(file, "ten years of work"));
  const Outcome outcome = train_on(
      2, small_settings(), [](Odd&) {}, file);
  ASSERT_FALSE(outcome.judgement.findings.empty());
  EXPECT_EQ(*read_file(file), "ten years of work");
}

TEST(TrainingCheckpointFile, ThatCannotBeWrittenIsFound) {
  const Outcome outcome = train_on(
      2, small_settings(), [](Odd&) {}, "/nowhere/a.checkpoint");
  ASSERT_EQ(outcome.judgement.findings.size(), 1u);
  EXPECT_TRUE(outcome.judgement.findings[0].reason.starts_with("training can't resume from the checkpoint: /nowhere/"))
      << outcome.judgement.findings[0].reason;
}

TEST(TrainingCheckpointFile, StaysWhereItWasAskedForAndNothingElseDoes) {
  const Folder folder;
  expect_pass(train_on(
      2, small_settings(), [](Odd&) {}, folder.file("a.checkpoint")));
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path)) names.push_back(entry.path().filename());
  EXPECT_EQ(names, std::vector<std::string>{"a.checkpoint"});
}

TEST(TrainingResume, GoesOnToTheSameEndOnAnyNumberOfRanks) {
  const Folder folder;
  const std::string file = folder.file("a.checkpoint");
  const Outcome whole = train_on(
      2, small_settings(), [](Odd&) {}, file);
  expect_pass(whole);
  const Outcome rest = train_on(
      2, small_settings(), [](Odd&) {}, {}, file);
  EXPECT_EQ(rest.first().first_step, 85);
  const auto& losses = whole.first().losses;
  EXPECT_EQ(rest.first().losses, std::vector<double>(losses.end() - 17, losses.end())) << "to the bit";
  EXPECT_EQ(rest.first().accuracy, whole.first().accuracy);
  EXPECT_EQ(rest.first().reference.first, -1) << "the reference starts there, too";
  const Outcome on_three = train_on(
      3, small_settings(), [](Odd&) {}, {}, file);
  EXPECT_LT(compare_curves(on_three.first().losses, rest.first().losses).most, 1e-3);
}

TEST(TrainingResume, FromAnotherTrainingIsRefusedOnEveryRank) {
  const Folder folder;
  const std::string file = folder.file("a.checkpoint");
  Settings settings = small_settings();
  settings.epochs = 1;
  expect_pass(train_on(
      1, small_settings(), [](Odd&) {}, file));
  settings = small_settings();
  settings.seed = 2;
  for (const auto& trained : train_on(
                                 2, settings, [](Odd&) {}, {}, file)
                                 .trained) {
    ASSERT_FALSE(trained);
    EXPECT_EQ(to_string(trained.error()), "resume: " + file + ": it is of another training: its seed is 1, not 2");
  }
  settings = small_settings();
  settings.epochs = 5;
  for (const auto& trained : train_on(
                                 2, settings, [](Odd&) {}, {}, file)
                                 .trained) {
    ASSERT_FALSE(trained);
    EXPECT_EQ(to_string(trained.error()), "resume: " + file + ": its next epoch is 5, and 5 are to be done in all");
  }
}

TEST(TrainingRun, AnErrorOfTheCommunicatorComesBack) {
  const Folder folder;
  const char* former = std::getenv("TMPDIR");
  const std::string kept = former == nullptr ? "" : former;
  ::setenv("TMPDIR", folder.path.c_str(), 1);
  run_ranks(1, [&](ThreadComm& comm) {
    const Settings settings = small_settings();
    const DataSet data = make_training_data(settings);
    const auto execution = make_host_execution(Products::plain, 1);
    OpenedRecorder recorder;
    const Parts parts{*execution, comm, recorder};
    bool is_through = false;
    for (int calls = 0; !is_through; calls += calls < 2 ? 1 : 13) {
      comm.calls_left = calls;
      const auto trained = train(parts, Task{settings, data, data, {}, {}, true});
      is_through = trained.has_value();
      ASSERT_LT(calls, 1000);
      EXPECT_TRUE(fs::is_empty(folder.path)) << "what is temporary goes, also after an error: " << calls;
      if (trained) continue;
      EXPECT_EQ(to_string(trained.error()), "threads: the call was made to fail");
    }
  });
  former == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace muster::training
