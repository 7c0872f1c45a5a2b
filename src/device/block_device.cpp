#include "device/block_device.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace muster {

namespace {

/// Devices lie upon others to this depth.
constexpr int deepest = 8;

template <std::size_t size>
bool begins_with_any(std::string_view device, const std::array<std::string_view, size>& names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return device.starts_with(name); });
}

/// `md127` of `md127p1`; empty: it is gone.
std::string whole_device(const fs::path& blocks, std::string_view device) {
  std::error_code error;
  if (fs::exists(blocks / device, error)) return std::string(device);
  for (fs::directory_iterator at(blocks, error), end; !error && at != end; at.increment(error)) {
    const auto whole = at->path().filename().string();
    std::error_code ignored;
    if (device.starts_with(whole) && fs::exists(at->path() / device, ignored)) return whole;
  }
  return {};
}

bool is_on_drives_from(const fs::path& blocks, std::string_view device, int depth) {
  const auto whole = whole_device(blocks, device);
  if (whole.empty() || depth == deepest) return false;
  std::error_code error;
  bool has_drive = false;
  for (fs::directory_iterator at(blocks / whole / "slaves", error), end; !error && at != end; at.increment(error)) {
    const auto below = at->path().filename().string();
    if (is_no_drive(below)) return false;
    if (is_mapped(below) && !is_on_drives_from(blocks, below, depth + 1)) return false;
    has_drive = true;
  }
  return has_drive && !error;
}

}  // namespace

bool is_no_drive(std::string_view device) {
  constexpr std::array<std::string_view, 9> names{"fd", "sr", "loop", "zloop", "ram", "zram", "nbd", "ublkb", "nullb"};
  return begins_with_any(device, names);
}

bool is_mapped(std::string_view device) {
  constexpr std::array<std::string_view, 7> names{"dm-", "md", "bcache", "drbd", "rbd", "rnbd", "zd"};
  return begins_with_any(device, names);
}

bool is_on_drives(const fs::path& blocks, std::string_view device) {
  return is_on_drives_from(blocks, device, 0);
}

}  // namespace muster
