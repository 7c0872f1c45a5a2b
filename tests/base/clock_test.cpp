#include "base/clock.hpp"

#include <gtest/gtest.h>
#include <set>
#include <time.h>

namespace muster {
namespace {

constexpr std::int64_t second = 1'000'000'000;

TEST(ClockTest, WritesTimesInUtc) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(1795248000 * second + 123'456'789), "2026-11-21T08:00:00.123Z");
  EXPECT_EQ(rfc3339(1709164800 * second + 999'999'999), "2024-02-29T00:00:00.999Z");
  EXPECT_EQ(compact_timestamp(1795248000 * second), "20261121-080000");
}

TEST(ClockTest, RoundsDownBefore1970Too) {
  EXPECT_EQ(rfc3339(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(rfc3339(-second), "1969-12-31T23:59:59.000Z");
  EXPECT_EQ(compact_timestamp(-1), "19691231-235959");
}

TEST(ClockTest, TheTimeZoneDoesNotMatter) {
  const char* before = getenv("TZ");
  const std::string kept = before != nullptr ? before : "";
  setenv("TZ", "Pacific/Chatham", 1);
  tzset();
  EXPECT_EQ(rfc3339(1795248000 * second), "2026-11-21T08:00:00.000Z");
  EXPECT_EQ(compact_timestamp(1795248000 * second), "20261121-080000");
  if (before != nullptr)
    setenv("TZ", kept.c_str(), 1);
  else
    unsetenv("TZ");
  tzset();
}

TEST(ClockTest, ClocksAreThoseOfTheKernel) {
  const double first = monotonic_seconds();
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double last = monotonic_seconds();
  const double between = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  EXPECT_LE(first, between);
  EXPECT_LE(between, last);
  const auto today = time(nullptr);
  EXPECT_NEAR(static_cast<double>(realtime_nanoseconds()) / 1e9, static_cast<double>(today), 30);
}

TEST(ClockTest, RandomHexIsLowerCaseAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto text = random_hex(16);
    EXPECT_EQ(text.size(), 32u);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos) << text;
    seen.insert(text);
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(ClockTest, RandomHexOfAnyLength) {
  EXPECT_EQ(random_hex(0), "");
  EXPECT_EQ(random_hex(-1), "");
  const auto text = random_hex(1000);  // more than the kernel gives at once
  ASSERT_EQ(text.size(), 2000u);
  EXPECT_NE(text.substr(0, 512), text.substr(512, 512));
}

}  // namespace
}  // namespace muster
