/// Communication between the ranks of a launch. `comm/mpi` implements it; probes see only this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muster/result.hpp"

namespace muster {

using ByteVector = std::vector<std::byte>;

/// Types that a sum can be made of. MPI has none for numbers of 16 bits with a fraction (float16: IEEE 754's binary16,
/// bfloat16: the upper half of a float32): these are summed between GPUs, by NCCL and RCCL.
enum class SumType : std::uint8_t { int32, int64, float32, float64, float16, bfloat16 };

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(SumType type) {
  if (type == SumType::float16 || type == SumType::bfloat16) return 2;
  return type == SumType::int32 || type == SumType::float32 ? 4 : 8;
}

/// A part of a buffer for each message in turn: message i uses slot i % slots, at offset (i % slots) * stride.
/// One slot means that the same bytes are used again and again, and caches serve them.
struct Slots {
  std::span<std::byte> memory;  ///< at least (slots - 1) * stride + size bytes; the caller's, alive during the call
  std::size_t size = 0;         ///< bytes of one message; may be 0
  std::size_t stride = 0;
  int count = 1;

  [[nodiscard]] std::span<std::byte> at(std::uint64_t index) const {
    return memory.subspan(count == 1 ? 0 : (index % static_cast<std::uint64_t>(count)) * stride, size);
  }
};

/// What one end of a timed pair does.
enum class PairRole : std::uint8_t { first, second };

/// One end of a timed pair: two ranks, each naming the other and the opposite role. Messages are sent from and received
/// into the slots in turn.
struct PairEnd {
  int peer = 0;
  PairRole role = PairRole::first;
  Slots out;
  Slots in;
};

/// A sum that was started and goes on while its rank computes. Both buffers are its own until it is done.
class PendingSum {
 public:
  /// Waits for a sum that is not done: the memory below it must not go while data still moves.
  virtual ~PendingSum() = default;
  /// True when the sum is there. Not collective, returns at once; also lets the library move data: most MPI libraries
  /// move none between start and wait unless they are called.
  [[nodiscard]] virtual Result<bool> test() = 0;
  /// Returns when the sum is there. Not collective, but the sum is: it needs every rank to have started it.
  [[nodiscard]] virtual Result<void> wait() = 0;
};

/// All functions are collective over all ranks of the communicator unless documented otherwise: every rank must
/// call them in the same order. None has a deadline of its own: the driver keeps time and ends a launch that
/// hangs, so a call may never return. Failures of the MPI library come back with kind `system`.
class Comm {
 public:
  virtual ~Comm() = default;

  /// Not collective.
  [[nodiscard]] virtual int rank() const = 0;
  /// Number of ranks. Not collective.
  [[nodiscard]] virtual int size() const = 0;
  /// Name and version of the library underneath, one line. Not collective.
  [[nodiscard]] virtual std::string library() const = 0;

  [[nodiscard]] virtual Result<void> barrier() = 0;
  /// Every rank returns the bytes of `root`; the argument of the others is ignored.
  [[nodiscard]] virtual Result<ByteVector> broadcast(std::span<const std::byte> bytes, int root) = 0;
  /// The bytes of all ranks, in rank order, on `root`; an empty vector on the others. Lengths may differ.
  [[nodiscard]] virtual Result<std::vector<ByteVector>> gather(std::span<const std::byte> bytes, int root) = 0;
  /// As gather, on every rank.
  [[nodiscard]] virtual Result<std::vector<ByteVector>> all_gather(std::span<const std::byte> bytes) = 0;
  /// True on every rank when `mine` is true on every rank.
  [[nodiscard]] virtual Result<bool> all_true(bool mine) = 0;

  /// Sum over all ranks, element by element: `out` (as long as `in`, not overlapping it) has it on every rank.
  /// Lengths are a multiple of size_of(type) and equal on all ranks. A type that this communicator can't add up is
  /// refused with kind `usage` before anything is sent, on every rank.
  [[nodiscard]] virtual Result<void> all_reduce_sum(SumType type, std::span<const std::byte> in,
                                                    std::span<std::byte> out) = 0;

  /// As all_reduce_sum, but returns at once. All ranks start the same sums in the same order and see each of them
  /// through; several may be under way, and other calls may come in between. `in` must not change and `out` must not
  /// be read before it is done.
  [[nodiscard]] virtual Result<std::unique_ptr<PendingSum>> start_sum(SumType type, std::span<const std::byte> in,
                                                                      std::span<std::byte> out) = 0;

  /// Blocking; not collective: one rank sends, the other receives exactly that many bytes. `tag` is 0 to 32767.
  [[nodiscard]] virtual Result<void> send(std::span<const std::byte> bytes, int to, int tag) = 0;
  [[nodiscard]] virtual Result<void> receive(std::span<std::byte> bytes, int from, int tag) = 0;

  /// Two ranks: `count` times a message there and one back, starting with slot `start`. Nothing else happens in the
  /// loop, so that its time is that of the messages alone.
  [[nodiscard]] virtual Result<void> ping_pong(const PairEnd& end, std::uint64_t start, int count) = 0;
  /// Two ranks as above: `first` keeps `window` messages under way at once, `count` windows one after the other, each
  /// answered by an empty message when all of it has arrived; with both_ways the second sends as much at the same time.
  /// `first` returns when the last answer is there. Message i of window w uses slot start + w * window + i.
  struct Stream {
    int window = 64;
    int count = 1;
    std::uint64_t start = 0;
    bool both_ways = false;
  };
  [[nodiscard]] virtual Result<void> stream(const PairEnd& end, const Stream& stream) = 0;

  /// The ranks that give the same `group` (0 or more) as a communicator of their own, in the order that they have here.
  /// Must not outlive the library underneath; this one stays as it is.
  [[nodiscard]] virtual Result<std::unique_ptr<Comm>> split(int group) = 0;
};

}  // namespace muster
