#include "probes/training/network.hpp"

#include <cmath>
#include <fmt/format.h>

namespace muster::training {

namespace {

constexpr std::uint64_t parameter_stream = 4;

std::size_t rounded_up(std::size_t count) {
  return (count + Layout::tally_size - 1) / Layout::tally_size * Layout::tally_size;
}

}  // namespace

Layout Layout::of(const Settings& settings) {
  const std::array<int, 4> widths{settings.features, settings.hidden, settings.hidden, settings.classes};
  Layout layout;
  std::size_t at = 0;
  std::size_t begin = 0;
  const auto add = [&](std::string name, int rows, int columns) {
    const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    layout.tensors.push_back({std::move(name), at, count, rows, columns});
    layout.parameters += count;
    at += count;
  };
  for (std::size_t layer = 3; layer > 0; --layer) {
    add(fmt::format("fc{}.weight", layer), widths[layer - 1], widths[layer]);
    add(fmt::format("fc{}.bias", layer), 1, widths[layer]);
    if ((at - begin) * sizeof(float) < settings.bucket_bytes && layer > 1) continue;
    const std::size_t tally = rounded_up(at);
    layout.buckets.push_back({begin, at, tally, tally + tally_size});
    begin = at = tally + tally_size;
  }
  layout.size = at;
  return layout;
}

std::vector<float> initial_parameters(const Settings& settings, const Layout& layout) {
  std::vector<float> values(layout.size, 0.0f);
  for (const Layout::Tensor& tensor : layout.tensors) {
    if (tensor.rows == 1) continue;
    const bool is_last = &tensor == layout.tensors.data();
    const float widest = std::sqrt(6.0f / static_cast<float>(tensor.rows)) * (is_last ? 0.1f : 1.0f);
    for (std::size_t i = 0; i < tensor.count; ++i) {
      const auto bits = random_bits(settings.seed, parameter_stream, tensor.offset + i) >> 40;
      values[tensor.offset + i] = (static_cast<float>(bits) / 8388608.0f - 1.0f) * widest;
    }
  }
  return values;
}

Network::Network(Execution& execution, const Settings& settings, const Layout& layout)
    : execution_(&execution), layout_(&layout) {
  staged_.reserve(static_cast<std::size_t>(settings.batch) * static_cast<std::size_t>(settings.features));
}

Result<Network> Network::make(Execution& execution, const Settings& settings, const Layout& layout, int most_rows) {
  Network network(execution, settings, layout);
  network.most_rows_ = most_rows;
  const std::array<int, layers + 1> widths{settings.features, settings.hidden, settings.hidden, settings.classes};
  const auto rows = static_cast<std::size_t>(most_rows);
  const auto get = [&](std::unique_ptr<ExecutionMemory>& memory, std::size_t count) -> Result<void> {
    auto got = execution.allocate(count);
    if (!got) return tl::unexpected(got.error());
    memory = std::move(*got);
    return {};
  };
  for (std::size_t i = 0; i < widths.size(); ++i)
    if (auto got = get(network.activations_[i], rows * static_cast<std::size_t>(widths[i])); !got)
      return tl::unexpected(got.error());
  for (std::size_t i = 0; i < layers; ++i)
    if (auto got = get(network.gradients_[i], rows * static_cast<std::size_t>(widths[i + 1])); !got)
      return tl::unexpected(got.error());
  if (auto got = get(network.labels_, rows); !got) return tl::unexpected(got.error());
  if (auto got = get(network.tally_, 2); !got) return tl::unexpected(got.error());
  return network;
}

const Layout::Tensor& Network::weight(int layer) const {
  return layout_->tensors[static_cast<std::size_t>(2 * (layers - 1 - layer))];
}

const Layout::Tensor& Network::bias(int layer) const {
  return layout_->tensors[static_cast<std::size_t>(2 * (layers - 1 - layer) + 1)];
}

void Network::load(const DataSet& data, std::span<const std::uint32_t> which) {
  staged_.clear();
  for (const std::uint32_t index : which) {
    const auto sample = data.sample(index);
    staged_.insert(staged_.end(), sample.begin(), sample.end());
  }
  execution_->copy_in(staged_, activations_[0]->data());
  staged_.clear();
  for (const std::uint32_t index : which) staged_.push_back(data.labels[index]);
  execution_->copy_in(staged_, labels_->data());
}

void Network::forward(const float* parameters, int rows) {
  for (int layer = 0; layer < layers; ++layer) {
    const Layout::Tensor& w = weight(layer);
    float* out = activations_[static_cast<std::size_t>(layer) + 1]->data();
    execution_->multiply(
        {activations_[static_cast<std::size_t>(layer)]->data(), parameters + w.offset, out, rows, w.columns, w.rows});
    execution_->add_bias(out, parameters + bias(layer).offset, rows, w.columns, layer + 1 < layers);
  }
}

void Network::set_tally(float* tally, int rows) {
  std::array<float, Layout::tally_size> numbers{};
  numbers[Layout::samples_at] = static_cast<float>(rows);
  execution_->copy_in(numbers, tally);
}

void Network::backward(const DataSet& data, std::span<const std::uint32_t> which, int batch, const float* parameters,
                       float* gradient, const std::function<void(std::size_t)>& on_bucket,
                       const std::function<void()>& between) {
  const int rows = static_cast<int>(which.size());
  if (rows == 0) execution_->clear(gradient, layout_->size);
  for (const Layout::Bucket& bucket : layout_->buckets) set_tally(gradient + bucket.tally, rows);
  if (rows > 0) {
    load(data, which);
    forward(parameters, rows);
    // The loss goes where the first bucket carries it, without a way by the host.
    static_assert(Layout::right_at == Layout::loss_at + 1);
    execution_->classify({activations_[layers]->data(), labels_->data(), gradients_[layers - 1]->data(),
                          gradient + layout_->buckets[0].tally + Layout::loss_at, rows, data.classes,
                          1.0f / static_cast<float>(batch)});
  }
  std::size_t bucket = 0;
  for (int layer = layers - 1; layer >= 0; --layer) {
    const Layout::Tensor& w = weight(layer);
    const auto at = static_cast<std::size_t>(layer);
    float* out = gradients_[at]->data();
    if (rows > 0) {
      execution_->multiply({activations_[at]->data(), out, gradient + w.offset, w.rows, w.columns, rows, true});
      execution_->sum_rows(out, gradient + bias(layer).offset, rows, w.columns);
    }
    if (layout_->buckets[bucket].end == bias(layer).offset + bias(layer).count) on_bucket(bucket++);
    if (layer == 0 || rows == 0) continue;
    execution_->multiply(
        {out, parameters + w.offset, gradients_[at - 1]->data(), rows, w.rows, w.columns, false, true});
    between();
    execution_->mask(gradients_[at - 1]->data(), activations_[at]->data(),
                     static_cast<std::size_t>(rows) * static_cast<std::size_t>(w.rows));
  }
}

double Network::count_right(const DataSet& data, std::size_t first, std::size_t count, const float* parameters) {
  double right = 0;
  std::vector<std::uint32_t> which;
  for (std::size_t at = first; at < first + count; at += which.size()) {
    which.clear();
    for (std::size_t i = at; i < first + count && which.size() < static_cast<std::size_t>(most_rows_); ++i)
      which.push_back(static_cast<std::uint32_t>(i));
    const int rows = static_cast<int>(which.size());
    load(data, which);
    forward(parameters, rows);
    std::array<float, 2> tally{};
    execution_->classify({activations_[layers]->data(), labels_->data(), gradients_[layers - 1]->data(), tally_->data(),
                          rows, data.classes, 0.0f});
    execution_->copy_out(tally_->data(), tally);
    right += static_cast<double>(tally[1]);
  }
  return right;
}

}  // namespace muster::training
