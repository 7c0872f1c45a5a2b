/// What a flight recorder takes of calls of vendors' libraries, beside what a probe writes.
#pragma once

#include <string_view>

namespace muster {

class CallRecorder {
 public:
  virtual ~CallRecorder() = default;
  /// The call that this rank is inside of; empty: it has come back. No step: however many calls there are, a rank is
  /// in its current step and iteration. At most 31 characters are kept.
  virtual void call(std::string_view name) = 0;
  /// The GPU that calls are about from now on: `GPU 0000:c1:00.0 (GPU-...)`. At most 95 characters are kept.
  virtual void device(std::string_view label) = 0;
};

}  // namespace muster
