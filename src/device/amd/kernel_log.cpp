// What amdgpu puts before and behind its words in the kernel's log.
#include "device/amd/kernel_log.hpp"

#include <string_view>

namespace muster {

namespace {

/// The part of a message of amdgpu before the names of a process and its thread, which are texts of a user: `in process
/// NAME pid 1 thread NAME pid 1`, `Process NAME pid 1`, `VM memory stats for proc NAME(1)`.
std::string_view before_process(std::string_view text) {
  for (const std::string_view word : {"process ", "Process ", "proc "}) text = text.substr(0, text.find(word));
  return text;
}

/// What amdgpu and the kernel's graphics layer put before their words.
std::string_view without_prefixes(std::string_view text) {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const std::string_view prefix : {"amdgpu: ", "[drm] ", "*ERROR* "})
      if (text.starts_with(prefix)) text.remove_prefix(prefix.size()), goes_on = true;
    if (text.starts_with("[drm:"))
      if (const auto end = text.find("]] "); end != text.npos) text.remove_prefix(end + 3), goes_on = true;
  }
  return text;
}

}  // namespace

std::string_view amdgpu_words(std::string_view text) {
  return before_process(without_prefixes(text));
}

}  // namespace muster
