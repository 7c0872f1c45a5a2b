/// What can stand at the cursor of a command line that is being typed. The shells' scripts (packaging/completion/) ask for it.
#pragma once

#include <string>
#include <vector>

#include "app/cli/words.hpp"

namespace muster {

/// Where the cursor is.
struct AtCursor {
  const CommandWords* command = nullptr;  ///< the innermost that was named
  const OptionWords* option = nullptr;    ///< whose value is typed; nullptr: a command's or an option's name is
  bool is_foreign = false;                ///< behind `--`: words of another program
  std::string kept;                       ///< of the word, what comes before that value: `--report=`
  std::string typed;                      ///< the value, or name, as far as it was typed
  std::vector<std::string> places;        ///< values without a name that were given before
};

/// `words` are those after the program's name, the last one that at the cursor; it may be empty.
[[nodiscard]] AtCursor find_cursor(const CommandWords& root, const std::vector<std::string>& words);

struct Candidate {
  std::string text;  ///< the whole word
  std::string help;  ///< may be empty
};

struct Completion {
  std::vector<Candidate> candidates;
  bool has_files = false;    ///< and any file
  bool has_folders = false;  ///< and any folder
  bool goes_on = false;      ///< no space behind it: more belongs to the word
};

/// Those that begin with what was typed.
[[nodiscard]] Completion complete(const AtCursor& at);
/// What an option or place takes, whatever was typed. Knows it by what the help calls its value: `TAG`, `PROBE`, `RUN`.
/// Files that are wrong give nothing, and nothing is printed.
[[nodiscard]] Completion known_values(const AtCursor& at);

}  // namespace muster
