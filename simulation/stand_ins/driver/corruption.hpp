/// Options of lines of the sheet that make data wrong: `kind KIND`, `after N`, `every N`.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/corruption.hpp"

namespace fake {

/// What stands behind the option; nullptr: nothing.
inline const std::string* option_of(const std::vector<std::string>& words, std::string_view name) {
  for (std::size_t at = 2; at + 1 < words.size(); at += 2)
    if (words[at] == name) return &words[at + 1];
  return nullptr;
}

/// Whether the line is about the one of that number, from 1 on.
inline bool is_wrong_one(const std::vector<std::string>& words, int number) {
  const std::string* after = option_of(words, "after");
  if (after != nullptr && number <= std::strtol(after->c_str(), nullptr, 0)) return false;
  const std::string* every = option_of(words, "every");
  const long period = every == nullptr ? 1 : std::strtol(every->c_str(), nullptr, 0);
  return period > 0 && number % period == 0;
}

inline void spoil(const std::vector<std::string>& words, void* data, std::size_t bytes) {
  const std::string* name = option_of(words, "kind");
  const auto kind = name == nullptr ? std::nullopt : muster::corruption_kind(*name);
  muster::corrupt_bytes(kind.value_or(muster::CorruptionKind::bit), {static_cast<std::byte*>(data), bytes},
                        std::byte{0x10});
}

}  // namespace fake
