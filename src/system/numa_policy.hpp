/// Where memory of the calling thread comes from.
#pragma once

#include <cstddef>
#include <string>

namespace muster {

/// As long as it lives, pages that this thread touches first come from one NUMA domain while it has any; then the
/// policy is what it was. A domain below 0, or a kernel that refuses, changes nothing.
class PreferDomain {
 public:
  explicit PreferDomain(int domain);
  PreferDomain(const PreferDomain&) = delete;
  PreferDomain& operator=(const PreferDomain&) = delete;
  ~PreferDomain();
  [[nodiscard]] bool is_set() const { return is_set_; }

 private:
  int mode_ = 0;
  unsigned long mask_[16] = {};
  bool is_set_ = false;
};

/// The domain that the pages of `memory` are in, by a few of them: `0`, `0 and 1`; empty: unknown.
[[nodiscard]] std::string domains_of(void* memory, std::size_t bytes);

}  // namespace muster
