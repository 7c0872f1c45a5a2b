// What gpu_compute needs beside kernels.cu, which comes before this in the same translation unit.

// As muster_numbers, in the types of NumberType in gpu_blas.hpp: 0 float64, 1 float32, 2 tf32, 3 float16, 4 bfloat16,
// 5 int8. All of them hold these numbers exactly. Halves are made by hand: their types need headers. `columns` is 0, or
// the number of columns of a square matrix that lies in memory column after column.
extern "C" __global__ void muster_typed_numbers(void* memory, Word count, Word seed, int type, Word columns) {
  const Word stride = (Word)gridDim.x * blockDim.x;
  for (Word i = (Word)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const Word place = columns == 0 ? i : i % columns * columns + i / columns;
    const int number = (int)(muster_value(2, seed, place) & 15) - 8;
    if (type == 0) {
      ((double*)memory)[i] = (double)number;
    } else if (type == 5) {
      ((signed char*)memory)[i] = (signed char)number;
    } else {
      union {
        float value;
        unsigned int bits;
      } same;
      same.value = (float)number;
      const unsigned int bits = same.bits;
      if (type == 4)
        ((unsigned short*)memory)[i] = (unsigned short)(bits >> 16);
      else if (type == 3)
        ((unsigned short*)memory)[i] =
            number == 0 ? (unsigned short)0
                        : (unsigned short)((bits >> 16 & 0x8000u) | ((bits >> 23 & 0xffu) - 112u) << 10 |
                                           (bits >> 13 & 0x3ffu));
      else
        ((unsigned int*)memory)[i] = bits;
    }
  }
}

// Adds to `sum` a hash of every word with its place. Additions modulo 2^64 may come in any order, so that the same
// words give the same sum on every device. Blocks are of 256 threads. sum[1] counts the words, sum[2] those that are still
// `unwritten`.
extern "C" __global__ void muster_fingerprint(const unsigned int* words, Word count, unsigned int unwritten, Word* sum) {
  __shared__ Word sums[256];
  const Word stride = (Word)gridDim.x * blockDim.x;
  Word own = 0;
  Word counted = 0;
  Word left = 0;
  for (Word i = (Word)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    own += muster_value(2, (Word)words[i] << 32, i);
    ++counted;
    if (words[i] == unwritten) ++left;
  }
  if (counted > 0) atomicAdd(sum + 1, counted);
  if (left > 0) atomicAdd(sum + 2, left);
  sums[threadIdx.x] = own;
  __syncthreads();
  for (unsigned int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, sums[0]);
}

// As muster_product.
template <class In, class Out>
__device__ void muster_tiles(const In* a, const In* b, Out* c, int n) {
  __shared__ In tile_a[16][16];
  __shared__ In tile_b[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int column = blockIdx.x * 16 + threadIdx.x;
  Out sum = 0;
  for (int k = 0; k < n; k += 16) {
    tile_a[threadIdx.y][threadIdx.x] = a[(Word)row * n + k + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(Word)(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += (Out)tile_a[threadIdx.y][i] * (Out)tile_b[i][threadIdx.x];
    __syncthreads();
  }
  c[(Word)row * n + column] = sum;
}

extern "C" __global__ void muster_product64(const double* a, const double* b, double* c, int n) {
  muster_tiles<double, double>(a, b, c, n);
}

extern "C" __global__ void muster_product8(const signed char* a, const signed char* b, int* c, int n) {
  muster_tiles<signed char, int>(a, b, c, n);
}
