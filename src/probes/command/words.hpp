/// The words of a program's command line, with what stands for something filled in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "muster/params.hpp"

namespace muster::program {

inline constexpr std::string_view python_word = "{python}";
inline constexpr std::string_view folder_word = "{check}";

/// `{check}` is the folder of the check file; `${check}` is a variable of a shell.
[[nodiscard]] inline std::string filled_in(std::string_view word, std::string_view folder) {
  std::string filled;
  for (std::size_t at = 0; at < word.size();) {
    const bool is_folder = word.substr(at).starts_with(folder_word) && (at == 0 || word[at - 1] != '$');
    is_folder ? filled.append(folder) : filled.append(1, word[at]);
    at += is_folder ? folder_word.size() : 1;
  }
  return filled;
}

/// argv and arguments; `{python}` is left as it is.
[[nodiscard]] inline std::vector<std::string> words_of(const Params& params, std::string_view folder) {
  std::vector<std::string> words = params.texts("argv");
  for (std::string& argument : params.texts("arguments")) words.push_back(std::move(argument));
  for (std::string& word : words) word = filled_in(word, folder);
  return words;
}

}  // namespace muster::program
