// The kernels of src/device/kernels/training.cu, on the host. With optimisation: see CMakeLists.txt.
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "executing.hpp"
#include "sheet.hpp"

namespace fake {

namespace {

using Word = std::uint64_t;

/// What lines `wrong_kernel` make of it: the middle of what was written.
void wrote(const char* kernel, const Stream* stream, float* memory, std::size_t count) {
  static std::map<std::string, int> launches;
  const int before = launches[kernel]++;
  for (const auto& [words] : Sheet::here().lines) {
    if (words.size() < 3 || words[0] != "wrong_kernel" || words[2] != kernel || count == 0) continue;
    if (std::atoi(words[1].c_str()) != device_of(stream)) continue;
    int bit = 30;
    int after = 0;
    for (std::size_t i = 3; i + 1 < words.size(); i += 2)
      (words[i] == "bit" ? bit : after) = std::atoi(words[i + 1].c_str());
    if (before < after) continue;
    std::uint32_t bits;
    std::memcpy(&bits, memory + count / 2, sizeof bits);
    bits ^= std::uint32_t{1} << bit;
    std::memcpy(memory + count / 2, &bits, sizeof bits);
  }
  apply_memory_faults(memory, count * sizeof(float));
}

void transpose(const float* from, float* to, std::size_t rows, std::size_t columns) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column) to[column * rows + row] = from[row * columns + column];
}

void product(void** arguments, Stream* stream) {
  const auto* a = argument<const float*>(arguments, 0);
  const auto* b = argument<const float*>(arguments, 1);
  auto* c = argument<float*>(arguments, 2);
  const auto rows = static_cast<std::size_t>(argument<int>(arguments, 3));
  const auto columns = static_cast<std::size_t>(argument<int>(arguments, 4));
  const auto inner = static_cast<std::size_t>(argument<int>(arguments, 5));
  const bool is_a_transposed = argument<int>(arguments, 6) != 0;
  const bool is_b_transposed = argument<int>(arguments, 7) != 0;
  add(stream, [=] {
    std::vector<float> left(rows * inner);
    std::vector<float> right(inner * columns);
    if (is_a_transposed) transpose(a, left.data(), inner, rows);
    if (is_b_transposed) transpose(b, right.data(), columns, inner);
    for (std::size_t row = 0; row < rows; ++row) {
      float* __restrict sums = c + row * columns;
      for (std::size_t column = 0; column < columns; ++column) sums[column] = 0;
      for (std::size_t i = 0; i < inner; ++i) {
        const float factor = (is_a_transposed ? left.data() : a)[row * inner + i];
        const float* __restrict from = (is_b_transposed ? right.data() : b) + i * columns;
        for (std::size_t column = 0; column < columns; ++column) sums[column] += factor * from[column];
      }
    }
    wrote("muster_train_product", stream, c, rows * columns);
  });
}

void bias(void** arguments, Stream* stream) {
  auto* matrix = argument<float*>(arguments, 0);
  const auto* bias = argument<const float*>(arguments, 1);
  const Word count = argument<Word>(arguments, 2);
  const auto columns = static_cast<Word>(argument<int>(arguments, 3));
  const bool is_rectified = argument<int>(arguments, 4) != 0;
  add(stream, [=] {
    for (Word i = 0; i < count; ++i) {
      const float sum = matrix[i] + bias[i % columns];
      matrix[i] = is_rectified && sum < 0 ? 0 : sum;
    }
    wrote("muster_train_bias", stream, matrix, count);
  });
}

void mask(void** arguments, Stream* stream) {
  auto* gradient = argument<float*>(arguments, 0);
  const auto* activation = argument<const float*>(arguments, 1);
  const Word count = argument<Word>(arguments, 2);
  add(stream, [=] {
    for (Word i = 0; i < count; ++i) gradient[i] = activation[i] > 0 ? gradient[i] : 0;
    wrote("muster_train_mask", stream, gradient, count);
  });
}

void sum_rows(void** arguments, Stream* stream) {
  const auto* matrix = argument<const float*>(arguments, 0);
  auto* sums = argument<float*>(arguments, 1);
  const auto rows = static_cast<std::size_t>(argument<int>(arguments, 2));
  const auto columns = static_cast<std::size_t>(argument<int>(arguments, 3));
  add(stream, [=] {
    for (std::size_t column = 0; column < columns; ++column) sums[column] = 0;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < columns; ++column) sums[column] += matrix[row * columns + column];
    wrote("muster_train_sum_rows", stream, sums, columns);
  });
}

void classify(void** arguments, Stream* stream) {
  const auto* logits = argument<const float*>(arguments, 0);
  const auto* labels = argument<const float*>(arguments, 1);
  auto* gradient = argument<float*>(arguments, 2);
  auto* results = argument<float*>(arguments, 3);
  const auto rows = static_cast<std::size_t>(argument<int>(arguments, 4));
  const auto classes = static_cast<std::size_t>(argument<int>(arguments, 5));
  const float scale = argument<float>(arguments, 6);
  add(stream, [=] {
    for (std::size_t row = 0; row < rows; ++row) {
      const float* z = logits + row * classes;
      float* out = gradient + row * classes;
      const auto label = static_cast<std::size_t>(labels[row]);
      std::size_t largest = 0;
      for (std::size_t k = 1; k < classes; ++k)
        if (z[k] > z[largest]) largest = k;
      float sum = 0;
      for (std::size_t k = 0; k < classes; ++k) sum += out[k] = std::exp(z[k] - z[largest]);
      for (std::size_t k = 0; k < classes; ++k) out[k] = (out[k] / sum - (k == label ? 1.0F : 0.0F)) * scale;
      results[2 * row] = std::log(sum) - (z[label] - z[largest]);
      results[2 * row + 1] = largest == label ? 1 : 0;
    }
    wrote("muster_train_classify", stream, gradient, rows * classes);
  });
}

void tally(void** arguments, Stream* stream) {
  const auto* results = argument<const float*>(arguments, 0);
  auto* tally = argument<float*>(arguments, 1);
  const auto rows = static_cast<std::size_t>(argument<int>(arguments, 2));
  add(stream, [=] {
    double loss = 0;
    double right = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      loss += static_cast<double>(results[2 * row]);
      right += static_cast<double>(results[2 * row + 1]);
    }
    tally[0] = static_cast<float>(loss);
    tally[1] = static_cast<float>(right);
    wrote("muster_train_tally", stream, tally, 1);
  });
}

void update(void** arguments, Stream* stream) {
  auto* parameters = argument<float*>(arguments, 0);
  auto* velocity = argument<float*>(arguments, 1);
  const auto* gradient = argument<const float*>(arguments, 2);
  const Word count = argument<Word>(arguments, 3);
  const float rate = argument<float>(arguments, 4);
  const float momentum = argument<float>(arguments, 5);
  add(stream, [=] {
    for (Word i = 0; i < count; ++i) {
      velocity[i] = momentum * velocity[i] + gradient[i];
      parameters[i] -= rate * velocity[i];
    }
    wrote("muster_train_update", stream, parameters, count);
  });
}

const AddKernels of_training{{"muster_train_product", product},   {"muster_train_bias", bias},
                             {"muster_train_mask", mask},         {"muster_train_sum_rows", sum_rows},
                             {"muster_train_classify", classify}, {"muster_train_tally", tally},
                             {"muster_train_update", update}};

}  // namespace

}  // namespace fake
