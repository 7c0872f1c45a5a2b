#include "measure/pattern.hpp"

#include <cstring>
#include <fmt/format.h>
#include <vector>

#include "base/text.hpp"

namespace muster::p2p {

namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

void compare_bytes(std::span<const std::byte> got, std::uint64_t word, std::size_t offset,
                   std::optional<Corruption>& found) {
  std::uint8_t expected[word_bytes];
  std::memcpy(expected, &word, word_bytes);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(got[i]);
    if (byte == expected[i]) continue;
    if (!found) found = Corruption{offset + i, expected[i], byte, 0};
    ++found->bytes;
  }
}

}  // namespace

void fill(std::span<std::byte> memory, std::uint64_t seed) {
  const std::size_t words = memory.size() / word_bytes;
  std::byte* to = memory.data();
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t word = mix(seed + i);
    std::memcpy(to + i * word_bytes, &word, word_bytes);
  }
  const std::uint64_t last = mix(seed + words);
  if (const std::size_t rest = memory.size() % word_bytes; rest > 0) std::memcpy(to + words * word_bytes, &last, rest);
}

std::optional<Corruption> find_corruption(std::span<const std::byte> memory, std::uint64_t seed) {
  std::optional<Corruption> found;
  const std::size_t words = memory.size() / word_bytes;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t got = 0;
    std::memcpy(&got, memory.data() + i * word_bytes, word_bytes);
    const std::uint64_t expected = mix(seed + i);
    if (got != expected) compare_bytes(memory.subspan(i * word_bytes, word_bytes), expected, i * word_bytes, found);
  }
  compare_bytes(memory.subspan(words * word_bytes), mix(seed + words), words * word_bytes, found);
  return found;
}

std::string describe(const Corruption& corruption) {
  const unsigned differing = static_cast<unsigned>(corruption.expected ^ corruption.got);
  std::vector<std::string> bits;
  for (unsigned bit = 0; bit < 8; ++bit)
    if ((differing >> bit) & 1U) bits.push_back(std::to_string(bit));
  std::string text = fmt::format("{} {} of byte {} {} (0x{:02x} instead of 0x{:02x})",
                                 bits.size() == 1 ? "bit" : "bits", human_list(bits), corruption.offset,
                                 bits.size() == 1 ? "is flipped" : "differ", corruption.got, corruption.expected);
  if (corruption.bytes > 1) text += fmt::format(", {} bytes are wrong in all", corruption.bytes);
  return text;
}

std::string describe(const WrongMessages& wrong) {
  const std::string what = wrong.is_previous ? "the message before it is still in its place" : describe(wrong.first);
  return fmt::format("{}, in {} of {} messages compared", what, wrong.messages, wrong.compared);
}

}  // namespace muster::p2p
