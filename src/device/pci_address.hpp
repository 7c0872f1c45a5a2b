/// Where a device sits on the PCI bus: the one name that all sources share.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct PciAddress {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;
  std::uint32_t function = 0;
  friend auto operator<=>(const PciAddress&, const PciAddress&) = default;
};

/// `0000:c1:00.0`, `00000000:C1:00.0` as some tools write it, `c1:00.0`; nullopt: no address.
[[nodiscard]] std::optional<PciAddress> parse_pci_address(std::string_view text);
/// As the kernel writes it: `0000:c1:00.0`.
[[nodiscard]] std::string to_string(const PciAddress& address);

}  // namespace muster
