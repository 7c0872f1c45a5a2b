#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <new>
#include <unistd.h>
#include <vector>

#include "device/cblas.hpp"
#include "device/execution.hpp"

namespace muster {

namespace {

/// `from` is `rows` x `columns`; the other way round in `to`.
void transpose(const float* from, float* to, int rows, int columns) {
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      to[static_cast<std::size_t>(column) * rows + row] = from[static_cast<std::size_t>(row) * columns + column];
}

/// Without a library. Row by row, so that the innermost loop runs along memory of both C and B.
void multiply_plainly(const Product& p, std::vector<float>& room_a, std::vector<float>& room_b) {
  const auto inner = static_cast<std::size_t>(p.inner);
  const auto columns = static_cast<std::size_t>(p.columns);
  const float* a = p.a;
  const float* b = p.b;
  if (p.is_a_transposed) {
    room_a.resize(inner * static_cast<std::size_t>(p.rows));
    transpose(p.a, room_a.data(), p.inner, p.rows);
    a = room_a.data();
  }
  if (p.is_b_transposed) {
    room_b.resize(inner * columns);
    transpose(p.b, room_b.data(), p.columns, p.inner);
    b = room_b.data();
  }
  for (std::size_t row = 0; row < static_cast<std::size_t>(p.rows); ++row) {
    float* __restrict c = p.c + row * columns;
    std::fill(c, c + columns, 0.0f);
    for (std::size_t k = 0; k < inner; ++k) {
      const float factor = a[row * inner + k];
      const float* __restrict from = b + k * columns;
      for (std::size_t column = 0; column < columns; ++column) c[column] += factor * from[column];
    }
  }
}

/// Bytes of memory in this machine; the largest number if it is unknown.
std::size_t total_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(size);
}

class HostMemory final : public ExecutionMemory {
 public:
  explicit HostMemory(std::size_t count) : values_(allocate(count)) {
    if (values_ != nullptr) std::fill_n(values_.get(), count, 0.0f);
  }
  [[nodiscard]] float* data() const override { return values_.get(); }

 private:
  // A cache line: what a BLAS does with the first and last elements does not depend on where memory happens to lie.
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(float* memory) const { ::operator delete(memory, alignment); }
  };
  static float* allocate(std::size_t count) {
    return static_cast<float*>(
        ::operator new(std::max<std::size_t>(count, 1) * sizeof(float), alignment, std::nothrow));
  }
  std::unique_ptr<float, Free> values_;
};

class HostExecution final : public Execution {
 public:
  HostExecution(const Cblas* blas, int threads) : blas_(blas) {
    if (blas_ == nullptr)
      name_ = "host, plain loops";
    else if (threads > 0 && blas_->set_threads(threads))
      name_ = fmt::format("host, {}, {} {}", blas_->name(), threads, threads == 1 ? "thread" : "threads");
    else
      name_ = "host, " + blas_->name();
  }

  std::string name() const override { return name_; }
  bool is_host_memory() const override { return true; }
  Result<std::unique_ptr<ExecutionMemory>> allocate(std::size_t count) override {
    const auto refuse = [count] {
      return fail(ErrorKind::system, "memory", fmt::format("no room for {} numbers of 4 bytes", count));
    };
    // More than the machine has is promised all the same, and costs a rank its life when it is used.
    if (count > total_memory() / sizeof(float)) return refuse();
    auto memory = std::make_unique<HostMemory>(count);
    if (memory->data() == nullptr) return refuse();
    return memory;
  }
  void copy_in(std::span<const float> from, float* to) override { std::copy(from.begin(), from.end(), to); }
  void copy_out(const float* from, std::span<float> to) override { std::copy_n(from, to.size(), to.begin()); }
  void clear(float* memory, std::size_t count) override { std::fill_n(memory, count, 0.0f); }

  void multiply(const Product& product) override {
    if (blas_ != nullptr)
      blas_->multiply(product);
    else
      multiply_plainly(product, room_a_, room_b_);
  }

