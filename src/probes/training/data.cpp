#include "probes/training/data.hpp"

#include <algorithm>
#include <numeric>

#include "device/execution.hpp"
#include "measure/pattern.hpp"

namespace muster::training {

namespace {

using p2p::mix;

// Streams of random numbers; those of orders are order_stream + epoch.
constexpr std::uint64_t centre_stream = 1;
constexpr std::uint64_t sample_stream = 2;
constexpr std::uint64_t held_out_stream = 3;
constexpr std::uint64_t order_stream = 1 << 16;

constexpr int centres_per_class = 3;

/// -1, or 1: a corner of the cube. Corners drawn at random are about equally far from each other.
float centre(const Settings& settings, std::uint64_t which, int feature) {
  const std::uint64_t at = which * static_cast<std::uint64_t>(settings.features) + static_cast<std::uint64_t>(feature);
  return (random_bits(settings.seed, centre_stream, at) & 1U) != 0 ? 1.0f : -1.0f;
}

/// The sum of four 16-bit numbers, less its mean, in units such that the standard deviation is 1.155: exact in float.
float noise(std::uint64_t bits) {
  const auto sum =
      static_cast<std::int32_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48));
  return static_cast<float>(sum - 2 * 65536) / 32768.0f;
}

DataSet make_data(const Settings& settings, std::uint64_t stream, int count) {
  DataSet data{settings.features, settings.classes, {}, {}};
  data.values.reserve(static_cast<std::size_t>(count) * static_cast<std::size_t>(settings.features));
  for (int index = 0; index < count; ++index) {
    const std::uint64_t first = static_cast<std::uint64_t>(index) * (static_cast<std::uint64_t>(settings.features) + 1);
    const std::uint64_t which =
        random_bits(settings.seed, stream, first) % static_cast<std::uint64_t>(settings.classes * centres_per_class);
    data.labels.push_back(static_cast<float>(which % static_cast<std::uint64_t>(settings.classes)));
    for (int feature = 0; feature < settings.features; ++feature)
      data.values.push_back(centre(settings, which, feature) +
                            noise(random_bits(settings.seed, stream, first + 1 + static_cast<std::uint64_t>(feature))));
  }
  return data;
}

}  // namespace

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return mix(mix(mix(seed) ^ stream) + index);
}

int Settings::batch_at(int step) const {
  return std::min(batch, samples - step * batch);
}

DataSet make_training_data(const Settings& settings) {
  return make_data(settings, sample_stream, settings.samples);
}

DataSet make_held_out_data(const Settings& settings) {
  return make_data(settings, held_out_stream, settings.held_out);
}

std::uint64_t fingerprint(const DataSet& data) {
  return mix(scan(data.values).fingerprint ^ mix(scan(data.labels).fingerprint));
}

std::vector<std::uint32_t> order_of(const Settings& settings, int epoch) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(settings.samples));
  std::iota(order.begin(), order.end(), 0U);
  // Source: Fisher and Yates's shuffle as in Durstenfeld, Algorithm 235, Comm. ACM 7 (1964).
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1],
              order[random_bits(settings.seed, order_stream + static_cast<std::uint64_t>(epoch), left) % left]);
  return order;
}

std::span<const std::uint32_t> part_of(std::span<const std::uint32_t> batch, int rank, int ranks) {
  const auto all = static_cast<std::size_t>(ranks);
  const auto mine = static_cast<std::size_t>(rank);
  const std::size_t begin = batch.size() * mine / all;
  return batch.subspan(begin, batch.size() * (mine + 1) / all - begin);
}

}  // namespace muster::training
