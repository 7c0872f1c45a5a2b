#include "config/line_prefix.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "config/given_line.hpp"

namespace muster {

namespace {

struct Prefix {
  std::string_view program;
  std::string_view with_value;  ///< options of one letter whose value may be the next word
  std::string_view long_ones;   ///< likewise, between spaces
  int operands = 0;             ///< words between its options and what it starts
};
// coreutils, util-linux, numactl, GNU time.
constexpr Prefix prefixes[] = {
    {"env", "uC", " --unset --chdir ", 0},
    {"timeout", "sk", " --signal --kill-after ", 1},
    {"nohup", "", "", 0},
    {"nice", "n", " --adjustment ", 0},
    {"ionice", "cn", " --class --classdata ", 0},
    {"setsid", "", "", 0},
    {"stdbuf", "ioe", " --input --output --error ", 0},
    {"time", "fo", " --format --output ", 0},
    {"numactl", "NmCipP", " --cpunodebind --physcpubind --membind --interleave --preferred ", 0},
    {"taskset", "", "", 1},
};

const Prefix* prefix_named(std::string_view word) {
  const std::string name = base_name(word);
  const auto* found =
      std::find_if(std::begin(prefixes), std::end(prefixes), [&](const Prefix& one) { return one.program == name; });
  return found == std::end(prefixes) ? nullptr : found;
}

/// Whether the value of the option `word` is the next word: `-k 5`, but neither `-k5` nor `--kill-after=5`.
bool takes_next_word(const Prefix& prefix, std::string_view word) {
  if (word.starts_with("--")) return prefix.long_ones.find(fmt::format(" {} ", word)) != prefix.long_ones.npos;
  return word.size() == 2 && prefix.with_value.find(word[1]) != prefix.with_value.npos;
}

std::size_t behind_options(const Argv& words, std::size_t at, const Prefix& prefix) {
  for (; at < words.size() && words[at].size() > 1 && words[at].starts_with('-'); ++at) {
    if (words[at] == "--") return at + 1;
    if (takes_next_word(prefix, words[at])) ++at;
  }
  return at;
}

}  // namespace

std::size_t behind_prefixes(const Argv& words, std::size_t at) {
  while (at < words.size()) {
    const Prefix* prefix = prefix_named(words[at]);
    if (prefix == nullptr) return at;
    at = behind_options(words, at + 1, *prefix);
    while (prefix->program == "env" && at < words.size() && is_assignment(words[at])) ++at;
    at += static_cast<std::size_t>(prefix->operands);
  }
  return words.size();
}

std::size_t behind_shell_words(const Argv& words, std::size_t at) {
  constexpr Prefix exec{"exec", "a", "", 0};
  constexpr Prefix time{"time", "fo", " --format --output ", 0};
  while (at < words.size()) {
    if (words[at] == "exec")
      at = behind_options(words, at + 1, exec);
    else if (words[at] == "time")
      at = behind_options(words, at + 1, time);
    else
      break;
  }
  return at;
}

}  // namespace muster
