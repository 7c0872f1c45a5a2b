#include "measure/device_lists.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <set>

#include "base/number.hpp"
#include "base/text.hpp"

namespace muster::gpu_mapping {

namespace {

struct Pick {
  Slot slot;
  std::string fault = {};  ///< why there is none
};

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& letter : small)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + ('a' - 'A'));
  return small;
}

/// As a C program reads a number off the start of a text, and minds nothing behind it.
std::optional<long> number_of_start(std::string_view text) {
  return leading_number<long>(text.starts_with('+') ? text.substr(1) : text);
}

/// With the prefixes of C: 0x10, 010.
std::optional<long> number_of_any_base(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const bool is_octal = !is_hex && text.size() > 1 && text[0] == '0';
  if (is_hex) text.remove_prefix(2);
  return parse_number<long>(text, is_hex ? 16 : is_octal ? 8 : 10);
}

std::string in_quotes(std::string_view token) {
  return fmt::format("\"{}\"", printable_line(token, 60));
}

Pick by_ordinal(std::optional<long> ordinal, std::string_view token, const std::vector<Slot>& from) {
  if (!ordinal) return {{}, in_quotes(token) + " is not a GPU"};
  if (*ordinal < 0) return {{}, in_quotes(token) + " is negative"};
  if (static_cast<std::size_t>(*ordinal) >= from.size())
    return {{}, fmt::format("{} is beyond {}", in_quotes(token), range_of(from.size()))};
  return {from[static_cast<std::size_t>(*ordinal)]};
}

/// KFD has the number that the runtime prints as 16 hexadecimal digits.
std::string uuid_of(const Device& device) {
  if (device.uuid.starts_with("GPU-")) return lower(device.uuid);
  const auto unique = parse_number<std::uint64_t>(device.uuid);
  return unique ? fmt::format("gpu-{:016x}", *unique) : lower(device.uuid);
}

Pick by_uuid(std::string_view token, const std::vector<Slot>& from) {
  const std::string wanted = lower(token);
  if (wanted.size() < 5) return {{}, in_quotes(token) + " is not a UUID"};
  const Slot* found = nullptr;
  bool is_reported_of_all = true;
  for (const Slot& slot : from) {
    const std::string uuid = slot.device == nullptr ? std::string() : uuid_of(*slot.device);
    is_reported_of_all &= !uuid.empty();
    if (uuid.empty() || !uuid.starts_with(wanted)) continue;
    if (found != nullptr) return {{}, in_quotes(token) + " fits several GPUs"};
    found = &slot;
  }
  if (found != nullptr) return {*found};
  if (!is_reported_of_all) return {{printable_line(token, 60), nullptr}};
  return {{}, in_quotes(token) + " is the UUID of no GPU here"};
}

/// `MIG-GPU-<uuid>/<instance>/<compute instance>` names its GPU; `MIG-<uuid>` does not.
Pick by_mig(std::string_view token, const std::vector<Slot>& from) {
  Slot slot{printable_line(token, 80), nullptr};
  if (token.starts_with("MIG-GPU-")) {
    const std::string_view parent = token.substr(4);
    const Pick gpu = by_uuid(parent.substr(0, parent.find('/')), from);
    if (!gpu.fault.empty()) return gpu;
    slot.device = gpu.slot.device;
  }
  return {slot};
}

bool holds(const std::vector<Slot>& slots, const Slot& slot) {
  return std::any_of(slots.begin(), slots.end(), [&](const Slot& other) { return other.name == slot.name; });
}

void end_list(const ListText& list, const std::vector<Slot>& slots, const std::string& why,
              std::vector<Fault>& faults) {
  const std::string message = setting(list.name, list.value);
  if (slots.empty())
    faults.push_back({"hides", fmt::format("{} hides every GPU: {}", message, why)});
  else
    faults.push_back(
        {"ends", fmt::format("{}: {}, so the list ends after {} of its entries", message, why, slots.size())});
}

}  // namespace

std::string setting(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, printable_line(value, 120));
}

std::string range_of(std::size_t count) {
  if (count == 0) return "the GPUs, of which there is none";
  return count == 1 ? "the one GPU (0)" : fmt::format("the {} GPUs (0 to {})", count, count - 1);
}

