/// Stamps of signals and of exits in the flight recorder. Included by the recorder and the agent alone.
#pragma once

#include <cstdint>

#include "run/flight_recorder.hpp"

namespace muster {

[[nodiscard]] std::uint64_t monotonic_nanoseconds();  ///< async-signal-safe

/// From now on signals of this process are stamped into `layout`; called again: also those that someone else has
/// taken over since. One recorder per process; the last one counts.
void start_stamping(FlightRecorder::Layout* layout);
/// Nothing is written to `layout` any more. The handlers stay and pass on what arrives.
void stop_stamping(FlightRecorder::Layout* layout);

/// Of this process, which is about to end by _exit(): whether its caller, at that address, is of MPI.
/// Async-signal-safe.
void stamp_exit(const void* caller);

}  // namespace muster
