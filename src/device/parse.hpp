/// What stands in the kernel's files, understood. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "device/inventory.hpp"

namespace muster {

/// `0x10de` -> `10de`; anything that is not a hexadecimal number -> "".
[[nodiscard]] std::string parse_id(std::string_view text);
/// The number at the start of `32.0 GT/s PCIe`, `400 Gb/sec (4X NDR)`, `200000`; 0: none (`Unknown`).
[[nodiscard]] double parse_amount(std::string_view text);
/// Lanes; 0 where the kernel does not know them (a lost device answers 63).
[[nodiscard]] int parse_width(std::string_view text);
/// Lanes of an InfiniBand link: `400 Gb/sec (4X NDR)` -> 4; 0: unknown.
[[nodiscard]] int parse_lanes(std::string_view rate);
/// `4: ACTIVE` -> `ACTIVE`.
[[nodiscard]] std::string parse_state(std::string_view text);
/// The first number with dots in it: `NVRM version: UNIX x86_64 Kernel Module  550.54.15  Tue...` ->
/// `550.54.15`.
[[nodiscard]] std::string parse_version(std::string_view text);
/// `Model: \t H100` line by line, split at the first `separator`, both sides trimmed.
[[nodiscard]] std::map<std::string, std::string, std::less<>> parse_table(std::string_view text, char separator);
/// Of a KFD node: domain and location_id (bus, device and function; some kernels put a partition's number into bits 28
/// to 31, others into the function); nullopt: a CPU.
[[nodiscard]] std::optional<PciAddress> kfd_address(const std::map<std::string, std::string, std::less<>>& properties);
/// The number after `ue:`; 0 where there is none.
[[nodiscard]] int parse_uncorrected(std::string_view text);
/// Classes and vendors that muster takes for a GPU; docs/methods/device_visibility.md gives the reasons.
[[nodiscard]] bool is_gpu(const PciAddress& address, std::string_view class_code, std::string_view vendor_id);
[[nodiscard]] bool is_nic(std::string_view class_code);

}  // namespace muster
