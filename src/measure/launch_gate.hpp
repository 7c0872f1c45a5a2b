/// A kernel that holds a stream until the host opens it, so that what is enqueued meanwhile is timed alone.
#pragma once

#include <cstdint>

#include "device/gpu.hpp"
#include "muster/result.hpp"

namespace muster {

/// Pinned host memory that the gate's kernel reads and writes, and the stream that it holds. Used by one thread.
class LaunchGate {
 public:
  /// Takes memory of the host; `gpus` and `stream` outlive the gate. Fails with kind `device`.
  [[nodiscard]] Result<void> make(const Gpus& gpus, int device);
  /// Whether launches return before their kernel has ended. They do not with CUDA_LAUNCH_BLOCKING=1 or
  /// AMD_SERIALIZE_KERNEL=3, nor in some debuggers: a gate would stay closed. Takes three times 20 ms at most. The
  /// device's kernels are loaded.
  [[nodiscard]] Result<bool> holds(void* stream) const;
  /// Enqueues the gate.
  [[nodiscard]] Result<void> close(void* stream) const;
  /// To be called also where something failed in between, or the stream stands until the gate gives up, in seconds.
  void open() const { flags()[0] = 1; }
  /// After the stream has been waited for: the gate gave up before it was opened.
  [[nodiscard]] bool has_expired() const { return flags()[1] != 0; }

 private:
  [[nodiscard]] volatile std::uint32_t* flags() const { return static_cast<volatile std::uint32_t*>(flags_.get()); }
  [[nodiscard]] Result<void> enqueue(std::uint64_t looks, void* stream) const;

  const Gpus* gpus_ = nullptr;
  int device_ = 0;
  GpuHandle flags_;
  void* seen_ = nullptr;  ///< `flags_`, as the device addresses it
};

}  // namespace muster
