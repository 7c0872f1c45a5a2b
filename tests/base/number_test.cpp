#include "base/number.hpp"

#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace muster {
namespace {

template <class Number>
void expect_same_again() {
  using Limits = std::numeric_limits<Number>;
  for (const Number value : {Limits::lowest(), Limits::min(), Number{0}, Number{1}, Number{77}, Limits::max()}) {
    const std::string text = fmt::format("{}", value);
    EXPECT_EQ(parse_number<Number>(text), value) << text;
    EXPECT_EQ(leading_number<Number>(text + " and more"), value) << text;
    EXPECT_EQ(parse_number_from(text, value, value), value) << text;
  }
}

TEST(NumberTest, TheWholeOfATextIsANumber) {
  EXPECT_EQ(parse_number<int>("42"), 42);
  EXPECT_EQ(parse_number<int>("-42"), -42);
  EXPECT_EQ(parse_number<int>("007"), 7);
  for (const char* text : {"", " ", "-", "+1", " 1", "1 ", "1x", "x1", "1.5", "0x10", "--1"})
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
  EXPECT_EQ(parse_number<int>(std::string_view()), std::nullopt);
}

TEST(NumberTest, NumbersThatDoNotFit) {
  EXPECT_EQ(parse_number<int>("2147483647"), 2147483647);
  EXPECT_EQ(parse_number<int>("2147483648"), std::nullopt);
  EXPECT_EQ(parse_number<int>("-2147483649"), std::nullopt);
  EXPECT_EQ(leading_number<int>("2147483648 ranks"), std::nullopt);
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_number<double>("1e999"), std::nullopt);
  for (const char* text : {"-1", "-0"}) EXPECT_EQ(parse_number<unsigned>(text), std::nullopt) << text;
}

TEST(NumberTest, OtherBases) {
  EXPECT_EQ(parse_number<unsigned>("Ff", 16), 255u);
  EXPECT_EQ(parse_number<int>("-10", 16), -16);
  EXPECT_EQ(parse_number<int>("010", 8), 8);
  EXPECT_EQ(parse_number<unsigned>("0x10", 16), std::nullopt);
  EXPECT_EQ(parse_number<unsigned>("fg", 16), std::nullopt);
  EXPECT_EQ(leading_number<unsigned>("fg", 16), 15u);
  EXPECT_EQ(parse_number<std::uint32_t>("100000000", 16), std::nullopt);
}

TEST(NumberTest, FloatingPoint) {
  EXPECT_EQ(parse_number<double>("1.5"), 1.5);
  EXPECT_EQ(parse_number<double>("-2.5e3"), -2500);
  EXPECT_EQ(parse_number<double>(".5"), 0.5);
  EXPECT_EQ(parse_number<double>("1."), 1);
  EXPECT_EQ(parse_number<double>("inf"), INFINITY);
  EXPECT_TRUE(std::isnan(parse_number<double>("nan").value_or(0)));
  for (const char* text : {"", ".", "e5", "+1.5", "1,5", "1.5 s"})
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
  EXPECT_EQ(parse_number<double>("1e3", std::chars_format::fixed), std::nullopt);
  EXPECT_EQ(leading_number<double>("1e3", std::chars_format::fixed), 1);
  EXPECT_EQ(leading_number<double>("1e3"), 1000);
}

TEST(NumberTest, TheNumberThatATextBeginsWith) {
  EXPECT_EQ(leading_number<int>("5.0.3"), 5);
  EXPECT_EQ(leading_number<int>("-3 of 4"), -3);
  EXPECT_EQ(leading_number<int>("12"), 12);
  for (const char* text : {"", "of 4", " 4", "+4", "-"}) EXPECT_EQ(leading_number<int>(text), std::nullopt) << text;
}

TEST(NumberTest, ANumberIsTakenAway) {
  std::string_view text = "12:34";
  EXPECT_EQ(take_number<int>(text), 12);
  EXPECT_EQ(text, ":34");
  EXPECT_EQ(take_number<int>(text), std::nullopt);
  EXPECT_EQ(text, ":34") << "stays where there is none";
  text.remove_prefix(1);
  EXPECT_EQ(take_number<int>(text), 34);
  EXPECT_EQ(text, "");
  EXPECT_EQ(take_number<int>(text), std::nullopt);
  text = "99999999999 more";
  EXPECT_EQ(take_number<int>(text), std::nullopt);
  EXPECT_EQ(text, "99999999999 more");
}

TEST(NumberTest, NumbersOfARange) {
  EXPECT_EQ(parse_number_from("0", 0), 0);
  EXPECT_EQ(parse_number_from("-1", 0), std::nullopt);
  EXPECT_EQ(parse_number_from("-1", -1), -1);
  EXPECT_EQ(parse_number_from("65535", 1, 65535), 65535);
  EXPECT_EQ(parse_number_from("65536", 1, 65535), std::nullopt);
  EXPECT_EQ(parse_number_from("7 ", 1, 65535), std::nullopt);
  EXPECT_EQ(parse_number_from<std::size_t>("3", 1, 4), 3u);
  EXPECT_EQ(parse_number_from("4294967296", 0L), 4294967296L);
  EXPECT_EQ(parse_number_from("inf", 0.0), std::nullopt);
  EXPECT_EQ(parse_number_from("nan", 0.0), std::nullopt);
}

TEST(NumberTest, ANumberIsReadInto) {
  int number = -1;
  EXPECT_TRUE(read_number("12", number));
  EXPECT_EQ(number, 12);
  for (const char* text : {"", "x", "99999999999"}) {
    EXPECT_FALSE(read_number(text, number)) << text;
    EXPECT_EQ(number, 12) << text;
  }
  EXPECT_FALSE(read_number("34 of 56", number));
  EXPECT_EQ(number, 34);
  std::uint32_t bits = 0;
  EXPECT_TRUE(read_number("1f", bits, 16));
  EXPECT_EQ(bits, 31u);
}

TEST(NumberTest, WhatIsPrintedIsReadAgain) {
  expect_same_again<int>();
  expect_same_again<unsigned>();
  expect_same_again<std::int64_t>();
  expect_same_again<std::uint64_t>();
  expect_same_again<double>();
}

}  // namespace
}  // namespace muster
