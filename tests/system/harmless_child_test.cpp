#include "system/harmless_child.hpp"

#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.hpp"

namespace muster {
namespace {

std::string what_of(const std::function<void()>& act, double deadline_s = 60) {
  const auto done = survives(act, deadline_s);
  return done ? "" : done.error().what;
}

TEST(HarmlessChild, WhatEndsWellIsForgotten) {
  int changed = 0;
  EXPECT_EQ(what_of([&] { changed = 1; }), "");
  EXPECT_EQ(changed, 0);
}

TEST(HarmlessChild, ACrashIsReported) {
  EXPECT_EQ(what_of([] { ::raise(SIGSEGV); }), "crashes (signal 11)");
  EXPECT_EQ(what_of([] { std::abort(); }), "crashes (signal 6)");
  EXPECT_EQ(what_of([] { ::_exit(0); }), "ends the process");
}

TEST(HarmlessChild, WhatHangsEndsWithItsDeadline) {
  const double began = monotonic_seconds();
  EXPECT_EQ(what_of(
                [] {
                  for (;;) ::pause();
                },
                0.2),
            "takes longer than 0.2 s");
  EXPECT_LT(monotonic_seconds() - began, 60);
}

}  // namespace
}  // namespace muster
