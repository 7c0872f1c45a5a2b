#include "evaluate/training_blame.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

CaseResult native(Verdict verdict) {
  CaseResult result;
  result.check = "training";
  result.tags = {"training", "default"};
  result.verdict = verdict;
  result.reason = "the loss is constant";
  return result;
}

CaseResult torch(const char* check, Verdict verdict, const char* reason = "") {
  CaseResult result;
  result.check = check;
  result.tags = {"slow", "pytorch"};
  const std::string_view name(check);
  if (name == "torch_ddp" || name == "torch_launch") result.tags.emplace_back("training");
  if (name == "torch_environment") result.tags.emplace_back("environment");
  result.verdict = verdict;
  result.reason = reason;
  return result;
}

TEST(TrainingBlame, NeedsBoth) {
  EXPECT_FALSE(blame_training({}));
  EXPECT_FALSE(blame_training({native(Verdict::fail)}));
  EXPECT_FALSE(blame_training({torch("torch_ddp", Verdict::fail)}));
  for (const auto silent : {Verdict::skip, Verdict::unmeasured, Verdict::error}) {
    EXPECT_FALSE(blame_training({native(silent), torch("torch_ddp", Verdict::fail)}));
    EXPECT_FALSE(blame_training({native(Verdict::pass), torch("torch_ddp", silent)}));
  }
}

CaseResult caused_by(CaseResult result, CulpritKind kind) {
  result.culprits = {{kind, "min_accuracy", "", -1}};
  return result;
}

TEST(TrainingBlame, WhatDoesNotTrainSaysNothingOfTraining) {
  for (const auto verdict : {Verdict::pass, Verdict::fail}) {
    EXPECT_FALSE(blame_training({native(Verdict::pass), torch("torch_environment", verdict)}));
    EXPECT_FALSE(blame_training({native(Verdict::fail), torch("torch_environment", verdict)}));
    EXPECT_FALSE(blame_training({native(Verdict::pass), torch("torch_allreduce", verdict)}));
  }
}

TEST(TrainingBlame, NothingWorksThatStayedOpen) {
  for (const auto open : {Verdict::unmeasured, Verdict::error, Verdict::fail}) {
    EXPECT_FALSE(blame_training({native(Verdict::pass), torch("torch_ddp", Verdict::pass), torch("b", open)}));
    if (open == Verdict::fail) continue;
    EXPECT_FALSE(
        blame_training({native(Verdict::pass), torch("torch_environment", Verdict::pass), torch("torch_ddp", open)}));
    EXPECT_FALSE(blame_training({native(Verdict::pass), native(open), torch("torch_ddp", Verdict::pass)}));
    EXPECT_FALSE(blame_training({native(Verdict::pass), native(open), torch("torch_ddp", Verdict::fail)}));
  }
}

TEST(TrainingBlame, ParametersAreNeitherTheMachineNorTheSoftware) {
  for (const auto kind : {CulpritKind::setting, CulpritKind::file}) {
    const auto odd_native = caused_by(native(Verdict::fail), kind);
    const auto odd_torch = caused_by(torch("torch_ddp", Verdict::fail), kind);
    EXPECT_FALSE(blame_training({odd_native, torch("torch_ddp", Verdict::pass)}));
    EXPECT_FALSE(blame_training({odd_native, torch("torch_ddp", Verdict::fail)}));
    EXPECT_FALSE(blame_training({native(Verdict::pass), odd_torch}));
    EXPECT_TRUE(blame_training({native(Verdict::pass), odd_torch, torch("torch_launch", Verdict::fail)}));
  }
}

TEST(TrainingBlame, BothPass) {
  EXPECT_EQ(blame_training({native(Verdict::pass), torch("torch_ddp", Verdict::pass), torch("b", Verdict::skip)}),
            "training: it works natively and with PyTorch: neither the machine nor the software environment is in the "
            "way");
}

TEST(TrainingBlame, TheEnvironmentWithWhatExplainsIt) {
  const auto ddp = torch("torch_ddp", Verdict::fail, "rank 1 exited with 1");
  const auto wheel = torch("torch_environment", Verdict::fail, "this wheel is built for CUDA 12.9");
  EXPECT_EQ(blame_training({native(Verdict::pass), ddp, torch("torch_allreduce", Verdict::pass)}),
            "training: it works natively, torch_ddp fails with PyTorch: the software environment is at fault, not the "
            "machine: torch_ddp: rank 1 exited with 1");
  EXPECT_EQ(
      blame_training({native(Verdict::pass), ddp, wheel}),
      "training: it works natively, torch_ddp and torch_environment fail with PyTorch: the software environment is "
      "at fault, not the machine: torch_environment: this wheel is built for CUDA 12.9");
}

TEST(TrainingBlame, TheMachineWhateverPyTorchDoes) {
  EXPECT_EQ(blame_training({native(Verdict::fail), torch("torch_ddp", Verdict::fail)}),
            "training: training fails natively: the machine or its fabric is at fault; repair that before PyTorch");
  EXPECT_EQ(
      blame_training({native(Verdict::pass), native(Verdict::fail), torch("torch_ddp", Verdict::pass)}),
      "training: training fails natively: the machine or its fabric is at fault; repair that before PyTorch, though "
      "it passes");
}

}  // namespace
}  // namespace muster
