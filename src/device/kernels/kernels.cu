// What runs on GPUs, in the common subset of CUDA and HIP C++. Compiled to PTX when muster is built and nvcc is there,
// else on the node by NVRTC or HIPRTC. No header is included: both compilers know all of this by themselves.
typedef unsigned long long Word;

// A stream waits here until the host has enqueued all that is to be timed. `flags` is host memory; flags[0] opens,
// flags[1]: it was not opened within that number of looks.
extern "C" __global__ void muster_gate(volatile unsigned int* flags, Word looks) {
  for (; looks > 0; --looks)
    if (flags[0] != 0) return;
  flags[1] = 1;
}

// Four loads under way in each thread before the first store: enough to fill the memory's pipeline.
extern "C" __global__ void muster_copy(const uint4* from, uint4* to, Word count) {
  const Word stride = (Word)gridDim.x * blockDim.x;
  Word i = (Word)blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 3 * stride < count; i += 4 * stride) {
    const uint4 a = from[i];
    const uint4 b = from[i + stride];
    const uint4 c = from[i + 2 * stride];
    const uint4 d = from[i + 3 * stride];
    to[i] = a;
    to[i + stride] = b;
    to[i + 2 * stride] = c;
    to[i + 3 * stride] = d;
  }
  for (; i < count; i += stride) to[i] = from[i];
}

// What word i of memory holds: kind 0 `seed`, 1 `seed` + its offset in bytes, 2 a hash of both.
__device__ Word muster_value(int kind, Word seed, Word i) {
  if (kind == 0) return seed;
  if (kind == 1) return seed + i * 8;
  Word x = seed + i + 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

extern "C" __global__ void muster_fill(Word* memory, Word count, int kind, Word seed) {
  const Word stride = (Word)gridDim.x * blockDim.x;
  for (Word i = (Word)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
    memory[i] = muster_value(kind, seed, i);
}

// report[0] counts wrong words; of the first 20 it has index, expected and found.
__device__ void muster_compare(Word expected, Word found, Word i, Word* report) {
  if (found == expected) return;
  const Word before = atomicAdd(report, (Word)1);
  if (before >= 20) return;
  report[1 + 3 * before] = i;
  report[2 + 3 * before] = expected;
  report[3 + 3 * before] = found;
}

// `flip` is 0, or all ones where the complement of the pattern is expected. With `inverts` each word is replaced by the
// complement of what was expected. report[61] counts the words checked: a kernel that did not run, or not to its end,
// leaves fewer than the host asked for. Four loads are under way in each thread before the first store, as in muster_copy:
// with one, a GPU reaches a fifth of what its memory can do.
extern "C" __global__ void muster_check(Word* memory, Word count, int kind, Word seed, Word flip, int inverts,
                                        Word* report) {
  const Word stride = (Word)gridDim.x * blockDim.x;
  Word i = (Word)blockIdx.x * blockDim.x + threadIdx.x;
  Word checked = 0;
  for (; i + 3 * stride < count; i += 4 * stride) {
    Word found[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) found[k] = memory[i + k * stride];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const Word expected = muster_value(kind, seed, i + k * stride) ^ flip;
      if (inverts) memory[i + k * stride] = ~expected;
      muster_compare(expected, found[k], i + k * stride, report);
    }
    checked += 4;
  }
  for (; i < count; i += stride) {
    const Word expected = muster_value(kind, seed, i) ^ flip;
    const Word found = memory[i];
    if (inverts) memory[i] = ~expected;
    muster_compare(expected, found, i, report);
    ++checked;
  }
  if (checked > 0) atomicAdd(report + 61, checked);
}

// Whole numbers from -8 to 7: sums of up to 2^17 of their products are exact in single precision, so that every GPU has
// to get the same bits whatever the order of its sums.
extern "C" __global__ void muster_numbers(float* memory, Word count, Word seed) {
  const Word stride = (Word)gridDim.x * blockDim.x;
  for (Word i = (Word)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
    memory[i] = (float)((int)(muster_value(2, seed, i) & 15) - 8);
}

// C = A B of n x n floats, row after row; n is a multiple of 16, blocks are of 16 x 16 threads, one for each element.
extern "C" __global__ void muster_product(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[16][16];
  __shared__ float tile_b[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < n; k += 16) {
    tile_a[threadIdx.y][threadIdx.x] = a[(Word)row * n + k + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(Word)(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  c[(Word)row * n + column] = sum;
}
