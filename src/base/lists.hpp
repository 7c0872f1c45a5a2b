/// Whether a list has an item.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>

namespace muster {

template <class Item, class List>
[[nodiscard]] bool is_in(const Item& item, const List& list) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}
[[nodiscard]] inline bool is_in(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace muster
