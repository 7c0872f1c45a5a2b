/// Kernels of src/device/kernels/ as C++: every thread of a block is a thread, blocks go one after the other.
#pragma once
#pragma GCC system_header  // what warns in kernels, their own compilers say

#include <barrier>
#include <functional>
#include <math.h>
#include <thread>
#include <vector>

namespace muster::on_threads {

struct Place {
  unsigned x = 0;
  unsigned y = 0;
};
inline thread_local Place threadIdx;
inline thread_local Place blockIdx;
inline thread_local Place blockDim;
inline thread_local Place gridDim;
inline thread_local std::barrier<>* block_barrier = nullptr;

inline void wait_for_block() {
  block_barrier->arrive_and_wait();
}

/// Calls `kernel` on all threads of all blocks.
inline void launch(Place blocks, Place threads, const std::function<void()>& kernel) {
  for (unsigned y = 0; y < blocks.y; ++y)
    for (unsigned x = 0; x < blocks.x; ++x) {
      std::barrier<> barrier(threads.x * threads.y);
      std::vector<std::thread> all;
      for (unsigned i = 0; i < threads.x * threads.y; ++i)
        all.emplace_back([&, i] {
          threadIdx = {i % threads.x, i / threads.x};
          blockIdx = {x, y};
          blockDim = threads;
          gridDim = blocks;
          block_barrier = &barrier;
          kernel();
          barrier.arrive_and_drop();
        });
      for (std::thread& one : all) one.join();
    }
}

inline float rounded(float value) {
  volatile float kept = value;  // no product and sum in one
  return kept;
}

#define __global__
#define __device__
#define __shared__ static
#define __syncthreads wait_for_block
#define __fmul_rn(a, b) rounded((a) * (b))
#define __fadd_rn(a, b) rounded((a) + (b))
#define __fsub_rn(a, b) rounded((a) - (b))
using Word = unsigned long long;
#include "../src/device/kernels/training.cu"
#undef __global__
#undef __device__
#undef __shared__
#undef __syncthreads
#undef __fmul_rn
#undef __fadd_rn
#undef __fsub_rn

}  // namespace muster::on_threads
