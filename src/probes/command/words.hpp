/// The words of a program's command line, with what stands for something filled in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "muster/params.hpp"

namespace muster::program {

inline constexpr std::string_view python_word = "{python}";
inline constexpr std::string_view folder_word = "{check}";

/// A word with the folder of the check file for `{check}`; `${check}` is a variable of a shell.
struct Word {
  std::string text;
  std::vector<std::size_t> folders = {};  ///< where the folder begins in it
};

[[nodiscard]] inline Word filled_in(std::string_view word, std::string_view folder) {
  Word filled;
  for (std::size_t at = 0; at < word.size();) {
    const bool is_folder = word.substr(at).starts_with(folder_word) && (at == 0 || word[at - 1] != '$');
    if (is_folder) filled.folders.push_back(filled.text.size());
    is_folder ? filled.text.append(folder) : filled.text.append(1, word[at]);
    at += is_folder ? folder_word.size() : 1;
  }
  return filled;
}

/// argv and arguments as the check has them.
[[nodiscard]] inline std::vector<std::string> given_words(const Params& params) {
  std::vector<std::string> words = params.texts("argv");
  for (std::string& argument : params.texts("arguments")) words.push_back(std::move(argument));
  return words;
}

/// The same with the folder of the check file; `{python}` is left as it is.
[[nodiscard]] inline std::vector<std::string> words_of(const Params& params, std::string_view folder) {
  std::vector<std::string> words = given_words(params);
  for (std::string& word : words) word = filled_in(word, folder).text;
  return words;
}

}  // namespace muster::program
