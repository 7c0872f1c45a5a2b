#include "device/execution.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace muster {

static void PrintTo(Products products, std::ostream* out) {
  *out << (products == Products::plain ? "plain loops" : "the fastest there is");
}

namespace {

/// -1 to 1, of 8 bits: products and sums of a few thousand are exact in float.
std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<int>(seed >> 24) - 128) / 128.0f;
  }
  return values;
}

std::size_t at(int row, int columns, int column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column);
}

class HostExecution : public testing::TestWithParam<Products> {
 protected:
  std::unique_ptr<Execution> execution = make_host_execution(GetParam(), 1);
};

TEST_P(HostExecution, ProductsOfAllShapesAndSidesAreExact) {
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {3, 5, 7}, {17, 33, 65}, {64, 10, 256}, {240, 31, 1}}) {
    for (const bool a_transposed : {false, true}) {
      for (const bool b_transposed : {false, true}) {
        const auto a = numbers(static_cast<std::size_t>(m * k), 1);
        const auto b = numbers(static_cast<std::size_t>(k * n), 2);
        std::vector<float> c(static_cast<std::size_t>(m * n), std::numeric_limits<float>::quiet_NaN());
        execution->multiply({a.data(), b.data(), c.data(), m, n, k, a_transposed, b_transposed});
        ASSERT_TRUE(execution->finish());
        for (int row = 0; row < m; ++row)
          for (int column = 0; column < n; ++column) {
            double due = 0;
            for (int i = 0; i < k; ++i)
              due += static_cast<double>(a_transposed ? a[at(i, m, row)] : a[at(row, k, i)]) *
                     static_cast<double>(b_transposed ? b[at(column, k, i)] : b[at(i, n, column)]);
            ASSERT_EQ(c[at(row, n, column)], static_cast<float>(due))
                << m << "x" << n << "x" << k << " " << a_transposed << b_transposed << " at " << row << "," << column;
          }
      }
    }
  }
}

TEST_P(HostExecution, MemoryIsZeroAndHoldsWhatIsCopied) {
  auto memory = execution->allocate(100);
  ASSERT_TRUE(memory);
  std::vector<float> out(100, 1.0f);
  execution->copy_out((*memory)->data(), out);
  EXPECT_EQ(out, std::vector<float>(100, 0.0f));
  execution->copy_in(numbers(100, 3), (*memory)->data());
  execution->copy_out((*memory)->data(), out);
  EXPECT_EQ(out, numbers(100, 3));
  execution->clear((*memory)->data(), 99);
  execution->copy_out((*memory)->data(), out);
  EXPECT_EQ(out[98], 0.0f);
  EXPECT_EQ(out[99], numbers(100, 3)[99]);
  EXPECT_TRUE(execution->is_host_memory());
}

TEST_P(HostExecution, TooMuchMemoryIsAnError) {
  const auto memory = execution->allocate(std::size_t{1} << 60);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().kind, ErrorKind::system);
}

TEST_P(HostExecution, BiasRectifierAndTheirDerivatives) {
  std::vector<float> matrix{1, -2, 3, -4, 5, -6};
  const std::vector<float> bias{0.5f, 1, -1};
  std::vector<float> linear = matrix;
  execution->add_bias(linear.data(), bias.data(), 2, 3, false);
  EXPECT_EQ(linear, (std::vector<float>{1.5f, -1, 2, -3.5f, 6, -7}));
  execution->add_bias(matrix.data(), bias.data(), 2, 3, true);
  EXPECT_EQ(matrix, (std::vector<float>{1.5f, 0, 2, 0, 6, 0}));
  std::vector<float> gradient{1, 2, 3, 4, 5, 6};
  execution->mask(gradient.data(), matrix.data(), 6);
  EXPECT_EQ(gradient, (std::vector<float>{1, 0, 3, 0, 5, 0}));
  std::vector<float> sums(3, 9.0f);
  execution->sum_rows(gradient.data(), sums.data(), 2, 3);
  EXPECT_EQ(sums, (std::vector<float>{1, 5, 3}));
}

TEST_P(HostExecution, TheLossOfEqualLogitsIsTheLogarithmOfTheClasses) {
  const std::vector<float> logits(20, 7.0f);
  const std::vector<float> labels{0, 9};
  std::vector<float> gradient(20);
  std::vector<float> tally(2);
  execution->classify({logits.data(), labels.data(), gradient.data(), tally.data(), 2, 10, 0.5f});
  EXPECT_NEAR(tally[0], 2 * std::log(10.0), 1e-5);
  EXPECT_EQ(tally[1], 1.0f) << "the first of equals counts";
  EXPECT_NEAR(gradient[0], (0.1 - 1) / 2, 1e-6);
  EXPECT_NEAR(gradient[1], 0.1 / 2, 1e-6);
  EXPECT_NEAR(gradient[19], (0.1 - 1) / 2, 1e-6);
}

