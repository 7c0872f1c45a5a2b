/// The data of a device of the sheet in stand-ins of both of AMD's management libraries. Keys of `set` lines:
/// unique_id, numa, temperature, power, memory_used, uncorrected, links (numbers of GPUs, `1,2`, or `none`), address,
/// hidden (1: not listed).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "sheet.hpp"

#define STAND_IN extern "C" __attribute__((visibility("default")))

namespace fake {

/// Those that the library lists, by their number on the sheet.
inline std::vector<int> listed() {
  std::vector<int> list;
  const auto& devices = Sheet::here().devices;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i].number("hidden", 0) == 0) list.push_back(static_cast<int>(i));
  return list;
}

struct Address {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
};

/// `0000:c1:00.0` -> domain, bus, device, function.
inline Address address_of(const SheetDevice& device) {
  Address address;
  std::istringstream in(device.text("address", device.address));
  char mark = 0;
  in >> std::hex >> address.domain >> mark >> address.bus >> mark >> address.device >> mark >> address.function;
  return address;
}

inline std::uint64_t unique_id_of(const SheetDevice& device) {
  return std::strtoull(device.text("unique_id", device.uuid).c_str(), nullptr, 0);
}

/// As the kernel has it: all GPUs of a board with links reach one another.
inline bool is_linked(int from, int to) {
  const Sheet& sheet = Sheet::here();
  const std::string reported = sheet.devices[static_cast<std::size_t>(from)].text("links");
  if (reported.empty()) return !sheet.links.empty();
  std::istringstream in(reported);
  for (std::string number; std::getline(in, number, ',');)
    if (number == std::to_string(to)) return true;
  return false;
}

}  // namespace fake
