#include "base/cpu_mask.hpp"

#include <ctime>
#include <gtest/gtest.h>
#include <sched.h>
#include <set>
#include <thread>
#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace muster {
namespace {

CpuMask of(std::initializer_list<int> cpus) {
  CpuMask mask;
  for (const int cpu : cpus) mask.add(cpu);
  return mask;
}

TEST(CpuMaskTest, ParsesListsOfTheKernel) {
  const std::pair<const char*, CpuMask> cases[]{
      {"", {}},
      {"\n", {}},
      {"0", of({0})},
      {"0-3,8,10-11\n", of({0, 1, 2, 3, 8, 10, 11})},
      {"63-64", of({63, 64})},
      {"5,5,4-6", of({4, 5, 6})},
      {"65535", of({65535})},
      {"62-62", of({62})},
  };
  for (const auto& [text, mask] : cases) {
    const auto parsed = CpuMask::parse_list(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().what;
    EXPECT_EQ(*parsed, mask) << text;
  }
  EXPECT_EQ(CpuMask::parse_list("3-200")->count(), 198);
  EXPECT_EQ(CpuMask::parse_list("0-65535")->count(), 65536);
}

TEST(CpuMaskTest, RefusesOtherLists) {
  for (const auto* text : {"x", "-", "1-", "-1", "1-2-3", "3-1", ",", "1,", ",1", "1 2", "65536", "0-65536",
                           "99999999999", "+1", "0x1", "1.5", "0-31:2"}) {
    const auto parsed = CpuMask::parse_list(text);
    ASSERT_FALSE(parsed) << text << " gave " << parsed->list();
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
  }
  EXPECT_EQ(CpuMask::parse_list("3-1").error().what, "the range 3-1 runs backwards in CPU set \"3-1\"");
  EXPECT_EQ(CpuMask::parse_list("0,x").error().what, "\"x\" is not a CPU number or range in CPU set \"0,x\"");
}

TEST(CpuMaskTest, LongListsOfWideRangesTakeLittleTime) {
  std::string text = "0-65535";
  for (int i = 0; i < 20000; ++i) text += ",0-65535";
  const std::clock_t start = std::clock();
  EXPECT_EQ(CpuMask::parse_list(text)->count(), 65536);
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
}

TEST(CpuMaskTest, ParsesHexadecimalMasks) {
  const std::pair<const char*, const char*> cases[]{
      {"0xff", "0-7"},
      {"ff", "0-7"},
      {"FF", "0-7"},
      {"0X10f", "0-3,8"},
      {"0", ""},
      {"0x0", ""},
      {"00000000,000000ff\n", "0-7"},
      {"1,00000000", "32"},
      {"00000001,00000000,80000000", "31,64"},
      {"fe000000000000", "49-55"},
      {"fe00000000000000", "57-63"},
      {"1"
       "0000000000000000",
       "64"},
  };
  for (const auto& [text, list] : cases) {
    const auto parsed = CpuMask::parse_hex(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().what;
    EXPECT_EQ(parsed->list(), list) << text;
  }
  EXPECT_EQ(CpuMask::parse_hex("8" + std::string(16383, '0'))->list(), "65535");
  EXPECT_EQ(CpuMask::parse_hex("0"
                               "8" +
                               std::string(16383, '0'))
                ->list(),
            "65535")
      << "leading zeros say nothing";
}

TEST(CpuMaskTest, RefusesOtherMasks) {
  for (const std::string& text : {std::string(""), std::string("0x"), std::string("g"), std::string("0xfg"),
                                  std::string("-1"), std::string("ff,"), std::string(",ff"), std::string("ff,ff"),
                                  std::string("ff,000000ff,f"), std::string("100000000,00000000"), std::string("0x0x1"),
                                  std::string("1 2"), "1" + std::string(16384, '0'), std::string(20000, '0')}) {
    const auto parsed = CpuMask::parse_hex(text);
    ASSERT_FALSE(parsed) << text << " gave " << parsed->list();
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
  }
}

TEST(CpuMaskTest, AddIgnoresWhatIsNoCpu) {
  CpuMask mask;
  mask.add(-1);
  mask.add(65536);
  EXPECT_TRUE(mask.empty());
  EXPECT_FALSE(mask.has(-1));
  EXPECT_FALSE(mask.has(1 << 30));
  mask.remove(-1);
  mask.remove(7);
  EXPECT_EQ(mask, CpuMask());
}

TEST(CpuMaskTest, EmptyHasNoLowestOrHighest) {
  const CpuMask mask;
  EXPECT_EQ(mask.lowest(), -1);
  EXPECT_EQ(mask.highest(), -1);
  EXPECT_EQ(mask.list(), "");
  EXPECT_EQ(mask.hex(), "0x0");
  EXPECT_TRUE(mask.cpus().empty());
  EXPECT_TRUE(mask.is_subset_of(mask));
  EXPECT_FALSE(mask.intersects(mask));
}

TEST(CpuMaskTest, RemovingTheHighestLeavesAnEqualSet) {
  auto mask = of({3, 200});
  mask.remove(200);
  EXPECT_EQ(mask, of({3}));
  EXPECT_EQ(mask.highest(), 3);
  mask.remove(3);
  EXPECT_EQ(mask, CpuMask());
}

TEST(CpuMaskTest, WritesMasksForSrun) {
  EXPECT_EQ(of({0, 1, 2, 3, 8}).hex(), "0x10f");
  EXPECT_EQ(of({64}).hex(), "0x10000000000000000");
  EXPECT_EQ(of({65, 4}).hex(), "0x20000000000000010");
}

TEST(CpuMaskTest, AsksTheKernelAboutThisThread) {
  const auto before = CpuMask::of_this_thread();
  ASSERT_TRUE(before);
  ASSERT_FALSE(before->empty());
  CpuMask narrow;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(before->highest()), &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) narrow = CpuMask::of_this_thread().value_or(CpuMask());
  }).join();
  EXPECT_EQ(narrow.cpus(), std::vector<int>{before->highest()});
  EXPECT_EQ(*CpuMask::of_this_thread(), *before) << "another thread's mask is its own";
}

