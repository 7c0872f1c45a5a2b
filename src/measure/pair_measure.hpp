/// One pair of ranks, measured: handshake, warm-up, samples until they are good enough, and a look at every byte.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/gpu.hpp"
#include "measure/pattern.hpp"
#include "muster/comm.hpp"
#include "muster/probe.hpp"
#include "stats/sampling.hpp"
#include "system/contamination.hpp"

namespace muster::p2p {

/// What unused buffers hold: no fill() makes a whole message of it.
inline constexpr int poison = 0xa5;

/// Zero-cost to give back, page-aligned, touched once. Of the host, or moved to a GPU: then what the host fills and
/// looks at is a copy, and `push` and `pull` bring it there and back.
class Buffer {
 public:
  /// Fails with kind `system` when there is no memory.
  [[nodiscard]] static Result<Buffer> make(std::size_t bytes);
  /// Where the communicator works.
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {on_device_ ? static_cast<std::byte*>(on_device_.get()) : memory_.get(), size_};
  }
  /// For code of the host.
  [[nodiscard]] std::span<std::byte> host() const { return {memory_.get(), size_}; }

  /// `gpus` must outlive it.
  [[nodiscard]] Result<void> move_to(const Gpus& gpus, int device);
  /// The first `size` bytes. Nothing to do in host memory.
  [[nodiscard]] Result<void> push(std::size_t size) const;
  [[nodiscard]] Result<void> pull(std::size_t size) const;

 private:
  [[nodiscard]] Result<void> copy(void* to, const void* from, std::size_t size) const;
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
  const Gpus* gpus_ = nullptr;
  int device_ = -1;
  GpuHandle stream_;
  GpuHandle on_device_;
};

enum class Kind : std::uint8_t {
  latency,        ///< half the time of a message there and one back, in us
  bandwidth,      ///< GB/s from the first to the second
  bidirectional,  ///< GB/s of both directions together
};
[[nodiscard]] std::string_view to_string(Kind kind);

/// What is measured between two ranks. Both ends give the same.
struct Task {
  Kind kind = Kind::latency;
  std::size_t size = 8;  ///< bytes of a message
  int slots = 1;
  int window = 64;  ///< messages under way at once, at most; for latency: round trips of one sample

  /// Slots begin on 8 bytes, where the pattern's words do.
  [[nodiscard]] std::size_t stride() const { return (size + 7) / 8 * 8; }
  friend bool operator==(const Task&, const Task&) = default;
};

/// What a rank has for all its pairs.
struct Equipment {
  Comm& comm;
  Recorder& recorder;
  const Buffer& out;                             ///< filled with the pattern of this rank; `burst_slack` longer
  const Buffer& in;                              ///< poisoned, as Buffer::make and measure() leave it
  std::uint64_t seed = 0;                        ///< of the case
  ContaminationWatch* watch = nullptr;           ///< nullptr: not watched
  std::function<std::optional<double>()> own_s;  ///< CPU time of the ranks on the watched CPUs
  Comm* data = nullptr;                          ///< for buffers on a GPU; nullptr: `comm` takes them
  double verify = 0;  ///< time of messages of which each is compared, as a multiple of that of the timed ones; 0: none
  std::function<Result<void>()> timed = {};  ///< called when the timed messages are through, before any is compared

  /// What moves buffers. Small messages of the host's go over `comm`.
  [[nodiscard]] Comm& carrier() const { return data == nullptr ? comm : *data; }
};

struct Measured {
  Sampled sampled;             ///< on the first rank only; in us or GB/s
  std::uint64_t received = 0;  ///< messages
  std::uint64_t sent = 0;
  std::uint64_t compared = 0;  ///< messages: the last timed one in every slot that was used, and all others
  std::optional<WrongMessages> wrong;
};

/// Messages under way at once such that a sample leaves room for others below `cap_s`: `most`, or fewer where a single
/// message takes long.
[[nodiscard]] int fitting_window(int most, double message_s, double cap_s);

/// Both ranks of a pair, each with its role; no others. Only `first` decides how long; `goal` is its. Before the
/// clock starts a few single messages go through, which wait for the peer to be ready and show how long one takes. When
/// the clock has stopped data is compared, and more messages follow of which each is (`with.verify`).
[[nodiscard]] Result<Measured> measure(Equipment& with, int peer, PairRole role, const Task& task,
                                       const SamplingGoal& goal);

}  // namespace muster::p2p
