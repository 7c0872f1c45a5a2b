/// Execution on GPUs: memory, copies, streams, events and kernels of all devices that a vendor's runtime shows to this
/// process. One implementation over a table of functions (gpu_table.hpp), which is filled from libcuda or libamdhip64.
///
/// Every call goes past the watch, with its device, so that one that never returns can be named, and every failure is
/// of kind `device`, with the GPU as its place and the vendor's function, code and words in its text. To be used by one
/// thread. Nothing it gave may outlive it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/call_watch.hpp"
#include "device/inventory.hpp"
#include "device/pci_address.hpp"
#include "muster/result.hpp"

namespace muster {

/// A device from its runtime. 0 and empty: unknown.
struct GpuDevice {
  std::optional<PciAddress> address;
  std::string uuid;  ///< `GPU-...`, `MIG-...` is written alike
  std::string name;
  int capability = 0;        ///< 90 for 9.0
  int multiprocessors = 0;   ///< SMs, compute units
  int clock_khz = 0;         ///< highest
  int memory_clock_khz = 0;  ///< highest
  int memory_bus_bits = 0;
  int l2_bytes = 0;
  int copy_engines = 0;
  std::uint64_t memory = 0;

  /// `GPU 0000:c1:00.0`, or by its UUID where it has no address.
  [[nodiscard]] std::string label() const;
  /// `GPU 0000:c1:00.0 (GPU-...)`: both, where it has them.
  [[nodiscard]] std::string full_label() const;
  /// Bytes per second that its memory can move by width and clock, both edges used; 0: unknown.
  [[nodiscard]] double memory_rate() const;
};

class Gpus;
struct GpuTable;

/// A call whose failure stopped nothing: of those that ask a device who it is, or give something back.
struct OverlookedFailure {
  int device = 0;
  std::string what;      ///< `cuMemFree_v2 returned 719: ...`
  bool is_lack = false;  ///< the device or driver has no such thing
  friend bool operator==(const OverlookedFailure&, const OverlookedFailure&) = default;
};

/// Gives back what a runtime gave.
struct GpuRelease {
  enum class What : std::uint8_t { memory, pinned, stream, event };
  const Gpus* gpus = nullptr;
  int device = 0;
  What what = What::memory;
  void operator()(void* handle) const;
};
using GpuHandle = std::unique_ptr<void, GpuRelease>;

/// How a kernel is spread over the device, and what it is given: addresses of its arguments.
struct GpuLaunch {
  unsigned blocks = 1;
  unsigned block_rows = 1;
  unsigned threads = 256;
  unsigned thread_rows = 1;
};

class Gpus {
 public:
  /// Asks every device who it is. Fails when the devices can't be counted.
  [[nodiscard]] static Result<std::unique_ptr<Gpus>> start(std::unique_ptr<GpuTable> table, CallWatch watch);
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;
  ~Gpus();

  [[nodiscard]] std::string_view vendor() const;
  /// In the runtime's order; the index is what all functions take as `device`.
  [[nodiscard]] const std::vector<GpuDevice>& devices() const { return devices_; }

  /// Each once; so far.
  [[nodiscard]] const std::vector<OverlookedFailure>& overlooked() const { return overlooked_; }

  [[nodiscard]] Result<GpuHandle> allocate(int device, std::size_t bytes) const;
  /// Host memory that `device` may read and write itself, and others too. Where it lies is up to the memory policy of
  /// the calling thread.
  [[nodiscard]] Result<GpuHandle> pin(int device, std::size_t bytes) const;
  /// Where kernels find pinned memory.
  [[nodiscard]] Result<void*> device_address(int device, void* pinned) const;
  [[nodiscard]] Result<std::uint64_t> free_memory(int device) const;
  [[nodiscard]] Result<GpuHandle> stream(int device) const;
  [[nodiscard]] Result<GpuHandle> event(int device) const;

  // Enqueued on a stream of `device`, in order. Memory of host (pinned) and device alike.
  [[nodiscard]] Result<void> copy(int device, void* to, const void* from, std::size_t bytes, void* stream) const;
  /// To another device's memory. Without peer access the driver moves it by way of the host.
  [[nodiscard]] Result<void> copy_to_peer(int device, const void* from, int peer, void* to, std::size_t bytes,
                                          void* stream) const;
  [[nodiscard]] Result<void> set(int device, void* memory, std::uint32_t value, std::size_t count, void* stream) const;
  [[nodiscard]] Result<void> record(int device, void* event, void* stream) const;
  [[nodiscard]] Result<void> wait(int device, void* stream, void* event) const;
  /// A kernel of src/device/kernels/kernels.cu. Their code is loaded when it is first asked for; where none can be had,
  /// the error lists the attempts.
  [[nodiscard]] Result<void> launch(int device, const char* kernel, const GpuLaunch& launch,
                                    std::initializer_list<void*> arguments, void* stream) const;
  [[nodiscard]] Result<void> load_kernels(int device) const;

  /// Waits for all that is on the stream.
  [[nodiscard]] Result<void> synchronize(int device, void* stream) const;
  /// Whether all that was enqueued on the stream is done. Not passed to the watch: a rank that polls is to be
  /// found in what he waits for.
  [[nodiscard]] Result<bool> is_done(int device, void* stream) const;
  /// Makes the device the one of the calling thread, for libraries that take that one.
  [[nodiscard]] Result<void> make_current(int device) const { return use(device); }
  /// Both must have happened.
  [[nodiscard]] Result<double> seconds_between(int device, void* start, void* stop) const;
  /// Whether `device` can reach the memory of `peer` without the host; from then on it may.
  [[nodiscard]] Result<bool> reach(int device, int peer) const;

 private:
  friend struct GpuRelease;
  struct Opened;
  Gpus(std::unique_ptr<GpuTable> table, CallWatch watch);

  template <class Call, class... Args>
  [[nodiscard]] int call(const Call& call, Args... args) const;
  template <class Call, class... Args>
  [[nodiscard]] Result<void> ask(int device, const Call& call, Args... args) const;
  [[nodiscard]] Result<void> use(int device) const;
  /// Calls are about it from now on.
  void turn_to(int device) const;
  [[nodiscard]] Result<GpuDevice> describe(int index);
  [[nodiscard]] Error error_of(int device, const char* call, int code) const;
  /// As `call`, where nothing follows from a failure but that it is remembered.
  template <class Call, class... Args>
  int try_call(int device, const Call& call, Args... args) const;
  [[nodiscard]] Result<void*> kernel(int device, const char* name) const;

  std::unique_ptr<GpuTable> table_;
  CallWatch watch_;
  std::vector<GpuDevice> devices_;
  mutable std::vector<OverlookedFailure> overlooked_;
  mutable std::vector<Opened> opened_;
  mutable int current_ = -1;
};

/// A vendor's runtime on this node.
struct GpuRuntime {
  std::string vendor;
  LibraryReport library;
  std::string remedy;          ///< a sentence where the library is broken
  std::unique_ptr<Gpus> gpus;  ///< nullptr unless the library works
};

/// libcuda and libamdhip64, in this order, each absent, broken or working.
[[nodiscard]] std::vector<GpuRuntime> open_gpu_runtimes(const CallWatch& watch);

}  // namespace muster
