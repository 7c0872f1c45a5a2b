/// Where a probe computes: memory and the few operations that a small network is made of. The host here; a GPU
/// implements the same, and the probe does not change.
///
/// Matrices are of float, row after row without gaps. Operations are done in the order in which they are called; what
/// they wrote may be read by the host after `finish`. Pointers are into memory of the same execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "muster/result.hpp"

namespace muster {

/// C = op(A) op(B), overwritten. op(A) has `rows` x `inner`, op(B) `inner` x `columns`, C `rows` x `columns`.
struct Product {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  int rows = 0;
  int columns = 0;
  int inner = 0;
  bool is_a_transposed = false;  ///< A lies in memory as `inner` x `rows`
  bool is_b_transposed = false;  ///< B lies in memory as `columns` x `inner`
};

/// The output layer of a classifier. All in memory of the execution.
struct Classified {
  const float* logits = nullptr;  ///< `rows` x `classes`
  const float* labels = nullptr;  ///< whole numbers below `classes`, one for each row
  float* gradient = nullptr;      ///< `rows` x `classes`
  float* tally = nullptr;         ///< two: the sum of losses, and of rows whose largest logit is the label's
  int rows = 0;
  int classes = 0;
  float scale = 1;  ///< of the gradient
};

struct Update {
  float* parameters = nullptr;
  float* velocity = nullptr;
  const float* gradient = nullptr;
  std::size_t count = 0;
  float rate = 0;
  float momentum = 0;
};

/// Floats that an execution gave; given back with the object.
class ExecutionMemory {
 public:
  virtual ~ExecutionMemory() = default;
  [[nodiscard]] virtual float* data() const = 0;
};

class Execution {
 public:
  virtual ~Execution() = default;
  /// What computes, for people: `host, OpenBLAS 0.3.21, 2 threads`.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Its memory may be read and written by the host itself, and given to MPI, between `finish` and the next operation.
  [[nodiscard]] virtual bool is_host_memory() const = 0;
  /// Zeros. Fails with kind `system` or `device` when there is no memory.
  [[nodiscard]] virtual Result<std::unique_ptr<ExecutionMemory>> allocate(std::size_t count) = 0;
  /// `from` may change as soon as it returns.
  virtual void copy_in(std::span<const float> from, float* to) = 0;
  /// Waits: the data is complete when it returns; zeros after a failure, which `finish` reports.
  virtual void copy_out(const float* from, std::span<float> to) = 0;
  virtual void clear(float* memory, std::size_t count) = 0;

  virtual void multiply(const Product& product) = 0;
  /// Adds `bias` (one for each column) to every row; with `is_rectified` what is below 0 becomes 0.
  virtual void add_bias(float* matrix, const float* bias, int rows, int columns, bool is_rectified) = 0;
  /// 0 where `activation` is 0: the derivative of the rectifier.
  virtual void mask(float* gradient, const float* activation, std::size_t count) = 0;
  /// sums[column] = sum over rows.
  virtual void sum_rows(const float* matrix, float* sums, int rows, int columns) = 0;
  /// Softmax and cross-entropy: the loss of a row is log(sum of exp(z)) - z[label], its gradient softmax(z) - onehot.
  virtual void classify(const Classified& output) = 0;
  /// v = momentum v + g; p = p - rate v. The same bits on every machine that rounds according to IEEE 754.
  virtual void update(const Update& update) = 0;
  /// Waits for all of it. Fails with kind `device` when something went wrong; from then on nothing is done any more,
  /// and it fails each time.
  [[nodiscard]] virtual Result<void> finish() = 0;
};

enum class Products : std::uint8_t { fastest, plain };

/// The host. `fastest` takes the CBLAS that was found when this was built, or else a libopenblas of this node, and
/// `plain`, loops of our own, when there is none; see `name`. `threads` is set where the library
/// permits it; 0: left alone. A library is opened at the first call and never closed.
[[nodiscard]] std::unique_ptr<Execution> make_host_execution(Products products, int threads);

/// What a block of floats looks like, in one pass.
struct Scan {
  std::uint64_t fingerprint = 0;  ///< changes with every bit and every place
  bool is_finite = true;
  bool is_zero = true;
  friend bool operator==(const Scan&, const Scan&) = default;
};
[[nodiscard]] Scan scan(std::span<const float> values);

}  // namespace muster
