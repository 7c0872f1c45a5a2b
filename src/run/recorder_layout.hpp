/// How a recorder file is laid out. Shared by its writer and reader; not included elsewhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "run/flight_recorder.hpp"

namespace muster {

/// Every field is an atomic that needs no lock, so that a reader in another process, and a signal handler in this
/// one, may look or write at any time. A file of zeros is an empty record.
struct FlightRecorder::Layout {
  static constexpr std::uint64_t right_magic = 0x31464572'7473754dULL;  // "MustrEF1"
  static constexpr std::uint32_t right_version = 7;
  static constexpr std::size_t step_words = 4;     // 31 characters and a zero
  static constexpr std::size_t device_words = 12;  // 95 characters and a zero
  static constexpr std::size_t error_words = 20;   // 159 characters and a zero
  static constexpr std::size_t most_shared = 24;
  static constexpr std::size_t shared_words = 32;  // 255 characters, as long as a file name gets, and a zero
  using Word = std::atomic<std::uint64_t>;
  static_assert(Word::is_always_lock_free && std::atomic<std::int32_t>::is_always_lock_free);

  Word magic;  ///< written last: without it the rest is not there yet
  std::atomic<std::uint32_t> version;
  std::atomic<std::uint32_t> sequence;  ///< odd while an entry is written
  std::atomic<std::int32_t> pid;
  std::atomic<std::int32_t> rank;
  std::atomic<std::int32_t> world_size;
  std::atomic<std::uint32_t> phase;
  std::atomic<std::int32_t> item;
  std::atomic<std::int32_t> peer;
  std::atomic<std::int32_t> child_group;
  std::atomic<std::uint32_t> steps;
  std::atomic<std::int32_t> signal;
  std::atomic<std::int32_t> is_signal_in_mpi;
  std::atomic<std::int32_t> is_exit_in_mpi;
  std::atomic<std::uint32_t> shared_count;
  std::atomic<std::int32_t> parent;
  Word start_ticks;
  Word parent_start_ticks;
  Word orphaned_ns;
  Word deadline_ns;
  Word iteration;
  Word changed_ns;
  Word signal_ns;
  Word call_ns;
  Word step[step_words];
  Word call[step_words];
  Word device[device_words];
  Word error[error_words];
  Word shared[most_shared][shared_words];  ///< names below /dev/shm
};

inline constexpr std::size_t recorder_file_size = 8192;

/// The process of a recorder from its name behind `muster-TAG-`: `PID`, or `PID.` and hexadecimal digits. 0: it is not
/// the name of a recorder.
[[nodiscard]] int recorder_pid(std::string_view name_end);

}  // namespace muster
