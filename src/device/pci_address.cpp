#include "device/pci_address.hpp"

#include <fmt/format.h>

#include "base/number.hpp"

namespace muster {

namespace {

/// `text` whole as a hexadecimal number of at most `digits` digits and at most `most`.
bool read_hex(std::string_view text, std::size_t digits, std::uint32_t most, std::uint32_t& value) {
  return text.size() <= digits && read_number(text, value, 16) && value <= most;
}

}  // namespace

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  PciAddress address;
  const auto dot = text.rfind('.');
  const auto colon = text.rfind(':', dot);
  if (dot == text.npos || colon == text.npos) return std::nullopt;
  if (!read_hex(text.substr(dot + 1), 1, 7, address.function)) return std::nullopt;
  if (!read_hex(text.substr(colon + 1, dot - colon - 1), 2, 31, address.device)) return std::nullopt;
  std::string_view bus = text.substr(0, colon);
  if (const auto first = bus.find(':'); first != bus.npos) {
    if (!read_hex(bus.substr(0, first), 8, 0xffffffff, address.domain)) return std::nullopt;
    bus.remove_prefix(first + 1);
  }
  if (!read_hex(bus, 2, 255, address.bus)) return std::nullopt;
  return address;
}

std::string to_string(const PciAddress& address) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", address.domain, address.bus, address.device, address.function);
}

}  // namespace muster
