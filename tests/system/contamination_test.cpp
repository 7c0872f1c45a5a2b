#include "system/contamination.hpp"

#include <chrono>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "base/clock.hpp"

namespace muster {
namespace {

constexpr const char* two_cpus =
    "cpu  300 30 60 5000 10 7 8 90 11 0\n"
    "cpu0 100 10 20 2000 5 3 4 30 11 0\n"
    "cpu1 200 20 40 3000 5 4 4 60 0 0\n"
    "intr 1248872 0 0\nctxt 14948074\ncpu_count 2\n";

CpuMask mask(const char* list) {
  return *CpuMask::parse_list(list);
}

TEST(CpuUse, AddsUpTheCpusOfTheMask) {
  const auto both = parse_cpu_use(
      "cpu  1 1 1 1 1 1 1 1\ncpu0 100 10 20 2000 5 3 4 30 11 0\ncpu1 200 20 40 3000 5 4 4 60\n", mask("0-1"), 100, 7);
  ASSERT_TRUE(both);
  EXPECT_DOUBLE_EQ(both->busy, 3.9);
  EXPECT_DOUBLE_EQ(both->steal, 0.9);
  EXPECT_EQ(both->cpus, 2);
  EXPECT_EQ(both->at, 7);
  const auto one = parse_cpu_use("cpu0 1 1 1 1 1 1 1 1\ncpu1 200 20 40 3000 5 4 4 60\n", mask("1"), 1000, 0);
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->busy, 0.26) << "in thousandths here";
}

TEST(CpuUse, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(to_string(parse_cpu_use("cpu0 1 2 3 4 5 6 7 8\n", mask("0,4"), 100, 0).error()),
            "/proc/stat: has no CPU 4");
  EXPECT_EQ(to_string(parse_cpu_use("cpu0 1 2 x\n", mask("0"), 100, 0).error()),
            "/proc/stat: not the times of a CPU: cpu0 1 2 x");
  EXPECT_FALSE(parse_cpu_use("cpu0 1 2 3 4 5 6 7\n", mask("0"), 100, 0)) << "no steal";
  EXPECT_FALSE(parse_cpu_use(two_cpus, mask("0"), 100, 0)) << "cpu_count is not a CPU";
  EXPECT_FALSE(parse_cpu_use("", mask("0"), 100, 0));
}

CpuUse use(double at, double busy, double steal, int cpus = 2) {
  return {at, busy, steal, cpus};
}

TEST(Disturbance, WhatWeUsedOurselvesIsNobodysFault) {
  const auto found = disturbance(use(10, 5, 0), use(11, 7, 0), 2.0);
  EXPECT_EQ(found.foreign_share, 0);
  EXPECT_EQ(found.is_contaminated, false);
  EXPECT_EQ(disturbance(use(10, 5, 0), use(11, 5.5, 0), 2.0).foreign_share, 0) << "never below 0";
}

TEST(Disturbance, OthersAreContamination) {
  const auto found = disturbance(use(10, 5, 0), use(11, 6.6, 0), 1.2);
  EXPECT_NEAR(found.foreign_share, 0.2, 1e-9);
  EXPECT_EQ(found.is_contaminated, true);
  EXPECT_EQ(to_string(found), "others used 20 % of the CPU time, 0 % was stolen");
}

TEST(Disturbance, StealIsContamination) {
  EXPECT_EQ(disturbance(use(10, 5, 1), use(11, 6, 1.3), 1).is_contaminated, true);
  EXPECT_EQ(disturbance(use(10, 5, 1), use(11, 6, 1.1), 1).is_contaminated, false);
  EXPECT_EQ(disturbance(use(10, 5, 1), use(11, 6, 0.5), 1).steal_share, 0) << "steal that ran backwards";
}

TEST(Disturbance, ATickOnEachCpuIsNobodysFault) {
  // In 0.1 s of two CPUs: 5 % are 10 ms, and two ticks 20 ms.
  EXPECT_EQ(disturbance(use(0, 0, 0), use(0.1, 0.029, 0), 0).is_contaminated, false);
  EXPECT_EQ(disturbance(use(0, 0, 0), use(0.1, 0.031, 0), 0).is_contaminated, true);
}

TEST(Disturbance, ShortIntervalsCantBeJudged) {
  const auto found = disturbance(use(0, 0, 0), use(0.05, 0.1, 0), 0);
  EXPECT_EQ(found.is_contaminated, std::nullopt);
  EXPECT_NEAR(found.foreign_share, 1, 1e-9);
  EXPECT_EQ(disturbance(use(1, 0, 0), use(1, 0, 0), 0).is_contaminated, std::nullopt);
}

TEST(Disturbance, HalfACpuIsTooMuchOfAnyNumber) {
  // 64 CPUs: 5 % of 10 s would be 32 s; half a CPU is 5 s, and 64 ticks 0.64 s.
  EXPECT_EQ(disturbance(use(0, 0, 0, 64), use(10, 5.5, 0, 64), 0).is_contaminated, false);
  EXPECT_EQ(disturbance(use(0, 0, 0, 64), use(10, 6, 0, 64), 0).is_contaminated, true);
}

/// A node whose /proc/stat the test writes.
class Node {
 public:
  Node() { fs::create_directories(root_ / "proc"); }
  ~Node() { fs::remove_all(root_); }
  void busy(double seconds) {
    const auto ticks = static_cast<long>(seconds * static_cast<double>(::sysconf(_SC_CLK_TCK)));
    ASSERT_TRUE(write_file(root_ / "proc/stat", fmt::format("cpu0 {} 0 0 0 0 0 0 0 0 0\n", ticks)));
  }
  [[nodiscard]] const fs::path& root() const { return root_; }

