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

std::string back(const std::string& text) {
  TaggedLines lines;
  feed(lines, tag_lines("nid001", text));
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
  const auto first = lines(tag_lines("n1", one + "\n"));
  const std::string of_one = tag_lines("n1", one + "\n");
  const std::string of_two = tag_lines("n2", two);
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
  const auto text = tag_lines("n1", "half of it");
  feed(lines, std::string_view(text).substr(0, text.size() - 2));
  EXPECT_EQ(lines.answer_of("n1"), nullptr);
  EXPECT_EQ(lines.whole(), 0u);
  feed(lines, ".\n");
  EXPECT_NE(lines.answer_of("n1"), nullptr);
}

TEST(TaggedLines, NoiseIsNobodys) {
  TaggedLines lines;
  feed(lines, "\n@\n@n1\n@n1 \n@n1 ?x\n@n1 .x\nn1 .\n");
  EXPECT_EQ(lines.answer_of("n1"), nullptr);
  feed(lines, std::string(200'000, 'x'));
  feed(lines, "\n@n1 .\n");
  EXPECT_EQ(*lines.answer_of("n1"), "");
  feed(lines, "@n1 =late\n");
  EXPECT_EQ(*lines.answer_of("n1"), "");
}

}  // namespace
}  // namespace muster
