#include "run/launch_tag.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(LaunchTag, OnlyItsSecretFits) {
  const LaunchTag one = make_launch_tag("run-1"), other = make_launch_tag("run-1");
  EXPECT_EQ(one.tag.find("run-1-"), 0u);
  EXPECT_EQ(one.secret.size(), 64u);
  EXPECT_NE(one.tag, other.tag);
  EXPECT_TRUE(is_secret_of(one.secret, one.tag));
  EXPECT_FALSE(is_secret_of(other.secret, one.tag));
  for (const std::string_view guess :
       {std::string_view(), std::string_view(one.tag).substr(6), std::string_view(one.tag)})
    EXPECT_FALSE(is_secret_of(guess, one.tag)) << guess;
  EXPECT_EQ(one.tag.find(one.secret.substr(0, 8)), one.tag.npos);
  // The watchdog's abstract socket: muster-watchdog-TAG.
  EXPECT_LT(one.tag.size() + 16, 100u);
}

TEST(LaunchTag, TheNameByItsSecretIsNotInTheTag) {
  const LaunchTag one = make_launch_tag("run-1"), other = make_launch_tag("run-1");
  EXPECT_EQ(name_by_secret(one.secret), name_by_secret(one.secret));
  EXPECT_NE(name_by_secret(one.secret), name_by_secret(other.secret));
  EXPECT_EQ(name_by_secret(one.secret).size(), 20u);
  EXPECT_EQ(one.tag.find(name_by_secret(one.secret).substr(0, 8)), one.tag.npos);
}

}  // namespace
}  // namespace muster
