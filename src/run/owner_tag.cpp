#include "run/owner_tag.hpp"

#include <cstdint>
#include <fmt/format.h>

#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::string_view opening = "muster[";
constexpr std::size_t most_reason = 180;

/// FNV-1a, folded to 16 bits: a guard against editors, not against forgers.
std::string sum_of(std::string_view run, std::string_view text) {
  std::uint32_t sum = 2166136261u;
  for (const auto part : {run, std::string_view("\n"), text})
    for (const char letter : part) sum = (sum ^ static_cast<unsigned char>(letter)) * 16777619u;
  return fmt::format("{:04x}", (sum >> 16 ^ sum) & 0xffff);
}

/// Tools that show reasons know ASCII, and Slurm's files quote with ".
std::string fit(std::string_view text) {
  std::string line;
  for (const char letter : printable_line(text, most_reason))
    line += letter == '"' ? '\'' : letter < ' ' || letter > '~' ? '?' : letter;
  return std::string(trim(line));
}

}  // namespace

std::string write_tag(const OwnerTag& tag) {
  const auto text = fmt::format("{}: {}", fit(tag.check), fit(tag.reason));
  return fmt::format("{}{}-{}]: {}", opening, tag.run, sum_of(tag.run, text), text);
}

bool begins_as_tag(std::string_view reason) {
  return reason.substr(0, opening.size()) == opening;
}

std::optional<OwnerTag> read_tag(std::string_view reason) {
  if (!begins_as_tag(reason)) return {};
  reason.remove_prefix(opening.size());
  const auto close = reason.find("]: ");
  const auto dash = reason.find('-');
  if (close == reason.npos || dash > close) return {};
  OwnerTag tag;
  tag.run = std::string(reason.substr(0, dash));
  const auto text = reason.substr(close + 3);
  if (reason.substr(dash + 1, close - dash - 1) != sum_of(tag.run, text)) return {};
  const auto colon = text.find(": ");
  if (colon == text.npos) return {};
  tag.check = std::string(text.substr(0, colon));
  tag.reason = std::string(text.substr(colon + 2));
  return tag;
}

}  // namespace muster