#ifdef MUSTER_HAVE_RAPIDCHECK
rc::Gen<std::set<int>> cpu_set() {
  return rc::gen::container<std::set<int>>(
      rc::gen::weightedOneOf<int>({{6, rc::gen::inRange(0, 200)}, {1, rc::gen::inRange(0, 65536)}}));
}

CpuMask mask_of(const std::set<int>& cpus) {
  CpuMask mask;
  for (const int cpu : cpus) mask.add(cpu);
  return mask;
}

TEST(CpuMaskTest, AlgebraIsThatOfSets) {
  const bool good = rc::check([] {
    const auto a = *cpu_set();
    const auto b = *cpu_set();
    std::set<int> both, either, only;
    for (const int cpu : a) (b.count(cpu) != 0 ? both : only).insert(cpu);
    either = a;
    either.insert(b.begin(), b.end());
    const auto x = mask_of(a);
    const auto y = mask_of(b);
    RC_ASSERT((x | y) == mask_of(either));
    RC_ASSERT((x & y) == mask_of(both));
    RC_ASSERT((x - y) == mask_of(only));
    RC_ASSERT(x.is_subset_of(y) == only.empty());
    RC_ASSERT(x.intersects(y) == !both.empty());
    RC_ASSERT(x.count() == static_cast<int>(a.size()));
    RC_ASSERT(x.cpus() == std::vector<int>(a.begin(), a.end()));
    RC_ASSERT((x == y) == (a == b));
  });
  EXPECT_TRUE(good);
}

TEST(CpuMaskTest, ListAndHexReadBack) {
  const bool good = rc::check([] {
    const auto mask = mask_of(*cpu_set());
    RC_ASSERT((CpuMask::parse_list(mask.list()) == mask));
    RC_ASSERT((CpuMask::parse_hex(mask.hex()) == mask));
  });
  EXPECT_TRUE(good);
}

TEST(CpuMaskTest, AddAndRemoveAreThoseOfASet) {
  const bool good = rc::check([] {
    std::set<int> model;
    CpuMask mask;
    for (const auto& [is_add, cpu] : *rc::gen::container<std::vector<std::pair<bool, int>>>(
             rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::inRange(0, 130)))) {
      if (is_add)
        model.insert(cpu), mask.add(cpu);
      else
        model.erase(cpu), mask.remove(cpu);
      RC_ASSERT(mask == mask_of(model));
      RC_ASSERT(mask.lowest() == (model.empty() ? -1 : *model.begin()));
      RC_ASSERT(mask.highest() == (model.empty() ? -1 : *model.rbegin()));
    }
  });
  EXPECT_TRUE(good);
}
#endif

}  // namespace
}  // namespace muster
