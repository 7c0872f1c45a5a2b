#include "system/asked_binding.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>

namespace muster {
namespace {

class Asked : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv(env_bind); }
  static CpuMask now() { return *CpuMask::of_this_thread(); }
};

JobBinding two(std::string first, std::string second) {
  return {BindKind::masks, "profile lumi", {{"", std::move(first), 0}, {"", std::move(second), 1}}, {}, false};
}

TEST_F(Asked, TextComesBackAsItWas) {
  const std::string text = to_text(two("0xfe", "0xfe00"), Binder::agent);
  EXPECT_EQ(text, "agent|profile lumi|0xfe,0xfe00");
  const auto asked = parse_asked_binding(text);
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->binder, Binder::agent);
  EXPECT_EQ(asked->source, "profile lumi");
  ASSERT_EQ(asked->masks.size(), 2U);
  EXPECT_EQ(asked->masks[1].list(), "9-15");
}

TEST_F(Asked, DamagedTextIsRefused) {
  for (const char* text :
       {"", "agent", "agent|x", "agent|x|", "agent|x|0x0", "agent|x|0xfg", "nobody|x|0x1", "agent|x|0x1|0x2"})
    EXPECT_FALSE(parse_asked_binding(text).has_value()) << text;
}

TEST_F(Asked, TheAgentBindsItself) {
  const CpuMask all = now();
  CpuMask one;
  one.add(all.highest());
  ::setenv(env_bind, to_text(two("0x1", one.hex()), Binder::agent).c_str(), 1);
  std::thread([&] {
    ASSERT_TRUE(bind_as_asked(1).has_value());
    EXPECT_EQ(now(), one);
  }).join();
  EXPECT_EQ(now(), all);
}

TEST_F(Asked, WhereTheLauncherBindsTheAgentDoesNot) {
  const CpuMask all = now();
  for (const Binder binder : {Binder::launcher, Binder::options}) {
    ::setenv(env_bind, to_text(two("0x1", "0x1"), binder).c_str(), 1);
    ASSERT_TRUE(bind_as_asked(0).has_value());
    EXPECT_EQ(now(), all);
  }
}

TEST_F(Asked, CpusThatAreNotHereAndRanksWithoutAMaskAreErrors) {
  CpuMask far;
  far.add(60'000);
  ::setenv(env_bind, to_text(two(far.hex(), far.hex()), Binder::agent).c_str(), 1);
  EXPECT_FALSE(bind_as_asked(0).has_value());
  EXPECT_FALSE(bind_as_asked(2).has_value());
  EXPECT_FALSE(bind_as_asked(-1).has_value());
  ::unsetenv(env_bind);
  EXPECT_TRUE(bind_as_asked(-1).has_value());
}

}  // namespace
}  // namespace muster
