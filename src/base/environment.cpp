#include "base/environment.hpp"

#include <algorithm>
#include <string_view>
#include <unistd.h>

#include "base/lists.hpp"

namespace muster {

std::vector<std::string> child_environment(const std::vector<std::pair<std::string, std::string>>& added,
                                           const std::vector<std::string>& unset) {
  std::vector<std::string> merged;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    const auto is_replaced = [&](const auto& one) { return one.first == name; };
    if (is_in(name, unset)) continue;
    if (std::none_of(added.begin(), added.end(), is_replaced)) merged.emplace_back(text);
  }
  for (auto one = added.begin(); one != added.end(); ++one) {
    const auto is_same = [&](const auto& later) { return later.first == one->first; };
    if (std::none_of(one + 1, added.end(), is_same)) merged.push_back(one->first + "=" + one->second);
  }
  return merged;
}

std::vector<char*> exec_list(std::vector<std::string>& texts) {
  std::vector<char*> made;
  for (std::string& text : texts) made.push_back(text.data());
  made.push_back(nullptr);
  return made;
}

}  // namespace muster
