#include "run/rerun.hpp"

#include <array>
#include <string_view>

#include "base/lists.hpp"

namespace muster {

namespace {

constexpr std::array<std::string_view, 3> night_switches{"--quiet", "--lock", "--dry-run-actions"};
constexpr std::array<std::string_view, 4> night_options{"--lock-file", "--on-fail", "--on-pass", "--max-drain"};

}  // namespace

Argv rerun_by_hand(const Argv& command_line) {
  const auto is_one_of = [](const auto& known, std::string_view word) { return is_in(word, known); };
  Argv kept;
  for (std::size_t i = 0; i < command_line.size(); ++i) {
    const std::string_view word = command_line[i];
    if (is_one_of(night_switches, word)) continue;
    if (is_one_of(night_options, word.substr(0, word.find('=')))) {
      // Its value is the next word, unless it is part of this one.
      if (word.find('=') == word.npos) ++i;
      continue;
    }
    kept.push_back(command_line[i]);
  }
  return kept;
}

}  // namespace muster
