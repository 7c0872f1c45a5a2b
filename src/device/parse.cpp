#include "device/parse.hpp"

#include <algorithm>
#include <cctype>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

bool is_digit(char letter) {
  return std::isdigit(static_cast<unsigned char>(letter)) != 0;
}

std::uint64_t number_in(const std::map<std::string, std::string, std::less<>>& table, std::string_view key) {
  const auto found = table.find(key);
  return found == table.end() ? 0 : leading_number<std::uint64_t>(found->second).value_or(0);
}

}  // namespace

std::string parse_id(std::string_view text) {
  text = trim(text);
  if (text.substr(0, 2) == "0x") text.remove_prefix(2);
  const bool is_hex = std::all_of(text.begin(), text.end(),
                                  [](char letter) { return std::isxdigit(static_cast<unsigned char>(letter)) != 0; });
  return text.size() > 8 || !is_hex ? std::string() : std::string(text);
}

double parse_amount(std::string_view text) {
  const double value = leading_number<double>(trim(text), std::chars_format::fixed).value_or(0);
  return value >= 0 && value < 1e9 ? value : 0;
}

int parse_width(std::string_view text) {
  const double lanes = parse_amount(text);
  return lanes <= 32 ? static_cast<int>(lanes) : 0;
}

int parse_lanes(std::string_view rate) {
  const auto open = rate.find('(');
  if (open == rate.npos) return 0;
  const std::string_view inside = rate.substr(open + 1);
  const auto end = inside.find_first_not_of("0123456789");
  const bool is_count = end != inside.npos && end > 0 && end < 3 && inside[end] == 'X';
  return is_count ? static_cast<int>(parse_amount(inside.substr(0, end))) : 0;
}

std::string parse_state(std::string_view text) {
  const auto colon = text.find(':');
  return std::string(trim(colon == text.npos ? text : text.substr(colon + 1)));
}

std::string parse_version(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at]) || (at > 0 && text[at - 1] != ' ' && text[at - 1] != '\t')) continue;
    const auto end = std::min(text.find_first_not_of("0123456789.", at), text.size());
    const auto version = text.substr(at, end - at);
    if (version.find('.') != version.npos) return std::string(version);
    at = end;
  }
  return {};
}

std::map<std::string, std::string, std::less<>> parse_table(std::string_view text, char separator) {
  std::map<std::string, std::string, std::less<>> table;
  for (const std::string_view line : lines(text)) {
    const auto at = line.find(separator);
    if (at != line.npos) table.emplace(trim(line.substr(0, at)), trim(line.substr(at + 1)));
  }
  return table;
}

std::optional<PciAddress> kfd_address(const std::map<std::string, std::string, std::less<>>& properties) {
  if (number_in(properties, "simd_count") == 0) return std::nullopt;
  const auto location = static_cast<std::uint32_t>(number_in(properties, "location_id"));
  return PciAddress{static_cast<std::uint32_t>(number_in(properties, "domain")), location >> 8 & 0xff,
                    location >> 3 & 0x1f, location & 7};
}

int parse_uncorrected(std::string_view text) {
  const auto table = parse_table(text, ':');
  return static_cast<int>(std::min<std::uint64_t>(number_in(table, "ue"), 1u << 30));
}

bool is_gpu(const PciAddress& address, std::string_view class_code, std::string_view vendor_id) {
  for (const GpuVendor* vendor : gpu_vendors()) {
    if (vendor->pci_vendors.empty() || vendor->pci_vendors.front() != vendor_id) continue;
    const auto& classes = vendor->pci_classes;
    const bool is_integrated = !vendor->is_first_display_a_gpu && address.bus == 0 && address.device == 2;
    return !is_integrated && is_in(class_code.substr(0, 4), classes);
  }
  return false;
}

bool is_nic(std::string_view class_code) {
  return class_code.substr(0, 2) == "02";
}

}  // namespace muster
