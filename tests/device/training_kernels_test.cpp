// The kernels of a training, run by threads of the host, against what the host does itself.
#include <gtest/gtest.h>
#include <limits>

#include "device/execution.hpp"
#include "kernels_on_threads.hpp"

namespace muster {
namespace {

namespace cu = on_threads;

std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<int>(seed >> 24) - 128) / 128.0f;
  }
  return values;
}

std::size_t product_of(int rows, int columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

unsigned blocks(int count, int threads) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

class TrainingKernels : public testing::Test {
 protected:
  std::unique_ptr<Execution> host = make_host_execution(Products::plain, 1);
};

TEST_F(TrainingKernels, ProductsOfAllShapesAndSidesAreExact) {
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {3, 5, 7}, {17, 33, 65}, {32, 10, 128}, {50, 31, 1}})
    for (const bool left : {false, true})
      for (const bool right : {false, true}) {
        const auto a = numbers(product_of(m, k), 1);
        const auto b = numbers(product_of(k, n), 2);
        std::vector<float> due(product_of(m, n));
        std::vector<float> got(due.size(), std::numeric_limits<float>::quiet_NaN());
        host->multiply({a.data(), b.data(), due.data(), m, n, k, left, right});
        cu::launch({blocks(n, 16), blocks(m, 16)}, {16, 16}, [&, m = m, n = n, k = k] {
          cu::muster_train_product(a.data(), b.data(), got.data(), m, n, k, left, right);
        });
        ASSERT_EQ(got, due) << m << "x" << n << "x" << k << " " << left << right;
      }
}

TEST_F(TrainingKernels, BiasRectifierMaskAndUpdate) {
  for (const bool is_rectified : {false, true}) {
    auto due = numbers(7 * 70, 3);
    auto got = due;
    const auto bias = numbers(70, 4);
    host->add_bias(due.data(), bias.data(), 7, 70, is_rectified);
    cu::launch({2, 1}, {64, 1}, [&] { cu::muster_train_bias(got.data(), bias.data(), got.size(), 70, is_rectified); });
    EXPECT_EQ(got, due);
    auto gradient = numbers(got.size(), 5);
    auto due_gradient = gradient;
    host->mask(due_gradient.data(), due.data(), due.size());
    cu::launch({2, 1}, {64, 1}, [&] { cu::muster_train_mask(gradient.data(), got.data(), got.size()); });
    EXPECT_EQ(gradient, due_gradient);
  }
  auto parameters = numbers(300, 6), velocity = numbers(300, 7);
  auto due = parameters, due_velocity = velocity;
  const auto gradient = numbers(300, 8);
  for (int i = 0; i < 3; ++i) {
    host->update({due.data(), due_velocity.data(), gradient.data(), 300, 0.05f, 0.9f});
    cu::launch({2, 1}, {64, 1},
               [&] { cu::muster_train_update(parameters.data(), velocity.data(), gradient.data(), 300, 0.05f, 0.9f); });
  }
  EXPECT_EQ(parameters, due) << "to the bit";
  EXPECT_EQ(velocity, due_velocity);
}

TEST_F(TrainingKernels, SumsOfRows) {
  for (const auto& [rows, columns] : {std::tuple{1, 1}, {5, 33}, {30, 10}, {100, 64}}) {
    const auto matrix = numbers(product_of(rows, columns), 9);
    std::vector<float> due(static_cast<std::size_t>(columns));
    std::vector<float> got(due.size(), 9.0f);
    host->sum_rows(matrix.data(), due.data(), rows, columns);
    cu::launch({blocks(columns, 32), 1}, {32, 8}, [&, rows = rows, columns = columns] {
      cu::muster_train_sum_rows(matrix.data(), got.data(), rows, columns);
    });
    EXPECT_EQ(got, due) << rows << "x" << columns;
  }
}

TEST_F(TrainingKernels, LossesGradientsAndHits) {
  for (const auto& [rows, classes] : {std::tuple{1, 2}, {30, 10}, {600, 3}}) {
    auto logits = numbers(product_of(rows, classes), 10);
    logits[0] = 80;  // its exponential is more than a float holds
    std::vector<float> labels;
    for (int row = 0; row < rows; ++row) labels.push_back(static_cast<float>(row % classes));
    std::vector<float> due(logits.size()), got(logits.size()), results(2 * labels.size());
    std::vector<float> due_tally(2), tally(2);
    host->classify({logits.data(), labels.data(), due.data(), due_tally.data(), rows, classes, 0.5f});
    cu::launch({blocks(rows, 128), 1}, {128, 1}, [&, rows = rows, classes = classes] {
      cu::muster_train_classify(logits.data(), labels.data(), got.data(), results.data(), rows, classes, 0.5f);
    });
    cu::launch({1, 1}, {256, 1}, [&, rows = rows] { cu::muster_train_tally(results.data(), tally.data(), rows); });
    for (std::size_t i = 0; i < due.size(); ++i) ASSERT_NEAR(got[i], due[i], 1e-6f);
    EXPECT_NEAR(tally[0], due_tally[0], 1e-5f * due_tally[0] + 1e-6f);
    EXPECT_EQ(tally[1], due_tally[1]);
  }
}

}  // namespace
}  // namespace muster
