#include "model/record.hpp"

#include <ctime>
#include <gtest/gtest.h>
#include <limits>

#include "model/sample_report.hpp"

namespace muster {
namespace {

using test::Chance;

Observation sample() {
  Observation made;
  made.rank = 5;
  made.readings = {{"busbw", {{"size", "16MiB"}, {"type", "float"}}, {30, 1.5, 2, 2.5, 3, 0.25}, 7, ""},
                   {"latency", {}, {1, 0, 0, 0, 0, 0}, -1, "us"}};
  made.facts = {{"mask", "0-3"}, {"host", "nid001"}};
  made.output = std::string("raw \0 bytes \xff\x1b[31m", 16);
  made.seconds = 0.125;
  return made;
}

TEST(ObservationBytes, GiveBackWhatWasPutIn) {
  const auto back = decode_observation(encode(sample()));
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, sample());
}

TEST(ObservationBytes, GiveBackAnyObservation) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const auto made = Chance(seed).observation();
    const auto back = decode_observation(encode(made));
    ASSERT_TRUE(back) << seed << ": " << to_string(back.error());
    ASSERT_EQ(*back, made) << seed;
  }
}

TEST(ObservationBytes, KeepExtremeNumbers) {
  Observation made;
  made.rank = std::numeric_limits<int>::min();
  made.seconds = -std::numeric_limits<double>::infinity();
  Reading reading;
  reading.peer = std::numeric_limits<int>::max();
  reading.summary.n = std::numeric_limits<std::int64_t>::min();
  reading.summary.min = -0.0;
  reading.summary.max = std::numeric_limits<double>::denorm_min();
  made.readings = {reading};
  reading.summary.n = std::numeric_limits<std::int64_t>::max();
  made.readings.push_back(reading);
  const auto back = decode_observation(encode(made));
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, made);
  EXPECT_TRUE(std::signbit(back->readings[0].summary.min));
}

TEST(ObservationBytes, KeepANumberThatIsNone) {
  Observation made;
  made.seconds = std::numeric_limits<double>::quiet_NaN();
  const auto back = decode_observation(encode(made));
  ASSERT_TRUE(back);
  EXPECT_TRUE(std::isnan(back->seconds));
}

TEST(ObservationBytes, AreFixed) {
  // The layout is a promise to spools on disk: a change needs another version byte.
  Observation made;
  made.rank = 1;
  made.state = ObservationState::failed;
  made.error = "no";
  made.facts = {{"k", ""}};
  made.seconds = 1.0;
  const std::vector<int> expected{1, 2, 3, 2, 'n', 'o', 0, 1, 1, 'k', 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
  std::vector<int> found;
  for (const auto byte : encode(made)) found.push_back(static_cast<int>(byte));
  EXPECT_EQ(found, expected);
}

TEST(ObservationBytes, RefuseEveryShorterInput) {
  const auto whole = encode(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto back = decode_observation(std::span(whole).first(size));
    ASSERT_FALSE(back) << size;
    EXPECT_EQ(back.error().kind, ErrorKind::protocol);
  }
}

TEST(ObservationBytes, RefuseWhatFollowsTheEnd) {
  auto bytes = encode(sample());
  bytes.push_back(std::byte{0});
  const auto back = decode_observation(bytes);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().what, "1 bytes follow its end");
}

TEST(ObservationBytes, RefuseAnotherVersionAndAnUnknownState) {
  auto bytes = encode(sample());
  bytes[0] = std::byte{2};
  EXPECT_FALSE(decode_observation(bytes));
  bytes = encode(sample());
  bytes[2] = std::byte{5};
  EXPECT_FALSE(decode_observation(bytes));
}

TEST(ObservationBytes, SurviveEveryFlippedByte) {
  const auto whole = encode(sample());
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int flip : {0x01, 0x80, 0xff}) {
      auto bytes = whole;
      bytes[at] ^= static_cast<std::byte>(flip);
      const auto back = decode_observation(bytes);
      // What is still taken must be a value like any other.
      if (back) {
        EXPECT_TRUE(decode_observation(encode(*back)));
      }
    }
}

TEST(ObservationBytes, RefuseCountsThatTheInputCanNotHold) {
  // rank 0, measured, no error, then 2^63 readings.
  const std::vector<int> huge{1, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01};
  std::vector<std::byte> bytes;
  for (const int byte : huge) bytes.push_back(static_cast<std::byte>(byte));
  bytes.resize(200);
  EXPECT_FALSE(decode_observation(bytes));
  // A count that does not even fit into 64 bits.
  bytes[13] = std::byte{0x02};
  EXPECT_FALSE(decode_observation(bytes));
  // A text of 100 bytes of which 10 are there.
  std::vector<std::byte> text(13);
  text[0] = std::byte{1};
  text[3] = std::byte{100};
  EXPECT_FALSE(decode_observation(text));
}

TEST(ObservationBytes, AreReadFastEnoughForLargeRuns) {
  Observation one = sample();
  one.readings.push_back(one.readings[0]);
  const auto bytes = encode(one);
  constexpr int count = 20'000;
  // Of this process: other programs may use the processors.
  const std::clock_t begun = std::clock();
  int ranks = 0;
  for (int i = 0; i < count; ++i) ranks += decode_observation(bytes)->rank;
  const double took = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  EXPECT_EQ(ranks, 5 * count);
  RecordProperty("decode_ns", static_cast<int>(took / count * 1e9));
  EXPECT_LT(took, 4.0);  // with sanitizers, and caches that other programs use
}

}  // namespace
}  // namespace muster