  void add_bias(float* matrix, const float* bias, int rows, int columns, bool is_rectified) override {
    for (int row = 0; row < rows; ++row) {
      float* __restrict values = matrix + static_cast<std::size_t>(row) * columns;
      for (int column = 0; column < columns; ++column) {
        const float sum = values[column] + bias[column];
        values[column] = is_rectified && sum < 0 ? 0 : sum;
      }
    }
  }

  void mask(float* gradient, const float* activation, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) gradient[i] = activation[i] > 0 ? gradient[i] : 0;
  }

  void sum_rows(const float* matrix, float* sums, int rows, int columns) override {
    std::fill_n(sums, columns, 0.0f);
    for (int row = 0; row < rows; ++row) {
      const float* __restrict values = matrix + static_cast<std::size_t>(row) * columns;
      for (int column = 0; column < columns; ++column) sums[column] += values[column];
    }
  }

  void classify(const Classified& output) override {
    double loss = 0;
    int right = 0;
    for (int row = 0; row < output.rows; ++row) {
      const std::span logits(output.logits + static_cast<std::size_t>(row) * output.classes,
                             static_cast<std::size_t>(output.classes));
      float* gradient = output.gradient + static_cast<std::size_t>(row) * output.classes;
      const auto label = static_cast<std::size_t>(output.labels[row]);
      const auto largest = std::max_element(logits.begin(), logits.end());
      right += static_cast<std::size_t>(largest - logits.begin()) == label;
      // The largest is subtracted: no exp overflows, and the sum is 1 at least.
      float sum = 0;
      for (std::size_t k = 0; k < logits.size(); ++k) sum += gradient[k] = std::exp(logits[k] - *largest);
      loss += std::log(sum) - (logits[label] - *largest);
      for (std::size_t k = 0; k < logits.size(); ++k)
        gradient[k] = (gradient[k] / sum - (k == label ? 1.0f : 0.0f)) * output.scale;
    }
    output.tally[0] = static_cast<float>(loss);
    output.tally[1] = static_cast<float>(right);
  }

  void update(const Update& u) override {
    float* __restrict parameters = u.parameters;
    float* __restrict velocity = u.velocity;
    const float* __restrict gradient = u.gradient;
    for (std::size_t i = 0; i < u.count; ++i) {
      velocity[i] = u.momentum * velocity[i] + gradient[i];
      parameters[i] -= u.rate * velocity[i];
    }
  }

  Result<void> finish() override { return {}; }

 private:
  const Cblas* blas_;
  std::string name_;
  std::vector<float> room_a_;
  std::vector<float> room_b_;
};

}  // namespace

std::unique_ptr<Execution> make_host_execution(Products products, int threads) {
  return std::make_unique<HostExecution>(products == Products::fastest ? Cblas::find() : nullptr, threads);
}

Scan scan(std::span<const float> values) {
  // Four chains, so that they run side by side; the multiplier is odd, so a chain never forgets a word.
  constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15U;
  constexpr std::size_t words = 4;
  constexpr std::size_t floats = words * 2;
  std::uint64_t chains[words] = {1, 2, 3, 4};
  const auto take = [&](const float* from, std::size_t count) {
    std::uint64_t bits[words] = {};
    std::memcpy(bits, from, count * sizeof(float));
    for (std::size_t k = 0; k < words; ++k) chains[k] = std::rotl((chains[k] ^ bits[k]) * multiplier, 29);
  };
  std::size_t at = 0;
  for (; at + floats <= values.size(); at += floats) take(values.data() + at, floats);
  if (at < values.size()) take(values.data() + at, values.size() - at);
  std::uint64_t all = values.size();
  for (const std::uint64_t chain : chains) all = std::rotl((all ^ chain) * multiplier, 31);

  constexpr std::uint32_t exponent = 0x7f800000U;
  std::uint32_t any_bit = 0;
  std::uint32_t odd = 0;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    any_bit |= bits & 0x7fffffffU;
    odd |= (bits & exponent) == exponent ? 1U : 0U;
  }
  return {all, odd == 0, any_bit == 0};
}

}  // namespace muster
