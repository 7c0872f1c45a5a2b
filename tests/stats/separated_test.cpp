#include "stats/separated.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Separated, WhatIsApartIsBeyondTheBound) {
  EXPECT_DOUBLE_EQ(separated_bound({}, 5), 5);
  EXPECT_DOUBLE_EQ(separated_bound({-9, 1, 2, 20}, 5), 5) << "2 is far below";
  EXPECT_DOUBLE_EQ(separated_bound({1, 4, 20}, 5), 7);
  EXPECT_DOUBLE_EQ(separated_bound({1, 4, 6, 20}, 5), 10.5) << "6 is no outlier beside 4";
  EXPECT_DOUBLE_EQ(separated_bound({6, 8, 20}, 5), 5) << "nothing is inside";
}

TEST(Separated, TheOrderDoesNotMatter) {
  EXPECT_DOUBLE_EQ(separated_bound({20, 6, 4, 1}, 5), 10.5);
}

}  // namespace
}  // namespace muster
