#include "run/rank_key.hpp"

#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include "run/messages.hpp"

namespace muster {
namespace {

/// Standard input of a rank, in which these bytes lie. `is_open`: more may come.
class Input {
 public:
  explicit Input(const std::vector<std::byte>& bytes, bool is_open = false) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    EXPECT_EQ(::write(ends_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    if (!is_open) ::shutdown(ends_[1], SHUT_WR);
  }
  ~Input() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  [[nodiscard]] int descriptor() const { return ends_[0]; }
  [[nodiscard]] std::string rest() const {
    char text[64] = {};
    const ssize_t count = ::recv(ends_[0], text, sizeof text, MSG_DONTWAIT);
    return count > 0 ? std::string(text, static_cast<std::size_t>(count)) : std::string();
  }

 private:
  int ends_[2] = {-1, -1};
};

std::vector<std::byte> and_then(std::vector<std::byte> bytes, std::string_view text) {
  for (const char letter : text) bytes.push_back(static_cast<std::byte>(letter));
  return bytes;
}

TEST(RankKey, IsReadAndNothingBehindIt) {
  const auto launch = LaunchKey::random(), rank_0 = LaunchKey::random();
  const Input input(and_then(key_frame(launch, rank_0), "the job"));
  EXPECT_EQ(take_key_of_rank_0(input.descriptor(), launch, 5).hex(), rank_0.hex());
  EXPECT_EQ(input.rest(), "the job");
}

TEST(RankKey, IsNoneWhereNothingComes) {
  const auto launch = LaunchKey::random();
  EXPECT_TRUE(take_key_of_rank_0(Input({}).descriptor(), launch, 5).is_empty());
  const Input silent({}, true);
  EXPECT_TRUE(take_key_of_rank_0(silent.descriptor(), launch, 0.05).is_empty());
  auto half = key_frame(launch, LaunchKey::random());
  half.pop_back();
  EXPECT_TRUE(take_key_of_rank_0(Input(half).descriptor(), launch, 5).is_empty());
  EXPECT_TRUE(take_key_of_rank_0(-1, launch, 0.05).is_empty());
}

TEST(RankKey, IsNoneWhereItIsNotOfTheDriver) {
  const auto launch = LaunchKey::random();
  const auto taken = [&](const std::vector<std::byte>& bytes) {
    return !take_key_of_rank_0(Input(bytes).descriptor(), launch, 5).is_empty();
  };
  EXPECT_FALSE(taken(key_frame(LaunchKey::random(), LaunchKey::random())));
  EXPECT_FALSE(taken(and_then({}, std::string(200, 'x'))));
  const auto type = static_cast<std::uint8_t>(MessageType::key);
  const std::vector<std::byte> key(LaunchKey::size);
  EXPECT_TRUE(taken(FrameSealer(launch, FrameSender::driver).seal(type, key)));
  EXPECT_FALSE(taken(FrameSealer(launch, FrameSender::agent).seal(type, key)));
  EXPECT_FALSE(taken(FrameSealer(launch, FrameSender::driver).seal(static_cast<std::uint8_t>(MessageType::job), key)));
}

}  // namespace
}  // namespace muster