 private:
  fs::path root_ = fs::temp_directory_path() / ("muster-stat-" + random_hex(8));
};

TEST(ContaminationWatch, AnswersForTheTimeSinceTheLastAnswer) {
  Node node;
  node.busy(100);
  ContaminationWatch watch(mask("0"), 0, node.root(), {.window = 0});
  ASSERT_TRUE(watch.is_watching());
  node.busy(103);
  EXPECT_EQ(watch.ask(3), false) << "all ours";
  node.busy(106);
  EXPECT_EQ(watch.ask(3), true);
  EXPECT_EQ(watch.ask(3), false) << "that is over";
  EXPECT_GT(watch.whole().foreign_share, 0);
}

TEST(ContaminationWatch, WaitsUntilItCanTell) {
  Node node;
  node.busy(100);
  ContaminationWatch watch(mask("0"), 0, node.root(), {.window = 0.5});
  node.busy(103);
  EXPECT_EQ(watch.ask(0), std::nullopt);
  std::optional<bool> answer;
  for (const double until = monotonic_seconds() + 30; !answer && monotonic_seconds() < until; std::this_thread::yield())
    answer = watch.ask(0);
  EXPECT_EQ(answer, true) << "what was too short then counts now";
}

TEST(ContaminationWatch, TheLastAnswerIsForTwoTicks) {
  Node node;
  node.busy(100);
  const ContaminationLimit limit{.window = 1000, .tick = 0.01};
  ContaminationWatch watch(mask("0"), 0, node.root(), limit);
  ContaminationWatch quiet(mask("0"), 0, node.root(), limit);
  ContaminationWatch sudden(mask("0"), 0, node.root(), {.window = 1000, .tick = 500});
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  EXPECT_EQ(quiet.ask_last(0), false);
  node.busy(103);
  EXPECT_EQ(watch.ask(0), std::nullopt);
  EXPECT_EQ(watch.ask_last(0), true);
  EXPECT_EQ(sudden.ask_last(0), std::nullopt) << "less than two ticks";
}

TEST(ContaminationWatch, ANodeWithoutCountersIsNeverJudged) {
  ContaminationWatch watch(mask("0"), 0, "/nowhere", {.window = 0});
  EXPECT_FALSE(watch.is_watching());
  EXPECT_EQ(watch.ask(0), std::nullopt);
  EXPECT_FALSE(ContaminationWatch(CpuMask(), 0).is_watching());
}

TEST(ContaminationWatch, ReadsThisMachine) {
  const auto before = read_cpu_use(*CpuMask::of_this_thread());
  ASSERT_TRUE(before) << to_string(before.error());
  EXPECT_GT(before->busy, 0);
  const double own = own_cpu_seconds();
  while (own_cpu_seconds() - own < 0.1) {
  }
  const auto after = read_cpu_use(*CpuMask::of_this_thread());
  EXPECT_GE(after->busy - before->busy, 0.1 - 0.01 * before->cpus) << "our own work is part of it";
}

}  // namespace
}  // namespace muster
