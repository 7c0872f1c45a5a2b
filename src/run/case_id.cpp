#include "run/case_id.hpp"

#include <cstdint>
#include <fmt/format.h>

namespace muster {

namespace {

/// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
class Fnv {
 public:
  void add(std::string_view text, unsigned char end) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(end);
  }
  [[nodiscard]] std::uint32_t folded() const { return static_cast<std::uint32_t>(hash_ ^ (hash_ >> 32)); }

 private:
  void add(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3u; }
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

constexpr unsigned char end_of_item = 0xFF;  // No UTF-8 text has these bytes.
constexpr unsigned char end_of_text = 0xFE;

}  // namespace

std::string case_id(const Case& item, int salt) {
  Fnv hash;
  for (const auto* text : {&item.check, &item.system, &item.partition, &item.environment}) hash.add(*text, end_of_text);
  for (const auto& [name, value] : item.params.values()) {
    hash.add(name, end_of_text);
    for (const auto& one : value.items) hash.add(to_string(one), end_of_item);
  }
  if (salt > 0) hash.add(std::to_string(salt), end_of_text);
  return fmt::format("{}%{:08x}", item.check, hash.folded());
}

}  // namespace muster
