/// What is trained, and on what: a data set that anybody can make again from a few numbers, and the order of its
/// samples. docs/methods/training.md has the formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace muster::training {

struct Settings {
  std::uint64_t seed = 1;
  int samples = 5000;   ///< that are trained on
  int held_out = 2000;  ///< that accuracy is measured with
  int features = 64;
  int classes = 10;
  int hidden = 256;  ///< width of each of the two hidden layers
  int batch = 240;   ///< of all ranks together
  int epochs = 8;
  float rate = 0.05f;
  float momentum = 0.9f;
  std::size_t bucket_bytes = 8192;
  int reference_steps = 100;

  [[nodiscard]] int steps_per_epoch() const { return (samples + batch - 1) / batch; }
  /// Samples of the batch of `step`, counted within its epoch: the last one may be smaller.
  [[nodiscard]] int batch_at(int step) const;
};

struct DataSet {
  int features = 0;
  int classes = 0;
  std::vector<float> values;  ///< sample after sample
  std::vector<float> labels;  ///< whole numbers

  [[nodiscard]] std::size_t size() const { return labels.size(); }
  [[nodiscard]] std::span<const float> sample(std::size_t index) const {
    const auto width = static_cast<std::size_t>(features);
    return std::span(values).subspan(index * width, width);
  }
};

/// Samples 0 to samples - 1. Each class has three centres; a sample is one of them and noise. Made of whole numbers and
/// divisions by powers of two: the same bits everywhere.
[[nodiscard]] DataSet make_training_data(const Settings& settings);
/// Others from the same distribution.
[[nodiscard]] DataSet make_held_out_data(const Settings& settings);
[[nodiscard]] std::uint64_t fingerprint(const DataSet& data);

/// The order of the samples in an epoch: a permutation, another one for each epoch.
[[nodiscard]] std::vector<std::uint32_t> order_of(const Settings& settings, int epoch);

/// The part of a batch that `rank` of `ranks` takes: its n samples fall to the ranks in order, in parts whose sizes
/// differ by one at most; empty where there are more ranks than samples.
[[nodiscard]] std::span<const std::uint32_t> part_of(std::span<const std::uint32_t> batch, int rank, int ranks);

/// Random bits of place `index` in stream `stream`.
[[nodiscard]] std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

}  // namespace muster::training
