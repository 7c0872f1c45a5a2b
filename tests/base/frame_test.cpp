#include "base/frame.hpp"

#include <algorithm>
#include <ctime>
#include <cstring>
#include <gtest/gtest.h>
#include <string_view>
#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace muster {
namespace {

using Stream = std::vector<std::byte>;

Stream bytes(std::string_view text) {
  Stream all(text.size());
  if (!text.empty()) std::memcpy(all.data(), text.data(), text.size());
  return all;
}

std::string text(std::span<const std::byte> all) {
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

Stream operator+(Stream a, const Stream& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Stream framed(std::uint8_t type, std::string_view payload) {
  return encode_frame(type, bytes(payload));
}

struct Decoded {
  std::vector<Frame> frames;
  std::string noise;
};

/// All that a decoder makes of the stream, fed in pieces of `step` bytes.
Decoded decode(const Stream& stream, std::size_t step) {
  FrameDecoder decoder;
  Decoded all;
  for (std::size_t at = 0; at < stream.size(); at += step) {
    decoder.feed(std::span(stream).subspan(at, std::min(step, stream.size() - at)));
    while (auto frame = decoder.next()) all.frames.push_back(std::move(*frame));
    all.noise += decoder.take_noise();
  }
  decoder.finish();
  all.noise += decoder.take_noise();
  EXPECT_FALSE(decoder.next());
  return all;
}

TEST(FrameTest, CrcIsThatOfIeee802) {
  EXPECT_EQ(crc32(bytes("")), 0u);
  EXPECT_EQ(crc32(bytes("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32(bytes("56789"), crc32(bytes("1234"))), 0xcbf43926u);
}

TEST(FrameTest, HeadIsAsDescribed) {
  const auto frame = framed(7, "123456789");
  ASSERT_EQ(frame.size(), frame_head_size + 9);
  EXPECT_EQ(text(std::span(frame).first(12)), std::string("\xffMU1\x07\0\0\0\x09\0\0\0", 12));
  const auto check =
      crc32(bytes("\x07"
                  "123456789"));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(frame[static_cast<std::size_t>(12 + i)], static_cast<std::byte>(check >> (8 * i)));
  EXPECT_EQ(text(std::span(frame).subspan(16)), "123456789");
}

TEST(FrameTest, GivesBackFramesHoweverTheyCome) {
  const std::string large(300'000, 'x');
  const auto stream = framed(1, "one") + framed(2, "") + framed(255, large) + framed(0, "last");
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, stream.size()}) {
    const auto got = decode(stream, step);
    ASSERT_EQ(got.frames.size(), 4u) << step;
    EXPECT_EQ(got.frames[0], (Frame{1, bytes("one")}));
    EXPECT_EQ(got.frames[1], (Frame{2, {}}));
    EXPECT_EQ(got.frames[2], (Frame{255, bytes(large)}));
    EXPECT_EQ(got.frames[3], (Frame{0, bytes("last")}));
    EXPECT_EQ(got.noise, "");
  }
}

TEST(FrameTest, OtherOutputInTheStreamIsNoise) {
  const auto stream =
      bytes("hello\n") + framed(1, "a") + bytes("\xffMU\xff\xffMU1no head") + framed(2, "b") + bytes("bye");
  for (const std::size_t step : {std::size_t{1}, std::size_t{5}, stream.size()}) {
    const auto got = decode(stream, step);
    ASSERT_EQ(got.frames.size(), 2u) << step;
    EXPECT_EQ(got.frames[1], (Frame{2, bytes("b")}));
    EXPECT_EQ(got.noise, "hello\n\xffMU\xff\xffMU1no headbye");
  }
}

TEST(FrameTest, NoiseIsGivenBackAtOnceUnlessItMayBecomeAFrame) {
  FrameDecoder decoder;
  decoder.feed(bytes("abc\xffMU"));
  EXPECT_FALSE(decoder.next());
  EXPECT_EQ(decoder.take_noise(), "abc");
  decoder.feed(bytes("x"));
  EXPECT_FALSE(decoder.next());
  EXPECT_EQ(decoder.take_noise(), "\xffMUx");
}

TEST(FrameTest, DamageOfOneByteCostsOneFrame) {
  const auto first = framed(1, "first");
  const auto second = framed(2, std::string(1000, 's'));
  const auto third = framed(3, "third");
  for (std::size_t at = 0; at < second.size(); ++at) {
    if (at >= 8 && at < 12) continue;  // of the length: below
    auto damaged = second;
    damaged[at] ^= std::byte{0x10};
    const auto got = decode(first + damaged + third, 100);
    ASSERT_EQ(got.frames.size(), 2u) << "byte " << at;
    EXPECT_EQ(got.frames[1].type, 3);
    EXPECT_EQ(got.noise, text(damaged)) << "byte " << at;
  }
}

TEST(FrameTest, ALengthAboveTheLargestIsNoise) {
  auto frame = framed(1, "payload");
  const std::uint32_t size = largest_payload + 1;
  for (int i = 0; i < 4; ++i) frame[static_cast<std::size_t>(8 + i)] = static_cast<std::byte>(size >> (8 * i));
  const auto got = decode(frame + framed(2, "next"), 3);
  ASSERT_EQ(got.frames.size(), 1u);
  EXPECT_EQ(got.frames[0], (Frame{2, bytes("next")}));
  EXPECT_EQ(got.noise, text(frame));
}

TEST(FrameTest, ATooSmallLengthIsFoundByTheCheck) {
  auto frame = framed(1, "payload");
  frame[8] = std::byte{3};
  const auto got = decode(frame + framed(2, "next"), 1);
  ASSERT_EQ(got.frames.size(), 1u);
  EXPECT_EQ(got.frames[0].type, 2);
}

TEST(FrameTest, AFrameCutShortIsNoiseInTheEnd) {
  const auto whole = framed(1, "a");
  const auto cut = framed(2, "never finished");
  for (std::size_t size = 1; size < cut.size(); ++size) {
    const auto got = decode(whole + Stream(cut.begin(), cut.begin() + static_cast<std::ptrdiff_t>(size)), 4);
    ASSERT_EQ(got.frames.size(), 1u) << size;
    EXPECT_EQ(got.noise, text(std::span(cut).first(size)));
  }
}

TEST(FrameTest, CanBeFedAgainAfterTheEnd) {
  FrameDecoder decoder;
  decoder.feed(bytes("\xffMU1"));
  decoder.finish();
  EXPECT_EQ(decoder.take_noise(), "\xffMU1");
  decoder.finish();
  EXPECT_EQ(decoder.take_noise(), "");
  decoder.feed(framed(1, "again"));
  EXPECT_EQ(decoder.next(), (Frame{1, bytes("again")}));
}

TEST(FrameTest, MagicWithoutEndTakesLinearTime) {
  std::string magic;
  for (int i = 0; i < (2 << 20); ++i) magic += "\xffMU1";
  const auto stream = bytes(magic) + framed(9, "after it all");
  const std::clock_t start = std::clock();
  const auto got = decode(stream, 65536);
  EXPECT_LT(std::clock() - start, 60 * CLOCKS_PER_SEC);
  ASSERT_EQ(got.frames.size(), 1u);
  EXPECT_EQ(text(got.frames[0].payload), "after it all");
  EXPECT_EQ(got.noise.size(), magic.size());
}

/// A head every 16 bytes, each claiming all that follows up to the same end.
Stream nested_heads(std::size_t count) {
  Stream all;
  for (std::size_t i = 0; i < count; ++i) {
    auto head = encode_frame(1, {});
    const auto size = static_cast<std::uint32_t>((count - i - 1) * frame_head_size);
    for (int k = 0; k < 4; ++k) head[static_cast<std::size_t>(8 + k)] = static_cast<std::byte>(size >> (8 * k));
    head[12] ^= std::byte{1};
    all.insert(all.end(), head.begin(), head.end());
  }
  return all;
}

TEST(FrameTest, HeadsWithinHeadsDoNotTakeQuadraticTime) {
  // Reading every claimed payload would be 2.7e11 bytes.
  const auto heads = nested_heads(131072 + 51200);
  const std::clock_t start = std::clock();
  const auto got = decode(heads + framed(9, "after it all"), 65536);
  EXPECT_LT(std::clock() - start, 60 * CLOCKS_PER_SEC);
  ASSERT_EQ(got.frames.size(), 1u);
  EXPECT_EQ(text(got.frames[0].payload), "after it all");
  EXPECT_EQ(got.noise, text(heads));
}

TEST(FrameTest, ChecksOfLongPayloadsAgreeWithTheEncoder) {
  // Around the stride of the checkpoints, at any offset in the buffer, with the buffer moved in between.
  for (const std::size_t size : {511u, 512u, 513u, 767u, 768u, 769u, 1024u, 5000u, 65537u, 200'000u})
    for (const std::size_t before : {0u, 1u, 255u, 256u, 300u, 70'000u}) {
      std::string payload(size, '\0');
      for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 31 + i / 255);
      const auto stream = bytes(std::string(before, '.')) + framed(5, payload) + framed(6, payload);
      const auto got = decode(stream, 30'011);
      ASSERT_EQ(got.frames.size(), 2u) << size << " after " << before;
      EXPECT_EQ(text(got.frames[0].payload), payload);
      EXPECT_EQ(text(got.frames[1].payload), payload);
    }
}

#ifdef MUSTER_HAVE_RAPIDCHECK
TEST(FrameTest, FramesAmongNoiseComeBackInOrder) {
  const bool good = rc::check([] {
    Stream stream;
    std::vector<Frame> frames;
    std::string noise;
    const auto pieces = *rc::gen::container<std::vector<std::pair<bool, std::string>>>(
        rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::arbitrary<std::string>()));
    for (const auto& [is_frame, content] : pieces) {
      std::string clean = content;
      std::replace(clean.begin(), clean.end(), '\xff', '.');
      stream = stream + (is_frame ? framed(static_cast<std::uint8_t>(content.size()), content) : bytes(clean));
      if (is_frame)
        frames.push_back({static_cast<std::uint8_t>(content.size()), bytes(content)});
      else
        noise += clean;
    }
    const auto got = decode(stream, *rc::gen::inRange<std::size_t>(1, 64));
    RC_ASSERT(got.frames == frames);
    RC_ASSERT(got.noise == noise);
  });
  EXPECT_TRUE(good);
}

TEST(FrameTest, EveryByteIsFrameOrNoiseWhateverTheSteps) {
  const bool good = rc::check([] {
    auto stream = framed(1, std::string(600, 'p')) + framed(2, "q");
    for (const auto& [at, value] : *rc::gen::container<std::vector<std::pair<std::size_t, std::uint8_t>>>(rc::gen::pair(
             rc::gen::inRange<std::size_t>(0, stream.size()), rc::gen::element<std::uint8_t>(0, 1, 3, 255, 'M'))))
      stream[at] = static_cast<std::byte>(value);
    const auto whole = decode(stream, stream.size());
    const auto parts = decode(stream, *rc::gen::inRange<std::size_t>(1, 700));
    RC_ASSERT(whole.frames == parts.frames);
    RC_ASSERT(whole.noise == parts.noise);
    auto size = whole.noise.size();
    for (const auto& frame : whole.frames) size += frame_head_size + frame.payload.size();
    RC_ASSERT(size == stream.size());
  });
  EXPECT_TRUE(good);
}
#endif

}  // namespace
}  // namespace muster
