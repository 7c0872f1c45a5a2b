// Answers of many nodes through one pipe come out as they went in, however they are mixed.
#include "run/tagged_lines.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "base/text.hpp"

namespace muster {
namespace {

void feed(TaggedLines& lines, std::string_view text) {
  lines.feed({text.data(), text.size()});
}

/// As srun --label hands lines on.
std::string labelled(std::string_view label, const std::string& text) {
  std::string all;
  for (const auto line : lines(text)) all.append(label).append(": ").append(line).append("\n");
  return all;
}

std::string back(const std::string& text) {
  TaggedLines lines;
  feed(lines, labelled("0", tag_lines("nid001", text)));
  const auto* answer = lines.answer_of("nid001");
  return answer == nullptr ? "nothing" : *answer;
}

TEST(TaggedLines, ComeBackAsTheyWere) {
  const std::string of_700(700, 'x');
  for (const std::string& text :
       {std::string(), std::string("a"), std::string("a\n"), std::string("\n\n"), std::string("a\n\nb"), of_700,
        of_700 + "\n", of_700 + "y", of_700 + of_700 + "\n" + of_700 + "\n", std::string("@nid002 .\n")})
    EXPECT_EQ(back(text), text);
}

TEST(TaggedLines, NoLineIsLongerThanSlurmKeepsWhole) {
  const auto text = tag_lines(std::string(255, 'n'), std::string(5000, 'x'));
  for (const auto line : lines(text)) EXPECT_LT(line.size(), 1000u);
}

TEST(TaggedLines, MayBeMixedAndCutAnywhere) {
  const std::string one(2000, '1');
  const std::string two(2000, '2');
  const std::string of_one = labelled(" 9", tag_lines("n1", one + "\n"));
  const std::string of_two = labelled("10", tag_lines("n2", two));
  std::string mixed = "srun: a warning\n";
  const auto a = lines(of_one);
  const auto b = lines(of_two);
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < b.size()) mixed += std::string(b[i]) + "\n";
    if (i < a.size()) mixed += std::string(a[i]) + "\n";
  }
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, mixed.size()}) {
    TaggedLines lines;
    for (std::size_t at = 0; at < mixed.size(); at += step) feed(lines, std::string_view(mixed).substr(at, step));
    ASSERT_NE(lines.answer_of("n1"), nullptr);
    ASSERT_NE(lines.answer_of("n2"), nullptr);
    EXPECT_EQ(*lines.answer_of("n1"), one + "\n");
    EXPECT_EQ(*lines.answer_of("n2"), two);
    EXPECT_EQ(lines.whole(), 2u);
  }
}

TEST(TaggedLines, WithoutItsEndAnAnswerIsNone) {
  TaggedLines lines;
  const auto text = labelled("0", tag_lines("n1", "half of it"));
  feed(lines, std::string_view(text).substr(0, text.size() - 2));
  EXPECT_EQ(lines.answer_of("n1"), nullptr);
  EXPECT_EQ(lines.whole(), 0u);
  feed(lines, ".\n");
  EXPECT_NE(lines.answer_of("n1"), nullptr);
}

TEST(TaggedLines, NoiseHasNoSender) {
  TaggedLines lines;
  feed(lines, "\n@\n0: @n1\n0: @n1 \n0: @n1 ?x\n0: @n1 .x\n0: n1 .\n0:\n0: \n: @n1 .\nP0: @n1 .\n0:@n1 .\n");
  feed(lines, "@n1 .\nP @n1 .\n0 @n1 .\nx: @n1 .\n-1: @n1 .\n");
  EXPECT_EQ(lines.answer_of("n1"), nullptr);
  EXPECT_EQ(lines.tasks_of("n1"), 0u);
  feed(lines, std::string(200'000, 'x'));
  feed(lines, "\n0: @n1 .\n");
  EXPECT_EQ(*lines.answer_of("n1"), "");
  feed(lines, "0: @n1 =late\n");
  EXPECT_EQ(*lines.answer_of("n1"), "");
}

TEST(TaggedLines, ATaskThatSignsForTwoNodesIsDropped) {
  for (const std::string forged : {"1: @n3 .\n1: @n2 .\n", "1: @n2 .\n1: @n3 =1\n", "1: @n3 =1\n1: @n3 .\n1: @x +\n"})
    for (const bool is_first : {true, false}) {
      const std::string honest = "0: @n1 =a\n0: @n1 .\n2: @n3 =c\n2: @n3 .\n";
      TaggedLines lines;
      feed(lines, is_first ? forged + honest : honest + forged);
      EXPECT_EQ(*lines.answer_of("n1"), "a\n");
      EXPECT_EQ(*lines.answer_of("n3"), "c\n");
      EXPECT_EQ(lines.answer_of("n2"), nullptr);
      EXPECT_EQ(lines.whole(), 3u);
      ASSERT_EQ(lines.dropped().size(), 1u);
      EXPECT_EQ(lines.dropped().front().size(), 2u);
    }
}

TEST(TaggedLines, ANodeForWhichTwoTasksSignHasNoAnswer) {
  TaggedLines lines;
  feed(lines, "1: @n3 .\n");
  EXPECT_NE(lines.answer_of("n3"), nullptr);
  feed(lines, "2: @n3 =c\n");
  EXPECT_EQ(lines.answer_of("n3"), nullptr);
  EXPECT_EQ(lines.tasks_of("n3"), 2u);
  feed(lines, "2: @n3 .\n0: @n1 .\n");
  EXPECT_EQ(lines.answer_of("n3"), nullptr);
  EXPECT_NE(lines.answer_of("n1"), nullptr);
  EXPECT_EQ(lines.whole(), 3u);
  EXPECT_TRUE(lines.dropped().empty());
  feed(lines, "1: @n4 .\n");
  EXPECT_EQ(*lines.answer_of("n3"), "c\n") << "of the one that signs for no other";
}

TEST(TaggedLines, NumbersOfTasksMayHaveBlanksAndTheJobsComponent) {
  TaggedLines lines;
  feed(lines, "   7: @n7 =a\n007: @n8 =b\nP1 7: @n9 =c\nP1   7: @n9 .\nP2 7: @n5 .\n");
  feed(lines, "7: @n7 .\n");
  EXPECT_EQ(*lines.answer_of("n7"), "a\n");
  EXPECT_EQ(*lines.answer_of("n9"), "c\n");
  EXPECT_EQ(*lines.answer_of("n5"), "");
}

TEST(TaggedLines, OfManyNamesOfOneTaskEightAreKept) {
  TaggedLines lines;
  for (int i = 0; i < 1000; ++i) feed(lines, "0: @n" + std::to_string(i) + " .\n");
  ASSERT_EQ(lines.dropped().size(), 1u);
  EXPECT_EQ(lines.dropped().front().size(), 8u);
  EXPECT_EQ(lines.whole(), 1u);
}

}  // namespace
}  // namespace muster
