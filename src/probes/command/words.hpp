/// The words of a program's command line, with what stands for something filled in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "muster/params.hpp"

namespace muster::program {

inline constexpr std::string_view python_word = "{python}";
inline constexpr std::string_view folder_word = "{check}";

/// `{check}` at the start of a word is the folder of the check file.
[[nodiscard]] inline std::string filled_in(std::string_view word, std::string_view folder) {
  if (!word.starts_with(folder_word)) return std::string(word);
  return std::string(folder).append(word.substr(folder_word.size()));
}

/// argv and arguments; `{python}` is left as it is.
[[nodiscard]] inline std::vector<std::string> words_of(const Params& params, std::string_view folder) {
  std::vector<std::string> words = params.texts("argv");
  for (std::string& argument : params.texts("arguments")) words.push_back(std::move(argument));
  for (std::string& word : words) word = filled_in(word, folder);
  return words;
}

}  // namespace muster::program
