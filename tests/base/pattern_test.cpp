#include "base/pattern.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Matches = std::vector<std::vector<std::string>>;

std::string error_of(std::string_view text) {
  const auto pattern = Pattern::compile(text);
  return pattern ? "" : to_string(pattern.error());
}

TEST(Pattern, IsFoundAnywhereUnlessAnchored) {
  const auto pattern = Pattern::compile(R"(nid0{2,}\d+$)");
  ASSERT_TRUE(pattern);
  EXPECT_TRUE(pattern->is_found_in("login, nid00123"));
  EXPECT_FALSE(pattern->is_found_in("nid00123-hsn0"));
  EXPECT_TRUE(Pattern::compile("")->is_found_in("anything"));
}

TEST(Pattern, NamesWhatRe2Lacks) {
  EXPECT_EQ(error_of("a(?=b)"), R"("(?=": RE2 has no lookahead)");
  EXPECT_EQ(error_of("a(?!b)"), R"("(?!": RE2 has no lookahead)");
  EXPECT_EQ(error_of("(?<=a)b"), R"("(?<": RE2 has no lookbehind; a named group is written (?P<name>...))");
  EXPECT_EQ(error_of("(?>a)"), R"("(?>": RE2 has no atomic groups)");
  EXPECT_EQ(error_of(R"((a)\1)"), R"("\1": RE2 has no back-references)");
  EXPECT_EQ(error_of("("), "missing ): (");
  EXPECT_EQ(error_of("a{5,2}"), "invalid repetition size: {5,2}");
  EXPECT_EQ(error_of("\xff"), "invalid UTF-8");
}

TEST(Pattern, GivesTheGroupsOfEveryMatch) {
  const auto pattern = Pattern::compile(R"((?P<size>\d+) B: ([\d.]+)(!)?)");
  ASSERT_TRUE(pattern);
  EXPECT_EQ(pattern->groups(), 3);
  EXPECT_EQ(pattern->group_names(), (std::vector<std::string>{"size", "", ""}));
  const std::string text = "8 B: 1.5, 16 B: 2.25!, x B: 3";
  EXPECT_EQ(pattern->matches(text, 10), (Matches{{"8", "1.5", ""}, {"16", "2.25", "!"}}));
  EXPECT_EQ(pattern->matches(text, 1).size(), 1u);
}

TEST(Pattern, AnEmptyMatchIsFoundOnce) {
  const auto pattern = Pattern::compile("(b*)");
  ASSERT_TRUE(pattern);
  EXPECT_EQ(pattern->matches("ab", 10), (Matches{{""}, {"b"}, {""}}));
}

TEST(Pattern, TakesTimeLinearInTheText) {
  const auto pattern = Pattern::compile("^(a+)+$");
  ASSERT_TRUE(pattern);
  EXPECT_FALSE(pattern->is_found_in(std::string(1'000'000, 'a') + "b")) << "a backtracking engine would not come back";
  EXPECT_NE(error_of(std::string(100'000, '(')), "") << "nor does a deep pattern end the program";
}

TEST(Pattern, OfAMalformedOneNothingIsKnown) {
  EXPECT_EQ(is_pattern_found("(", "text"), std::nullopt);
  EXPECT_EQ(is_pattern_found("ex", "text"), true);
  EXPECT_EQ(is_pattern_found("^ex", "text"), false);
}

}  // namespace
}  // namespace muster
