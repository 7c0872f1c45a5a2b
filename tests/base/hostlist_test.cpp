#include "base/hostlist.hpp"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <gtest/gtest.h>
#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

#include "base/text.hpp"

namespace muster {
namespace {

using Hosts = std::vector<std::string>;

/// The hosts, comma separated; or the error's sentence.
std::string expanded(std::string_view text) {
  const auto hosts = expand_hostlist(text);
  return hosts ? join(*hosts, ",") : "error: " + hosts.error().what;
}

// What `scontrol show hostnames` of Slurm 22.05.8 prints.
TEST(HostlistTest, ExpandsAsSlurmDoes) {
  const std::pair<const char*, const char*> cases[]{
      {"nid[001234-001237,001300]", "nid001234,nid001235,nid001236,nid001237,nid001300"},
      {"nid[005038,005270]", "nid005038,nid005270"},
      {"c608-[081-084]", "c608-081,c608-082,c608-083,c608-084"},
      {"c[608-609]-[081-082]", "c608-081,c608-082,c609-081,c609-082"},
      {"c608-081,c641-092", "c608-081,c641-092"},
      {"x[1-2]y[3-4]", "x1y3,x1y4,x2y3,x2y4"},
      {"a[1-2]b[1-2]c[1-2]", "a1b1c1,a1b1c2,a2b1c1,a2b1c2,a1b2c1,a1b2c2,a2b2c1,a2b2c2"},
      {"nid[1-2][3-4]", "nid13,nid14,nid23,nid24"},
      {"[1-3]", "1,2,3"},
      {"[00-2]", "00,01,02"},
      {"nid[9-11]", "nid9,nid10,nid11"},
      {"nid[09-11]", "nid09,nid10,nid11"},
      {"nid[3,1,2]", "nid3,nid1,nid2"},
      {"nid[1-3,2]", "nid1,nid2,nid3,nid2"},
      {"nid1,nid1", "nid1,nid1"},
      {"nid1 nid2", "nid1,nid2"},
      {"nid[1-2] nid3", "nid1,nid2,nid3"},
      {"nid1\nnid2\tnid3", "nid1,nid2,nid3"},
      {",,nid1,,nid2,", "nid1,nid2"},
      {"n1-n3", "n1-n3"},
      {"login", "login"},
      {"node[0001-0003]-int", "node0001-int,node0002-int,node0003-int"},  // from 23.11 on
      {"", ""},
      {" , ", ""},
  };
  for (const auto& [text, hosts] : cases) EXPECT_EQ(expanded(text), hosts) << text;
}

TEST(HostlistTest, CountsAsSlurmDoes) {
  const std::pair<const char*, std::size_t> cases[]{
      {"frontier[00001-00010],x[1-2]y[3-4]", 14},
      {"cpusm[01-77]", 77},
      {"gpumd[01-10]", 10},
      {"rack[0-63]_blade[0-41]", 2688},
      {"nid[0-65535]", 65536},
      {"a[0-255]b[0-255]c[1-4]", 262144},
      {"a[0-65535],b[0-65535],c[0-65535],d[0-65535]", 262144},
  };
  for (const auto& [text, count] : cases) {
    const auto hosts = expand_hostlist(text);
    ASSERT_TRUE(hosts) << text << ": " << hosts.error().what;
    EXPECT_EQ(hosts->size(), count) << text;
  }
  const auto racks = *expand_hostlist("rack[0-63]_blade[0-41]");
  EXPECT_EQ(racks.front(), "rack0_blade0");
  EXPECT_EQ(racks.back(), "rack63_blade41");
}

TEST(HostlistTest, ACallerMayTakeFewer) {
  for (const char* text : {"n[1-5]", "n[1-2]x[1-2],m", "a,b,c,d,e"}) {
    EXPECT_EQ(expand_hostlist(text, 5)->size(), 5U) << text;
    EXPECT_EQ(expand_hostlist(text, 4).error().what, fmt::format("more than 4 hosts in host list \"{}\"", text));
  }
}

TEST(HostlistTest, RefusesNamingTheColumn) {
  const std::pair<const char*, const char*> cases[]{
      {"nid[]", "column 5: nothing where a number is expected in host list \"nid[]\""},
      {"nid[1,]", "column 7: nothing where a number is expected"},
      {"nid[,1]", "column 5: nothing where a number is expected"},
      {"nid[-1]", "column 5: \"-1\", which is not a number or range"},
      {"nid[1-]", "column 5: \"1-\", which is not a number or range"},
      {"nid[3-1]", "column 5: the range 3-1, which runs backwards"},
      {"nid[1--2]", "column 5: \"1--2\", which is not a number or range"},
      {"nid[a-c]", "column 5: \"a-c\", which is not a number or range"},
      {"nid[1 ,2]", "column 5: \"1 \", which is not a number or range"},
      {"nid[0x1-0x3]", "column 5: \"0x1-0x3\", which is not a number or range"},
      {"nid[[1,3]]", "column 5: \"[1\", which is not a number or range"},
      {"nid[1", "column 4: a [ that is never closed"},
      {"nid1]", "column 5: a ] without its ["},
      {"nid[1-2]]", "column 9: a ] without its ["},
      {"ok,nid[5-6,8-7]", "column 12: the range 8-7, which runs backwards"},
      {"nid[0-65536]", "column 5: the range 0-65536, which has more than 65536 hosts"},
      {"nid[0-18446744073709551615]", "column 5: \"0-18446744073709551615\", which is not a number or range"},
      {"foo[0-1,2--5]", "column 9: \"2--5\", which is not a number or range"},
  };
  for (const auto& [text, sentence] : cases) {
    const auto hosts = expand_hostlist(text);
    ASSERT_FALSE(hosts) << text << " gave " << join(*hosts, ",");
    EXPECT_EQ(hosts.error().kind, ErrorKind::usage);
    EXPECT_EQ(hosts.error().what.substr(0, std::string_view(sentence).size()), sentence) << text;
    EXPECT_EQ(to_string(hosts.error()), hosts.error().what) << "the column is not said twice";
  }
}

TEST(HostlistTest, RefusesWhatIsTooManyBeforeMakingIt) {
  std::string ranges = "n[0-65535";
  for (int i = 0; i < 20000; ++i) ranges += ",0-65535";  // 1.3e9 hosts
  std::string brackets = "n";
  for (int i = 0; i < 200000; ++i) brackets += "[1]";
  std::string powers = "n";
  for (int i = 0; i < 16; ++i) powers += "[0-65535]";
  std::string literals = "a";
  for (int i = 0; i < 262144; ++i) literals += ",a";
  const std::clock_t start = std::clock();
  EXPECT_EQ(expanded(ranges + "]").substr(0, 34), "error: more than 262144 hosts in h");
  EXPECT_EQ(expanded(ranges + "]x[1-2]").substr(0, 34), "error: more than 65536 prefixes in");
  EXPECT_EQ(expanded(brackets).substr(0, 53), "error: column 1: a name with more than 16 brackets in");
  EXPECT_EQ(expanded(powers).substr(0, 34), "error: more than 65536 prefixes in");
  EXPECT_EQ(expanded("a[0-256]b[0-256]c[1-4]").substr(0, 34), "error: more than 65536 prefixes in");
  EXPECT_EQ(expanded("a[1-4]b[0-65535],c").substr(0, 34), "error: more than 262144 hosts in h");
  EXPECT_EQ(expanded(literals).substr(0, 34), "error: more than 262144 hosts in h");
  EXPECT_EQ(expanded("x," + std::string(1025, 'y')).substr(0, 55),
            "error: column 3: a name of more than 1024 characters in");
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
}

TEST(HostlistTest, ErrorsShowHostileTextHarmlessly) {
  EXPECT_EQ(expanded("\x1b[2J]"), "error: column 3: \"2J\", which is not a number or range in host list \"\\x1b[2J]\"");
}

TEST(HostlistTest, CompressesTheLastNumberOnly) {
  const std::pair<Hosts, const char*> cases[]{
      {{}, ""},
      {{"login"}, "login"},
      {{"nid001"}, "nid001"},
      {{"nid001", "nid002", "nid003"}, "nid[001-003]"},
      {{"nid001", "nid002", "nid004"}, "nid[001-002,004]"},
      {{"x1y3", "x1y4", "x2y3"}, "x1y[3-4],x2y3"},
      {{"nid1", "nid01"}, "nid[1,01]"},
      {{"nid9", "nid10", "nid11"}, "nid[9-11]"},
      {{"nid09", "nid10"}, "nid[09-10]"},
      {{"nid099", "nid100"}, "nid[099-100]"},
      {{"nid3", "nid1", "nid2"}, "nid[3,1-2]"},
      {{"nid1", "nid1"}, "nid[1,1]"},
      {{"nid2", "nid1"}, "nid[2,1]"},
      {{"a1", "b1", "a2"}, "a1,b1,a2"},
      {{"n1-int", "n2-int", "n2"}, "n[1-2]-int,n2"},
      {{"1", "2"}, "[1-2]"},
      {{"n999999999999999999", "n1000000000000000000"}, "n999999999999999999,n1000000000000000000"},
  };
  for (const auto& [hosts, text] : cases) EXPECT_EQ(compress_hostlist(hosts), text);
}

TEST(HostlistTest, CompressedRangesAreNoLongerThanExpandAllows) {
  auto hosts = *expand_hostlist("n[0-65535]");
  hosts.push_back("n65536");
  EXPECT_EQ(compress_hostlist(hosts), "n[0-65535,65536]");
  EXPECT_EQ(*expand_hostlist(compress_hostlist(hosts)), hosts);
}

#ifdef MUSTER_HAVE_RAPIDCHECK
rc::Gen<std::string> host_name() {
  const auto piece = rc::gen::weightedOneOf<std::string>({
      {3, rc::gen::element<std::string>("nid", "x", "-", "a", ".cluster")},
      {4, rc::gen::map(rc::gen::inRange(0, 12), [](int n) { return std::to_string(n); })},
      {2, rc::gen::element<std::string>("0", "00", "01", "09", "010", "099", "100", "999999999999999999")},
  });
  return rc::gen::suchThat(
      rc::gen::map(rc::gen::container<Hosts>(piece), [](const Hosts& all) { return join(all, ""); }),
      [](const std::string& name) { return !name.empty(); });
}

TEST(HostlistTest, ExpandUndoesCompress) {
  const bool good = rc::check([] {
    const auto hosts = *rc::gen::container<Hosts>(host_name());
    const auto text = compress_hostlist(hosts);
    const auto back = expand_hostlist(text);
    RC_LOG() << text;
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == hosts);
    // Brackets are all that compression may add.
    const auto brackets = static_cast<std::size_t>(std::count(text.begin(), text.end(), '['));
    RC_ASSERT(text.size() <= join(hosts, ",").size() + 2 * brackets);
  });
  EXPECT_TRUE(good);
}

TEST(HostlistTest, ExpandUndoesCompressForRuns) {
  const bool good = rc::check([] {
    const auto width = *rc::gen::inRange(1, 6);
    const auto first = *rc::gen::inRange(0, 2000);
    const auto many = *rc::gen::inRange(2, 50);
    Hosts hosts;
    for (int i = first; i < first + many; ++i) {
      auto digits = std::to_string(i);
      if (digits.size() < static_cast<std::size_t>(width))
        digits.insert(0, static_cast<std::size_t>(width) - digits.size(), '0');
      hosts.push_back("nid" + digits);
    }
    const auto text = compress_hostlist(hosts);
    RC_ASSERT(*expand_hostlist(text) == hosts);
    RC_ASSERT(text.find(',') == std::string::npos);
  });
  EXPECT_TRUE(good);
}

TEST(HostlistTest, WhatIsExpandedSurvivesACompression) {
  const bool good = rc::check([] {
    const auto text = *rc::gen::container<std::string>(rc::gen::element('n', '1', '2', '0', '[', ']', ',', '-', ' '));
    const auto hosts = expand_hostlist(text);
    if (hosts) RC_ASSERT((expand_hostlist(compress_hostlist(*hosts)) == hosts));
    if (!hosts) RC_ASSERT(!hosts.error().what.empty());
  });
  EXPECT_TRUE(good);
}
#endif

}  // namespace
}  // namespace muster
