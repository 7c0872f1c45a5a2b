/// How a vendor's runtime is opened: the same way for all, described in the vendor's terms. Filled in
/// folders of vendors.
#pragma once

#include <initializer_list>

#include "device/gpu.hpp"
#include "device/gpu_table.hpp"

namespace muster {

struct RuntimeKind {
  std::string_view vendor;
  std::initializer_list<const char*> files;        ///< the first that loads is taken
  const char* init = "";                           ///< takes 0, returns the vendor's code
  std::string_view reinstall;                      ///< what to do where the library does not load
  std::string_view upgrade;                        ///< where it lacks functions
  std::string_view (*remedy)(int code) = nullptr;  ///< of what the first call returned; 0: of another failure
  void (*set_constants)(const Library&, GpuTable&) = nullptr;
  bool (*fill)(const Library&, GpuTable&, std::vector<std::string>& missing) = nullptr;
  std::string (*version)(const Library&) = nullptr;
};

/// Absent, broken (with the library's error and what to do) or working. A failure to start is reported before missing
/// functions, as the library's own reason is the most precise.
[[nodiscard]] GpuRuntime open_runtime(const RuntimeKind& kind, const CallWatch& watch);

}  // namespace muster