TEST_P(HostExecution, TheGradientIsTheSlopeOfTheLoss) {
  std::vector<float> logits{0.3f, -1.2f, 2.0f, 0.1f};
  const std::vector<float> label{1};
  std::vector<float> gradient(4);
  std::vector<float> ignored(4);
  std::vector<float> tally(2);
  const auto loss = [&](std::vector<float>& into) {
    execution->classify({logits.data(), label.data(), into.data(), tally.data(), 1, 4, 1.0f});
    return static_cast<double>(tally[0]);
  };
  loss(gradient);
  for (std::size_t k = 0; k < 4; ++k) {
    const float kept = logits[k];
    logits[k] = kept + 0.01f;
    const double above = loss(ignored);
    logits[k] = kept - 0.01f;
    const double below = loss(ignored);
    logits[k] = kept;
    EXPECT_NEAR(gradient[k], (above - below) / 0.02, 1e-3) << k;
  }
}

TEST_P(HostExecution, HugeLogitsDoNotOverflow) {
  const std::vector<float> logits{1e30f, -1e30f};
  const std::vector<float> label{0};
  std::vector<float> gradient(2);
  std::vector<float> tally(2);
  execution->classify({logits.data(), label.data(), gradient.data(), tally.data(), 1, 2, 1.0f});
  EXPECT_EQ(tally, (std::vector<float>{0, 1}));
  EXPECT_EQ(gradient, (std::vector<float>{0, 0}));
}

TEST_P(HostExecution, AnUpdateWithMomentum) {
  std::vector<float> parameters{1, 2};
  std::vector<float> velocity{4, -8};
  const std::vector<float> gradient{1, 1};
  execution->update({parameters.data(), velocity.data(), gradient.data(), 2, 0.25f, 0.5f});
  EXPECT_EQ(velocity, (std::vector<float>{3, -3}));
  EXPECT_EQ(parameters, (std::vector<float>{0.25f, 2.75f}));
}

INSTANTIATE_TEST_SUITE_P(Execution, HostExecution, testing::Values(Products::fastest, Products::plain),
                         [](const auto& info) { return info.param == Products::plain ? "Plain" : "Fastest"; });

TEST(HostExecutionName, SaysWhoMultiplies) {
  EXPECT_EQ(make_host_execution(Products::plain, 3)->name(), "host, plain loops");
  const std::string fastest = make_host_execution(Products::fastest, 2)->name();
  EXPECT_EQ(fastest.rfind("host, ", 0), 0u) << fastest;
}

TEST(Scan, EveryBitAndEveryPlaceCount) {
  for (const std::size_t count : {1u, 2u, 7u, 8u, 9u, 100u}) {
    const auto values = numbers(count, 5);
    const Scan whole = scan(values);
    EXPECT_EQ(scan(values), whole);
    EXPECT_TRUE(whole.is_finite);
    EXPECT_FALSE(whole.is_zero);
    for (std::size_t i = 0; i < count; ++i)
      for (unsigned bit = 0; bit < 32; ++bit) {
        auto changed = values;
        reinterpret_cast<std::uint8_t*>(&changed[i])[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
        ASSERT_NE(scan(changed).fingerprint, whole.fingerprint) << count << " " << i << " " << bit;
      }
    auto longer = values;
    longer.push_back(0);
    EXPECT_NE(scan(longer).fingerprint, whole.fingerprint);
    if (count < 9) continue;
    auto swapped = values;
    std::swap(swapped[0], swapped[8]);
    EXPECT_NE(scan(swapped).fingerprint, whole.fingerprint);
  }
}

TEST(Scan, WhatIsNotFiniteIsSeen) {
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()})
    for (const std::size_t place : {0u, 8u, 10u}) {
      auto values = numbers(11, 1);
      values[place] = odd;
      EXPECT_FALSE(scan(values).is_finite);
    }
  EXPECT_TRUE(scan(std::vector<float>{std::numeric_limits<float>::max(), 0}).is_finite);
}

TEST(Scan, ZerosOfBothSigns) {
  EXPECT_TRUE(scan(std::vector<float>{0.0f, -0.0f}).is_zero);
  EXPECT_TRUE(scan({}).is_zero);
  EXPECT_FALSE(scan(std::vector<float>{0, std::numeric_limits<float>::denorm_min()}).is_zero);
}

}  // namespace
}  // namespace muster
