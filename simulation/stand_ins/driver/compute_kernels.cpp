// The kernels of src/device/kernels/compute.cu, and those that fill and multiply in kernels.cu, on the host.
#include <vector>

#include "executing.hpp"
#include "numbers.hpp"
#include "products.hpp"

namespace fake {

namespace {

using Word = std::uint64_t;

int small(Word seed, Word i) {
  return static_cast<int>(value_of(2, seed, i) & 15) - 8;
}

void numbers(void** arguments, Stream* stream) {
  auto* memory = argument<float*>(arguments, 0);
  const Word count = argument<Word>(arguments, 1);
  const Word seed = argument<Word>(arguments, 2);
  add(stream, [=] {
    for (Word i = 0; i < count; ++i) memory[i] = static_cast<float>(small(seed, i));
  });
}

void typed_numbers(void** arguments, Stream* stream) {
  auto* memory = argument<std::byte*>(arguments, 0);
  const Word count = argument<Word>(arguments, 1);
  const Word seed = argument<Word>(arguments, 2);
  const int type = argument<int>(arguments, 3);
  const Word columns = argument<Word>(arguments, 4);
  add(stream, [=] {
    for (Word i = 0; i < count; ++i)
      put_number(memory, type, i, small(seed, columns == 0 ? i : i % columns * columns + i / columns));
    apply_memory_faults(memory, count * size_of_number(type));
  });
}

template <class In, class Out>
void multiply(Stream* stream, const In* a, const In* b, Out* c, int size) {
  add(stream, [=] {
    const auto n = static_cast<std::size_t>(size);
    std::vector<Out> sums(n);
    for (std::size_t row = 0; row < n; ++row) {
      sums.assign(n, Out{0});
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t column = 0; column < n; ++column)
          sums[column] += static_cast<Out>(a[row * n + k]) * static_cast<Out>(b[k * n + column]);
      std::memcpy(c + row * n, sums.data(), n * sizeof(Out));
    }
    after_product(device_of(stream), c, n * n * sizeof(Out));
    apply_memory_faults(c, n * n * sizeof(Out));
    took(stream, 2e-12 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n));
  });
}

template <class In, class Out>
void product(void** arguments, Stream* stream) {
  multiply(stream, argument<const In*>(arguments, 0), argument<const In*>(arguments, 1), argument<Out*>(arguments, 2),
           argument<int>(arguments, 3));
}

void fingerprint(void** arguments, Stream* stream) {
  const auto* words = argument<const std::uint32_t*>(arguments, 0);
  const Word count = argument<Word>(arguments, 1);
  const auto unwritten = argument<std::uint32_t>(arguments, 2);
  auto* sum = argument<Word*>(arguments, 3);
  add(stream, [=] {
    for (Word i = 0; i < count; ++i) {
      sum[0] += value_of(2, Word{words[i]} << 32, i);
      sum[2] += words[i] == unwritten;
    }
    sum[1] += count;
    took(stream, count * 4);
  });
}

const AddKernels of_compute{{"muster_numbers", numbers},
                            {"muster_typed_numbers", typed_numbers},
                            {"muster_product", product<float, float>},
                            {"muster_product64", product<double, double>},
                            {"muster_product8", product<std::int8_t, std::int32_t>},
                            {"muster_fingerprint", fingerprint}};

}  // namespace

}  // namespace fake
