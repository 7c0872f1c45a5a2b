#include <algorithm>
#include <cmath>
#include <numeric>

#include "probes/judging.hpp"
#include "probes/training/network.hpp"

namespace muster::training {
namespace {

TEST(TrainingData, IsTheSameEverywhere) {
  // The fingerprint of the default data set. It may change only together with the checkpoint's version.
  EXPECT_EQ(fingerprint(make_training_data(Settings{})), 7709340985052966793U);
  EXPECT_EQ(fingerprint(make_held_out_data(Settings{})), 17754616434154174854U);
}

TEST(TrainingData, DependsOnTheSeed) {
  Settings settings;
  const auto one = make_training_data(settings);
  settings.seed = 2;
  EXPECT_NE(make_training_data(settings).values, one.values);
}

TEST(TrainingData, HasAllClassesAndWholeLabels) {
  const Settings settings;
  const auto data = make_training_data(settings);
  ASSERT_EQ(data.size(), 5000u);
  std::vector<int> counts(10);
  for (const float label : data.labels) {
    ASSERT_EQ(label, std::floor(label));
    ++counts.at(static_cast<std::size_t>(label));
  }
  for (const int count : counts) EXPECT_NEAR(count, 500, 100);
  double sum = 0;
  for (const float value : data.values) {
    ASSERT_LE(std::abs(value), 5.0f);
    sum += static_cast<double>(value);
  }
  EXPECT_NEAR(sum / static_cast<double>(data.values.size()), 0, 0.3);
}

TEST(TrainingData, HeldOutSamplesAreOthers) {
  const Settings settings;
  const auto data = make_training_data(settings);
  const auto others = make_held_out_data(settings);
  EXPECT_FALSE(std::equal(data.sample(0).begin(), data.sample(0).end(), others.sample(0).begin()));
}

TEST(TrainingOrder, IsAnotherPermutationInEachEpoch) {
  const Settings settings;
  for (const int epoch : {0, 1, 7}) {
    auto order = order_of(settings, epoch);
    EXPECT_NE(order, order_of(settings, epoch + 1));
    EXPECT_EQ(order, order_of(settings, epoch));
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> all(5000);
    std::iota(all.begin(), all.end(), 0U);
    EXPECT_EQ(order, all);
  }
}

TEST(TrainingParts, CoverABatchOnceForAnyNumberOfRanks) {
  for (const std::size_t samples : {1u, 5u, 200u, 240u}) {
    std::vector<std::uint32_t> batch(samples);
    std::iota(batch.begin(), batch.end(), 100U);
    for (const int ranks : {1, 2, 3, 4, 7, 239, 240, 241, 1000}) {
      std::vector<std::uint32_t> taken;
      std::size_t least = samples;
      std::size_t most = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto part = part_of(batch, rank, ranks);
        taken.insert(taken.end(), part.begin(), part.end());
        least = std::min(least, part.size());
        most = std::max(most, part.size());
      }
      EXPECT_EQ(taken, batch) << ranks;
      EXPECT_LE(most - least, 1u) << ranks;
    }
  }
}

TEST(TrainingSteps, TheLastBatchOfAnEpochMayBeSmaller) {
  Settings settings;
  EXPECT_EQ(settings.steps_per_epoch(), 21);
  EXPECT_EQ(settings.batch_at(0), 240);
  EXPECT_EQ(settings.batch_at(20), 200);
  settings.samples = 480;
  EXPECT_EQ(settings.steps_per_epoch(), 2);
  EXPECT_EQ(settings.batch_at(1), 240);
}

TEST(TrainingLayout, BucketsHoldAllTensorsOnceAndATallyEach) {
  Settings settings;
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{8192}, std::size_t{100'000}, std::size_t{1} << 30}) {
    settings.bucket_bytes = bytes;
    const Layout layout = Layout::of(settings);
    ASSERT_EQ(layout.tensors.size(), 6u);
    EXPECT_EQ(layout.tensors[0].name, "fc3.weight");
    EXPECT_EQ(layout.tensors[5].name, "fc1.bias");
    EXPECT_EQ(layout.parameters, 64u * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10);
    std::size_t trained = 0;
    std::size_t at = 0;
    for (const auto& bucket : layout.buckets) {
      EXPECT_EQ(bucket.begin, at);
      EXPECT_GE(bucket.tally, bucket.end);
      EXPECT_EQ(bucket.tally % 16, 0u);
      EXPECT_EQ(bucket.next, bucket.tally + Layout::tally_size);
      trained += bucket.end - bucket.begin;
      at = bucket.next;
    }
    EXPECT_EQ(trained, layout.parameters);
    EXPECT_EQ(at, layout.size);
    EXPECT_EQ(layout.buckets.size(), bytes == 4 || bytes == 8192 ? 3u : bytes == 100'000 ? 2u : 1u) << bytes;
  }
}

TEST(TrainingParameters, FirstOnesLieWithinTheirBoundsAndTalliesAreEmpty) {
  const Settings settings;
  const Layout layout = Layout::of(settings);
  const auto values = initial_parameters(settings, layout);
  std::size_t zeros = 0;
  for (const float value : values) zeros += value == 0;
  const std::size_t weights = 64 * 256 + 256 * 256 + 256 * 10;
  EXPECT_NEAR(static_cast<double>(zeros), static_cast<double>(values.size() - weights), 20);
  for (const auto& tensor : layout.tensors)
    for (std::size_t i = 0; i < tensor.count; ++i)
      ASSERT_LE(std::abs(values[tensor.offset + i]), std::sqrt(6.0f / static_cast<float>(tensor.rows)));
}

/// Gradients against the slope of the loss.
TEST(TrainingNetwork, GradientsAreTheSlopeOfTheLoss) {
  Settings settings;
  settings.samples = 24;
  settings.features = 5;
  settings.hidden = 7;
  settings.classes = 3;
  settings.batch = 24;
  const Layout layout = Layout::of(settings);
  const auto data = make_training_data(settings);
  const auto execution = make_host_execution(Products::plain, 1);
  auto network = Network::make(*execution, settings, layout, 24);
  ASSERT_TRUE(network);
  auto parameters = initial_parameters(settings, layout);
  const auto order = order_of(settings, 0);
  std::vector<std::size_t> buckets;
  const auto loss = [&](std::vector<float>& gradient) {
    network->backward(
        data, order, 24, parameters.data(), gradient.data(), [&](std::size_t bucket) { buckets.push_back(bucket); },
        [] {});
    return static_cast<double>(gradient[layout.buckets[0].tally]) / 24;
  };
  std::vector<float> gradient(layout.size);
  std::vector<float> ignored(layout.size);
  loss(gradient);
  std::vector<std::size_t> all(layout.buckets.size());
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(buckets, all);
  EXPECT_EQ(gradient[layout.buckets[0].tally + Layout::samples_at], 24.0f);
  for (const auto& tensor : layout.tensors)
    for (std::size_t i = 0; i < tensor.count; i += 3) {
      const std::size_t at = tensor.offset + i;
      const float kept = parameters[at];
      parameters[at] = kept + 0.01f;
      const double above = loss(ignored);
      parameters[at] = kept - 0.01f;
      const double below = loss(ignored);
      parameters[at] = kept;
      EXPECT_NEAR(gradient[at], (above - below) / 0.02, 2e-3) << tensor.name << " " << i;
    }
}

TEST(TrainingNetwork, WithoutSamplesAllGradientsAreZero) {
  Settings settings;
  const Layout layout = Layout::of(settings);
  const auto data = make_held_out_data(settings);
  const auto execution = make_host_execution(Products::plain, 1);
  auto network = Network::make(*execution, settings, layout, 1);
  ASSERT_TRUE(network);
  const auto parameters = initial_parameters(settings, layout);
  std::vector<float> gradient(layout.size, 5.0f);
  std::size_t buckets = 0;
  network->backward(
      data, {}, 240, parameters.data(), gradient.data(), [&](std::size_t) { ++buckets; }, [] {});
  EXPECT_EQ(gradient, std::vector<float>(layout.size, 0.0f));
  EXPECT_EQ(buckets, layout.buckets.size());
}

}  // namespace
}  // namespace muster::training
