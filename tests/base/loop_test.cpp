#include "base/loop.hpp"

#include <chrono>
#include <csignal>
#include <gtest/gtest.h>

namespace muster {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TEST(LoopTest, ReturnsAtOnceWhenNothingIsLeftToWaitFor) {
  Loop loop;
  bool asked = false;
  loop.run_until([&] {
    asked = true;
    return false;
  });
  EXPECT_TRUE(asked);
}

TEST(LoopTest, DoesNotTurnWhenItIsDoneAlready) {
  Loop loop;
  int fired = 0;
  const auto timer = loop.after(0, [&] { ++fired; });
  loop.run_until([] { return true; });
  EXPECT_EQ(fired, 0);
}

TEST(LoopTest, TimerFiresOnceAndNotEarly) {
  Loop loop;
  int fired = 0;
  const double start = seconds_now();
  const auto timer = loop.after(0.03, [&] { ++fired; });
  loop.run_until([] { return false; });
  EXPECT_EQ(fired, 1);
  EXPECT_GE(seconds_now() - start, 0.029);
}

TEST(LoopTest, TimersFireInOrderOfTheirTime) {
  Loop loop;
  std::string order;
  // In an order that also holds where this thread has to wait between two of them.
  const auto late = loop.after(0.5, [&] { order += 'b'; });
  const auto negative = loop.after(-1, [&] { order += '0'; });
  const auto soon = loop.after(0.02, [&] { order += 'a'; });
  loop.run_until([] { return false; });
  EXPECT_EQ(order, "0ab");
}

TEST(LoopTest, ReturnsPromptlyWhenATimerMakesItDone) {
  Loop loop;
  bool is_done = false;
  const auto soon = loop.after(0.005, [&] { is_done = true; });
  const auto far = loop.after(600, [] {});
  const double start = seconds_now();
  loop.run_until([&] { return is_done; });
  EXPECT_TRUE(is_done);
  EXPECT_LT(seconds_now() - start, 60);
}

// A timer that is due when the turn begins fires before the loop looks for input; it must not wait for that then.
TEST(LoopTest, ReturnsPromptlyWhenATimerWasDueBeforeItRan) {
  Loop loop;
  bool is_done = false;
  const auto due = loop.after(0, [&] { is_done = true; });
  const auto far = loop.after(600, [] {});
  const double start = seconds_now();
  loop.run_until([&] { return is_done; });
  EXPECT_LT(seconds_now() - start, 60);
}

TEST(LoopTest, DroppedTimerDoesNotFire) {
  Loop loop;
  int fired = 0;
  auto timer = loop.after(0.001, [&] { ++fired; });
  timer.reset();
  loop.run_until([] { return false; });
  EXPECT_EQ(fired, 0);
}

TEST(LoopTest, RepeatedTimerMayDropItself) {
  Loop loop;
  int fired = 0;
  std::shared_ptr<Loop::Timer> timer;
  timer = loop.every(0.001, [&] {
    if (++fired == 3) timer.reset();
    EXPECT_LE(fired, 3);
  });
  loop.run_until([] { return false; });
  EXPECT_EQ(fired, 3);
}

TEST(LoopTest, OneTimerMayDropAnotherThatIsDueToo) {
  Loop loop;
  int fired = 0;
  std::shared_ptr<Loop::Timer> first;
  std::shared_ptr<Loop::Timer> second;
  first = loop.after(0, [&] {
    ++fired;
    second.reset();
  });
  second = loop.after(0, [&] {
    ++fired;
    first.reset();
  });
  loop.run_until([] { return false; });
  EXPECT_EQ(fired, 1);
}

TEST(LoopTest, WhatATimerHoldsIsFreedAfterItFired) {
  Loop loop;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  const auto timer = loop.after(0, [held = std::move(held)] { EXPECT_EQ(*held, 1); });
  loop.run_until([] { return false; });
  EXPECT_TRUE(watched.expired());
}

TEST(LoopTest, HandlesMayOutliveTheLoop) {
  auto loop = std::make_unique<Loop>();
  int fired = 0;
  auto timer = loop->every(0, [&] { ++fired; });
  auto watch = loop->on_signal(SIGUSR1, [&](int) { ++fired; });
  loop.reset();
  timer.reset();
  watch.reset();
  EXPECT_EQ(fired, 0);
}

// Signals ------------------------------------------------------------------------------------------------------

int signals_seen_before = 0;

TEST(LoopTest, SignalIsSeenEachTimeAndTheFormerHandlerComesBack) {
  struct sigaction mine {};
  mine.sa_handler = [](int) { ++signals_seen_before; };
  struct sigaction outer {};
  ASSERT_EQ(sigaction(SIGUSR2, &mine, &outer), 0);
  signals_seen_before = 0;
  Loop loop;
  int seen = 0;
  auto watch = loop.on_signal(SIGUSR2, [&](int signal) { seen += signal == SIGUSR2 ? 1 : 100; });
  raise(SIGUSR2);
  loop.run_until([&] { return seen == 1; });
  raise(SIGUSR2);
  loop.run_until([&] { return seen == 2; });
  EXPECT_EQ(signals_seen_before, 0);
  watch.reset();
  raise(SIGUSR2);
  EXPECT_EQ(signals_seen_before, 1);
  sigaction(SIGUSR2, &outer, nullptr);
}

TEST(LoopTest, FormerDispositionComesBackWithTheLastOfTwoWatches) {
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  struct sigaction outer {};
  ASSERT_EQ(sigaction(SIGUSR2, &ignored, &outer), 0);
  Loop one;
  Loop two;
  int seen = 0;
  auto first = one.on_signal(SIGUSR2, [&](int) { ++seen; });
  auto second = two.on_signal(SIGUSR2, [&](int) { seen += 10; });
  first.reset();
  raise(SIGUSR2);
  two.run_until([&] { return seen == 10; });
  EXPECT_EQ(seen, 10);
  second.reset();
  struct sigaction now {};
  sigaction(SIGUSR2, &outer, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
}

TEST(LoopTest, WatchMayDropItself) {
  Loop loop;
  int seen = 0;
  std::shared_ptr<Loop::SignalWatch> watch;
  watch = loop.on_signal(SIGUSR1, [&](int) {
    ++seen;
    watch.reset();
  });
  raise(SIGUSR1);
  loop.run_until([] { return false; });
  EXPECT_EQ(seen, 1);
}

TEST(LoopTest, WritingToAClosedPipeDoesNotEndUs) {
  const Loop loop;
  struct sigaction now {};
  ASSERT_EQ(sigaction(SIGPIPE, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
}

}  // namespace
}  // namespace muster
