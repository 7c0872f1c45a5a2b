
// The steps of a small network, as src/device/execution.hpp has them. Every sum is made in an order that depends on the
// sizes alone: the same numbers give the same bits again on the same model of GPU.

// C = op(A) op(B) of any sizes. Blocks are of 16 x 16 threads, one for each element of C; what lies outside counts as 0.
extern "C" __global__ void muster_train_product(const float* a, const float* b, float* c, int rows, int columns,
                                                int inner, int is_a_transposed, int is_b_transposed) {
  __shared__ float tile_a[16][17];
  __shared__ float tile_b[16][17];
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const int row = blockIdx.y * 16 + y;
  const int column = blockIdx.x * 16 + x;
  float sum = 0.0f;
  for (int k = 0; k < inner; k += 16) {
    // Threads side by side load what lies side by side.
    if (is_a_transposed) {
      const int other = blockIdx.y * 16 + x;
      tile_a[x][y] = k + y < inner && other < rows ? a[(Word)(k + y) * rows + other] : 0.0f;
    } else {
      tile_a[y][x] = row < rows && k + x < inner ? a[(Word)row * inner + k + x] : 0.0f;
    }
    if (is_b_transposed) {
      const int other = blockIdx.x * 16 + y;
      tile_b[x][y] = other < columns && k + x < inner ? b[(Word)other * inner + k + x] : 0.0f;
    } else {
      tile_b[y][x] = k + y < inner && column < columns ? b[(Word)(k + y) * columns + column] : 0.0f;
    }
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  if (row < rows && column < columns) c[(Word)row * columns + column] = sum;
}

extern "C" __global__ void muster_train_bias(float* matrix, const float* bias, Word count, int columns,
                                             int is_rectified) {
  const Word stride = (Word)gridDim.x * blockDim.x;
  for (Word i = (Word)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const float sum = matrix[i] + bias[i % columns];
    matrix[i] = is_rectified && sum < 0.0f ? 0.0f : sum;
  }
}

extern "C" __global__ void muster_train_mask(float* gradient, const float* activation, Word count) {
  const Word stride = (Word)gridDim.x * blockDim.x;
  for (Word i = (Word)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
    if (!(activation[i] > 0.0f)) gradient[i] = 0.0f;
}

// Blocks of 32 x 8 threads, each for 32 columns: every thread adds up each eighth row, then the first eight are added up.
extern "C" __global__ void muster_train_sum_rows(const float* matrix, float* sums, int rows, int columns) {
  __shared__ float parts[8][32];
  const int column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0.0f;
  if (column < columns)
    for (int row = threadIdx.y; row < rows; row += 8) sum += matrix[(Word)row * columns + column];
  parts[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int part = 1; part < 8; ++part) sum += parts[part][threadIdx.x];
  sums[column] = sum;
}

// A thread for each row; its loss, and whether it is classified correctly, go to results[2 row] and results[2 row + 1].
extern "C" __global__ void muster_train_classify(const float* logits, const float* labels, float* gradient,
                                                 float* results, int rows, int classes, float scale) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* z = logits + (Word)row * classes;
  float* out = gradient + (Word)row * classes;
  const int label = (int)labels[row];
  int largest = 0;
  for (int k = 1; k < classes; ++k)
    if (z[k] > z[largest]) largest = k;
  // The largest is subtracted: no exponential overflows, and the sum is 1 at least.
  const float top = z[largest];
  float sum = 0.0f;
  for (int k = 0; k < classes; ++k) {
    const float e = expf(z[k] - top);
    out[k] = e;
    sum += e;
  }
  for (int k = 0; k < classes; ++k) out[k] = (out[k] / sum - (k == label ? 1.0f : 0.0f)) * scale;
  results[2 * row] = logf(sum) - (z[label] - top);
  results[2 * row + 1] = largest == label ? 1.0f : 0.0f;
}

// One block of 256 threads: tally[0] and tally[1] are the sums of both results over all rows.
extern "C" __global__ void muster_train_tally(const float* results, float* tally, int rows) {
  __shared__ double losses[256];
  __shared__ int hits[256];
  double loss = 0.0;
  int right = 0;
  for (int row = threadIdx.x; row < rows; row += 256) {
    loss += results[2 * row];
    right += results[2 * row + 1] > 0.0f;
  }
  losses[threadIdx.x] = loss;
  hits[threadIdx.x] = right;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    losses[threadIdx.x] += losses[threadIdx.x + half];
    hits[threadIdx.x] += hits[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  tally[0] = (float)losses[0];
  tally[1] = (float)hits[0];
}

// Products are rounded before they are added, so that every machine gets the same bits.
extern "C" __global__ void muster_train_update(float* parameters, float* velocity, const float* gradient, Word count,
                                               float rate, float momentum) {
#ifdef __clang__
#pragma clang fp contract(off)
#endif
  const Word stride = (Word)gridDim.x * blockDim.x;
  for (Word i = (Word)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
#ifdef __clang__
    const float v = momentum * velocity[i] + gradient[i];
    parameters[i] = parameters[i] - rate * v;
#else
    const float v = __fadd_rn(__fmul_rn(momentum, velocity[i]), gradient[i]);
    parameters[i] = __fsub_rn(parameters[i], __fmul_rn(rate, v));
#endif
    velocity[i] = v;
  }
}
