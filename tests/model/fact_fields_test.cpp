#include "model/fact_fields.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace muster {
namespace {

struct Kind {
  int number = 0;
  double real = 0;
  std::string word;
  std::uint64_t bits = 0;
  std::vector<int> ranks;
  bool is_certain = false;
  std::string rest;
  friend bool operator==(const Kind&, const Kind&) = default;
};
template <class Io>
void fields(Io& io, Kind& fact) {
  io(fact.number);
  io.text(" of ");
  io(fact.real, "{:.3g}");
  io.text(" GB, ");
  io(fact.word);
  io.hex(fact.bits, "{:04x}");
  io(fact.ranks);
  io.choice(fact.is_certain, "certain", "suspected");
  io.rest(fact.rest);
}

struct Tail {
  int number = 0;
  int more = 7;
};
template <class Io>
void fields(Io& io, Tail& fact) {
  io(fact.number);
  if (io.has_more()) io(fact.more);
}

TEST(FactFields, AreWrittenAsPeopleReadThem) {
  EXPECT_EQ(to_fact("x", Kind{3, 0.25, "eth0", 0xab, {0, 3}, true, "in 2 of 3"}),
            (Fact{"x", "3 of 0.25 GB, eth0 00ab 0,3 certain in 2 of 3"}));
  EXPECT_EQ(to_fact("x", Kind{-1, 1e9, "a", 0, {}, false, ""}).value, "-1 of 1e+09 GB, a 0000 - suspected");
}

TEST(FactFields, WhatWasWrittenIsRead) {
  const bool good = rc::check([] {
    Kind kind;
    kind.number = *rc::gen::arbitrary<int>();
    kind.real = *rc::gen::inRange(-999, 999);
    kind.word = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>('!', '~')));
    kind.bits = *rc::gen::arbitrary<std::uint64_t>();
    kind.ranks = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 9999));
    kind.is_certain = *rc::gen::arbitrary<bool>();
    kind.rest = *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~'));
    const std::string text = to_fact("x", kind).value;
    RC_ASSERT(read_fact<Kind>(text) == std::optional(kind));
  });
  EXPECT_TRUE(good);
}

TEST(FactFields, OtherTextIsNoFact) {
  const std::string whole = "3 of 0.25 GB, eth0 ab 0,3 certain";
  ASSERT_TRUE(read_fact<Kind>(whole));
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(read_fact<Kind>(whole.substr(0, length))) << length;
  for (const char* text :
       {"x of 0.25 GB, eth0 ab 0,3 certain", "3 in 0.25 GB, eth0 ab 0,3 certain", "3 of 0.25 GB,  eth0 ab 0,3 certain",
        "3 of 0.25 GB, eth0 zz 0,3 certain", "3 of 0.25 GB, eth0\nx ab 0,3 certain",
        "3 of 0.25 GB, eth0 ab 0,,3 certain", "3 of 0.25 GB, eth0 ab 0,3 perhaps",
        "99999999999 of 0.25 GB, eth0 ab 0,3 certain", "3 of 0.25 GB, eth0 ab 0,3 certainly"})
    EXPECT_FALSE(read_fact<Kind>(text)) << text;
  EXPECT_FALSE(read_fact<Tail>("3 4 5"));
}

TEST(FactFields, TheLastOnesMayBeMissing) {
  EXPECT_EQ(read_fact<Tail>("3")->more, 7);
  EXPECT_EQ(read_fact<Tail>("3 4")->more, 4);
  EXPECT_EQ(to_fact("x", Tail{3, 4}).value, "3 4");
}

TEST(FactFields, WordsOfOthersArePrintable) {
  const auto read = read_fact<Kind>("3 of 0.25 GB, eth\x1b[31m ab 0,3 certain a\nb");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->word.find('\x1b'), std::string::npos);
  EXPECT_EQ(read->rest, "a b");
}

TEST(FactFields, ListsMayBeLong) {
  Kind kind{1, 2, "w", 3, std::vector<int>(5000, 12345), false, std::string(1000, 'x')};
  const auto read = read_fact<Kind>(to_fact("x", kind).value);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ranks, kind.ranks);
  EXPECT_LE(read->rest.size(), 410u);
}

TEST(FactFields, OfAnObservation) {
  Observation seen;
  seen.facts = {{"tail", "no"}, {"tail", "1"}, {"other", "2"}, {"tail", "3 4"}};
  const auto all = facts_of<Tail>(seen, "tail");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].more, 4);
  EXPECT_FALSE(first_fact<Tail>(seen, "tail")) << "the first one can't be read";
  EXPECT_EQ(first_fact<Tail>(seen, "other")->number, 2);
  EXPECT_FALSE(first_fact<Tail>(seen, "none"));
}

}  // namespace
}  // namespace muster
