/// What may be wrong with a product of matrices: the lines `wrong_product GPU [kind KIND] [every N]` of the sheet.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <map>

#include "corruption.hpp"
#include "sheet.hpp"

namespace fake {

/// To be called once for every product of a device, after it was computed.
inline void after_product(int device, void* c, std::size_t bytes) {
  static std::map<int, int> products;
  const int number = ++products[device];
  for (const auto& [words] : Sheet::here().lines) {
    if (words.size() < 2 || words[0] != "wrong_product" || std::atoi(words[1].c_str()) != device) continue;
    if (is_wrong_one(words, number)) spoil(words, c, bytes);
  }
}

}  // namespace fake
