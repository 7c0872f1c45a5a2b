/// Collects what NCCL or RCCL writes of itself (NCCL_DEBUG=INFO). They read those variables once, at their first call
/// in a process, and go on writing to one file; here it is a private file that disappears with the
/// process.
#pragma once

#include <cstddef>
#include <string>

namespace muster {

/// While it lives NCCL_DEBUG and NCCL_DEBUG_FILE name this file, unless the user set one of them: then what was
/// asked for happens, and nothing is known here. To be held around the library's first call.
class CollectiveAsked {
 public:
  CollectiveAsked();
  ~CollectiveAsked();
  CollectiveAsked(const CollectiveAsked&) = delete;
  CollectiveAsked& operator=(const CollectiveAsked&) = delete;

 private:
  bool is_set_ = false;
};

/// What was written since some moment.
class CollectiveCapture {
 public:
  [[nodiscard]] static CollectiveCapture from_here();
  /// Empty where nothing was, or where it is unknown.
  [[nodiscard]] std::string text() const;

 private:
  std::size_t begin_ = 0;
};

}  // namespace muster
