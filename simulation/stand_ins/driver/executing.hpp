/// GPUs that execute on the host, for stand-ins of libcuda and libamdhip64: memory, streams, events and muster's own
/// kernels. What is enqueued is done when a thread waits for it, in the order of the stream; time is made up (bytes
/// over the rates of a healthy device), so that the same calls always take the same time. As with the runtimes, any
/// thread may call; each has a current device of its own.
///
/// Lines of the sheet beside those of sheet.hpp, GPU being the number in the sheet:
///   corrupt_copy GPU [kind KIND] [after N] [every M]
///                                each copy into its memory, from the N+1st on, or each Mth, is wrong in its middle
///                                (base/corruption.hpp)
///   stuck_bit GPU OFFSET BIT     bit BIT of byte OFFSET of its memory is always 1
///   wrong_product GPU [kind KIND] [every N]
///                                each Nth product that it computes is wrong in its middle
///   set GPU slow FACTOR          all it does takes so many times as long
///   set GPU peers no             it can't reach the memory of others
///   wrong_kernel GPU NAME [bit B] [after N]
///                                bit B, without it 30, of the float in the middle of what that kernel of training
///                                writes is flipped, from the N+1st launch on
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace fake {

struct Stream;
struct Event;

struct Kernel {
  const char* name;
  void (*enqueue)(void** arguments, Stream* stream);
};

/// One of these at the top of a file adds its kernels to those that are known.
struct AddKernels {
  AddKernels(std::initializer_list<Kernel> some);
};

// For kernels: what they are made of.
template <class T>
T argument(void** arguments, int index) {
  T value;
  std::memcpy(&value, arguments[index], sizeof value);
  return value;
}
/// To be done in the order of the stream.
void add(Stream* stream, std::function<void()> what);
/// As muster_value in kernels.cu.
std::uint64_t value_of(int kind, std::uint64_t seed, std::uint64_t i);
/// What a device does to its own memory after it was written.
void apply_memory_faults(const void* memory, std::size_t bytes);
/// Made-up time: that of a healthy device, or of moving so many bytes in its memory.
void took(Stream* stream, double seconds);
void took(Stream* stream, std::uint64_t bytes);
int device_of(const Stream* stream);

/// A GPU that this process sees, or a partition of it.
struct Seen {
  int device;  ///< number in the sheet
  int part;    ///< 0 also of a GPU that is whole
};
/// Those of `vendor` that are not lost, filtered by the vendor's variables. Partitions of a GPU follow each other, as
/// ROCR counts them, and share its memory.
const std::vector<Seen>& visible(const char* vendor);

/// The device of the calling thread, as a number in the sheet.
int current();
void set_current(int device);

// All take numbers in the sheet. Memory comes from 1 GiB for each device, whatever the sheet promises.
void* allocate(int device, std::size_t bytes);
bool release(void* memory);
void* pin(std::size_t bytes);
void unpin(void* memory);
std::uint64_t free_memory(int device);
bool can_reach(int from, int to);

Stream* new_stream(int device);
void delete_stream(Stream* stream);
void finish(Stream* stream);
/// Does what can be done without waiting.
bool is_idle(Stream* stream);
/// `go_on` is called until it returns true; what is behind it on the stream waits.
void hold(Stream* stream, bool (*go_on)(void*), void* state);
Event* new_event();
void delete_event(Event* event);
void record(Event* event, Stream* stream);
void wait(Stream* stream, Event* event);
/// Milliseconds; negative when one of them has not happened.
float between(const Event* start, const Event* stop);

void copy(void* to, const void* from, std::size_t bytes, Stream* stream);
void set32(void* memory, unsigned value, std::size_t count, Stream* stream);

/// nullptr: no kernel has that name.
Kernel* find_kernel(const char* name);
/// False when the arguments are none of it.
bool launch(const Kernel* kernel, unsigned blocks, void** arguments, Stream* stream);

}  // namespace fake
