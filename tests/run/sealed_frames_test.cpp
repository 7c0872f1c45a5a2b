#include "run/sealed_frames.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

/// The frame that these bytes are.
Frame outer_of(const std::vector<std::byte>& bytes) {
  FrameDecoder decoder;
  decoder.feed(bytes);
  auto frame = decoder.next();
  EXPECT_TRUE(frame);
  return frame.value_or(Frame{});
}

struct Pair {
  LaunchKey key = LaunchKey::random();
  FrameSealer sealer{key, FrameSender::agent};
  FrameOpener opener{key, FrameSender::agent};
  Frame sealed(std::string_view text) { return outer_of(sealer.seal(7, bytes_of(text))); }
};

TEST(SealedFrames, ComeOutAsTheyWentIn) {
  Pair pair;
  for (const std::string text : {"", "a", "bandwidth 12.5 GB/s"}) {
    const Frame outer = pair.sealed(text);
    EXPECT_EQ(outer.type, sealed_frame_type);
    const auto inner = pair.opener.open(outer);
    ASSERT_TRUE(inner) << text;
    EXPECT_EQ(inner->type, 7);
    EXPECT_EQ(inner->payload, bytes_of(text));
  }
}

TEST(SealedFrames, ShowNothingOfTheirText) {
  Pair pair;
  const std::string text(64, 'x');
  const Frame outer = pair.sealed(text);
  const std::string seen(reinterpret_cast<const char*>(outer.payload.data()), outer.payload.size());
  EXPECT_EQ(seen.find("xxxx"), std::string::npos);
  EXPECT_NE(pair.sealed(text).payload, outer.payload) << "the same text twice";
}

RC_GTEST_PROP(SealedFrames, WithAnyBitChangedAreRefused, (const std::string& text)) {
  Pair pair;
  Frame outer = pair.sealed(text);
  const auto bit = *rc::gen::inRange<std::size_t>(0, outer.payload.size() * 8);
  outer.payload[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  RC_ASSERT(!pair.opener.open(outer));
}

RC_GTEST_PROP(SealedFrames, CutAreRefused, (const std::string& text)) {
  Pair pair;
  Frame outer = pair.sealed(text);
  outer.payload.resize(*rc::gen::inRange<std::size_t>(0, outer.payload.size()));
  RC_ASSERT(!pair.opener.open(outer));
}

TEST(SealedFrames, AreTakenOnceAndInOrder) {
  Pair pair;
  const Frame first = pair.sealed("first");
  const Frame second = pair.sealed("second");
  const Frame third = pair.sealed("third");
  EXPECT_FALSE(pair.opener.open(second)) << "before the first";
  EXPECT_TRUE(pair.opener.open(first));
  EXPECT_FALSE(pair.opener.open(first)) << "replayed";
  EXPECT_FALSE(pair.opener.open(third)) << "the second is missing";
  EXPECT_TRUE(pair.opener.open(second));
  EXPECT_TRUE(pair.opener.open(third));
}

TEST(SealedFrames, OfSeveralSendersAreCountedApart) {
  Pair pair;
  FrameSealer other(pair.key, FrameSender::agent);
  EXPECT_TRUE(pair.opener.open(pair.sealed("a")));
  EXPECT_TRUE(pair.opener.open(outer_of(other.seal(7, bytes_of("b")))));
  EXPECT_TRUE(pair.opener.open(pair.sealed("c")));
}

TEST(SealedFrames, OfAnotherKeyOrDirectionOrUnsealedAreRefused) {
  Pair pair;
  FrameSealer stranger(LaunchKey::random(), FrameSender::agent);
  EXPECT_FALSE(pair.opener.open(outer_of(stranger.seal(7, bytes_of("a")))));
  FrameSealer reflected(pair.key, FrameSender::driver);
  EXPECT_FALSE(pair.opener.open(outer_of(reflected.seal(7, bytes_of("a")))));
  EXPECT_FALSE(pair.opener.open(Frame{7, bytes_of("a")}));
}

TEST(SealedFrames, AnEmptyKeyLeavesFramesAsTheyAre) {
  FrameSealer sealer({}, FrameSender::agent);
  FrameOpener opener({}, FrameSender::agent);
  const Frame outer = outer_of(sealer.seal(7, bytes_of("a")));
  EXPECT_EQ(outer, (Frame{7, bytes_of("a")}));
  EXPECT_EQ(opener.open(outer), outer);
  Pair pair;
  EXPECT_FALSE(opener.open(pair.sealed("a")));
}

TEST(LaunchKeyTest, IsReadAndWritten) {
  const LaunchKey key = LaunchKey::random();
  const auto back = LaunchKey::from_hex(key.hex());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->bytes(), key.bytes());
  EXPECT_EQ(key.hex().size(), 64u);
  EXPECT_NE(LaunchKey::random().bytes(), key.bytes());
  EXPECT_TRUE(LaunchKey::from_hex("")->is_empty());
  for (const std::string& text : {std::string("00"), key.hex() + "00", key.hex().substr(1), std::string(64, 'g')})
    EXPECT_FALSE(LaunchKey::from_hex(text)) << text;
}

TEST(LaunchKeyTest, IsOverwrittenWhereItWasTakenFrom) {
  const LaunchKey key = LaunchKey::random();
  std::string entry = "MUSTER_KEY=" + key.hex();
  ::putenv(entry.data());  // the environment holds this very text
  const auto taken = LaunchKey::take_from_environment("MUSTER_KEY");
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->bytes(), key.bytes());
  EXPECT_EQ(std::getenv("MUSTER_KEY"), nullptr);
  EXPECT_EQ(entry, "MUSTER_KEY=" + std::string(64, '\0'));
}

TEST(LaunchKeyTest, ABrokenOneIsRefusedAndOverwritten) {
  std::string entry = "MUSTER_KEY=sesame";
  ::putenv(entry.data());
  const auto taken = LaunchKey::take_from_environment("MUSTER_KEY");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().where, "MUSTER_KEY");
  EXPECT_EQ(entry, "MUSTER_KEY=" + std::string(6, '\0'));
}

}  // namespace
}  // namespace muster
