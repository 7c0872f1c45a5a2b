/// The one owner of a file descriptor.
#pragma once

#include <unistd.h>
#include <utility>

namespace muster {

/// Closed with its owner; -1: none.
class OwnedDescriptor {
 public:
  OwnedDescriptor() = default;
  explicit OwnedDescriptor(int number) : number_(number) {}
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : number_(other.release()) {}
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~OwnedDescriptor() { reset(); }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  /// The caller closes it.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  /// Closes what it has, and owns this one instead. errno is that of close().
  void reset(int number = -1) {
    if (number_ >= 0) (void)::close(number_);
    number_ = number;
  }

 private:
  int number_ = -1;
};

}  // namespace muster
