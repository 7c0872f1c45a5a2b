#include "base/moment.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace muster {
namespace {

constexpr std::int64_t now = 1795248000'000'000'000;  // 2026-11-21T08:00:00Z

TEST(MomentTest, DaysAndTimesOfTheDay) {
  EXPECT_EQ(parse_moment("2026-01-31", now).value(), "2026-01-31T00:00:00.000Z");
  for (const char* same :
       {"2026-01-31 02:05", "2026-01-31T02:05", "2026-01-31T02:05:00Z", " 2026-01-31T02:05:00.000Z "})
    EXPECT_EQ(parse_moment(same, now).value(), "2026-01-31T02:05:00.000Z") << same;
  EXPECT_EQ(parse_moment(rfc3339(now), now).value(), rfc3339(now));
}

TEST(MomentTest, WhatAFileHasIsADayThatThereWas) {
  for (const std::string& good :
       {rfc3339(now), std::string("2026-01-31T02:05:00Z"), std::string("2024-02-29T23:59:59.123456789Z")})
    EXPECT_TRUE(is_moment(good)) << good;
  for (const char* wrong : {"", "2026-01-31", "2026-01-31T02:05:00", "2026-02-30T00:00:00.000Z", "2026-02-29T00:00:00Z",
                            "2026-01-31T24:00:00Z", "2026-01-31T02:05:00.Z", "2026-01-31T02:05:00.1xZ",
                            "2026-01-31T02:05:00+01Z", "9999-99-99T99:99:99.999Z"})
    EXPECT_FALSE(is_moment(wrong)) << wrong;
}

TEST(MomentTest, HowLongAgo) {
  EXPECT_EQ(parse_moment("7d", now).value(), "2026-11-14T08:00:00.000Z");
  EXPECT_EQ(parse_moment("1h30m", now).value(), "2026-11-21T06:30:00.000Z");
}

TEST(MomentTest, WhatIsNoTimeIsRefusedWithWhatToWrite) {
  for (const char* wrong :
       {"", "yesterday", "2026", "7", "2026-13-45", "2026-02-31", "2026-11-22x", "2026-11-2", "2026-11-22 24:00",
        "2026-11-22 2:00", "2026-11-22T08:60", "-7d", "100000d", "2026/11/22", "2026-11-22T08:00:00+01"}) {
    const auto moment = parse_moment(wrong, now);
    ASSERT_FALSE(moment) << wrong << " " << *moment;
    EXPECT_NE(moment.error().what.find("is not a time; write for example 2026-01-31"), std::string::npos)
        << moment.error().what;
  }
}

}  // namespace
}  // namespace muster
