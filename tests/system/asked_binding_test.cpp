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
  return {BindKind::masks,
          "profile lumi",
          {{"", std::move(first), 4, "hsn2"}, {"", std::move(second), 5, "a|b,c"}},
          {},
          false,
          "ROCR_VISIBLE_DEVICES"};
}

TEST_F(Asked, TextComesBackAsItWas) {
  const std::string text = to_text(two("0xfe", "0xfe00"), Binder::agent);
  EXPECT_EQ(text, "agent|profile lumi|0xfe,0xfe00|4,5|hsn2,a b c|ROCR_VISIBLE_DEVICES");
  const auto asked = parse_asked_binding(text);
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->binder, Binder::agent);
  EXPECT_EQ(asked->source, "profile lumi");
  ASSERT_EQ(asked->masks.size(), 2U);
  EXPECT_EQ(asked->masks[1].list(), "9-15");
  EXPECT_EQ(asked->gpus, (std::vector<int>{4, 5}));
  EXPECT_EQ(asked->nics, (std::vector<std::string>{"hsn2", "a b c"}));
  EXPECT_EQ(asked->gpu_variable, "ROCR_VISIBLE_DEVICES");
  EXPECT_EQ(described(*asked), "profile lumi, by the agent");
  EXPECT_EQ(rank_list(*asked), "0: CPUs 1-7, GPU 4, NIC hsn2; 1: CPUs 9-15, GPU 5, NIC a b c");
}

TEST_F(Asked, ARankWithoutGpuAndNicSaysSo) {
  const JobBinding one{BindKind::masks, "auto", {{"", "0x3", -1}}, {}, false};
  const auto asked = parse_asked_binding(to_text(one, Binder::launcher));
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(rank_list(*asked), "0: CPUs 0-1");
}

TEST_F(Asked, TheWholeNodeHasNoMasks) {
  const auto asked = parse_asked_binding(to_text({BindKind::node, {}, {}, {}, false}, Binder::agent));
  ASSERT_TRUE(asked.has_value());
  EXPECT_TRUE(asked->masks.empty());
  EXPECT_EQ(described(*asked), "the whole node, by the agent");
}

TEST_F(Asked, WhatAPersonChoseInsteadOfMasksIsKnownToRanks) {
  const JobBinding none{BindKind::none, "--bind none", {}, {}, false};
  const JobBinding cores{BindKind::cores, "--bind cores", {}, {}, false};
  EXPECT_EQ(to_text(none, Binder::agent), "launcher|--bind none|none|||");
  const CpuMask all = now();
  for (const auto& [binding, words] :
       {std::pair{none, "none (--bind none)"}, std::pair{cores, "cores, by the launcher (--bind cores)"}}) {
    const auto asked = parse_asked_binding(to_text(binding, Binder::launcher));
    ASSERT_TRUE(asked.has_value());
    EXPECT_EQ(asked->kind, binding.kind);
    EXPECT_EQ(described(*asked), words);
    EXPECT_EQ(described(*parse_asked_binding(to_text(binding, Binder::options))), "options given to the launcher");
    ::setenv(env_bind, to_text(binding, Binder::agent).c_str(), 1);
    ASSERT_TRUE(bind_as_asked(0).has_value());
    EXPECT_EQ(now(), all);
  }
}

TEST_F(Asked, RanksKnowWhatTheyAreJudgedBy) {
  EXPECT_TRUE(concerns_ranks(two("0x1", "0x2"), Binder::launcher));
  EXPECT_TRUE(concerns_ranks({BindKind::node, {}, {}, {}, false}, Binder::agent));
  EXPECT_FALSE(concerns_ranks({BindKind::node, {}, {}, {}, false}, Binder::launcher));
  EXPECT_FALSE(concerns_ranks({BindKind::cores, {}, {}, {}, false}, Binder::launcher));
  EXPECT_TRUE(concerns_ranks({BindKind::cores, {}, {}, {}, false}, Binder::options));
  EXPECT_TRUE(concerns_ranks({BindKind::none, "--bind none", {}, {}, false}, Binder::launcher));
}

TEST_F(Asked, TheAgentFreesItselfOfWhatALauncherSetByDefault) {
  const CpuMask all = now();
  ::setenv(env_bind, to_text({BindKind::node, {}, {}, {}, false}, Binder::agent).c_str(), 1);
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(all.lowest()), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    ASSERT_TRUE(bind_as_asked(0).has_value());
    EXPECT_TRUE(all.is_subset_of(now()));
  }).join();
}

TEST_F(Asked, DamagedTextIsRefused) {
  for (const char* text :
       {"", "agent", "agent|x", "agent|x||||", "agent|x|0x0|0|a|", "agent|x|0xfg|0|a|", "nobody|x|0x1|0|a|",
        "agent|x|0x1", "agent|x|0x1|0|a||", "agent|x|0x1,0x2|0|a,b|", "agent|x|0x1,0x2|0,1|a|", "agent|x|0x1|one|a|"})
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