std::vector<Slot> cuda_list(const ListText& list, std::vector<Fault>& faults) {
  std::vector<Slot> slots;
  if (trim(list.value).empty()) {
    end_list(list, slots, "it is empty", faults);
    return slots;
  }
  for (const std::string& entry : split(list.value, ',')) {
    const std::string_view token = trim(entry);
    const bool is_mig = token.starts_with("MIG-");
    if (is_mig && !slots.empty()) {
      end_list(list, slots, "a program sees one MIG instance only", faults);
      break;
    }
    const Pick pick = is_mig                      ? by_mig(token, list.from)
                      : token.starts_with("GPU-") ? by_uuid(token, list.from)
                                                  : by_ordinal(number_of_start(token), token, list.from);
    if (!pick.fault.empty()) {
      end_list(list, slots, pick.fault, faults);
      break;
    }
    if (holds(slots, pick.slot)) {
      slots.clear();
      end_list(list, slots, in_quotes(token) + " names a GPU twice", faults);
      break;
    }
    slots.push_back(pick.slot);
  }
  return slots;
}

std::vector<Slot> rocr_list(const ListText& list, std::vector<Fault>& faults) {
  std::vector<Slot> slots;
  if (trim(list.value).empty()) {
    end_list(list, slots, "it is empty", faults);
    return slots;
  }
  for (const std::string& entry : split(list.value, ',')) {
    const std::string_view token = trim(entry);
    Pick pick = !token.empty() && token[0] == 'G' ? by_uuid(token, list.from)
                                                  : by_ordinal(number_of_any_base(token), token, list.from);
    if (pick.fault.empty() && holds(slots, pick.slot)) pick.fault = in_quotes(token) + " names a GPU twice";
    if (!pick.fault.empty()) {
      end_list(list, slots, pick.fault, faults);
      break;
    }
    slots.push_back(pick.slot);
  }
  return slots;
}

std::vector<Slot> hip_list(const ListText& list, std::vector<Fault>& faults) {
  std::vector<Slot> slots;
  for (const std::string& token : split(list.value, ',')) {
    const auto number = parse_number<long>(token);
    // `01` and ` 1` are refused.
    const bool is_plain = number && std::to_string(*number) == token;
    const Pick pick = token.starts_with("GPU-") ? by_uuid(token, list.from)
                                                : by_ordinal(is_plain ? number : std::nullopt, token, list.from);
    if (!pick.fault.empty()) {
      end_list(list, slots, pick.fault, faults);
      break;
    }
    if (holds(slots, pick.slot))
      faults.push_back({"repeats", fmt::format("{}: {} names a GPU twice, which counts once",
                                               setting(list.name, list.value), in_quotes(token))});
    else
      slots.push_back(pick.slot);
  }
  return slots;
}

std::vector<Slot> card_mask(const ListText& list, std::vector<Fault>& faults) {
  std::map<std::size_t, std::set<std::string>> tiles;
  for (const std::string& entry : split(list.value, ',')) {
    const std::string_view token = trim(entry);
    const auto dot = token.find('.');
    const auto card = parse_number<long>(token.substr(0, dot));
    if (!card || *card < 0 || static_cast<std::size_t>(*card) >= list.from.size()) {
      faults.push_back({"ends", fmt::format("{}: {} is beyond {}", setting(list.name, list.value), in_quotes(token),
                                            range_of(list.from.size()))});
      continue;
    }
    auto& parts = tiles[static_cast<std::size_t>(*card)];
    parts.insert(dot == token.npos ? std::string() : printable_line(token.substr(dot + 1), 20));
  }
  // A mask hides, and does not order: cards stay in the order in which the driver found them.
  std::vector<Slot> slots;
  for (const auto& [card, parts] : tiles) {
    Slot slot = list.from[card];
    if (parts.size() == 1 && !parts.begin()->empty()) slot.name += "/" + *parts.begin();
    slots.push_back(std::move(slot));
  }
  if (slots.empty()) end_list(list, slots, "none of its entries is a GPU", faults);
  return slots;
}

}  // namespace muster::gpu_mapping
