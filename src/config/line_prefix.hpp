/// Programs in front of the launcher of a line: `env A=b timeout 600 srun ...`.
#pragma once

#include <cstddef>

#include "muster/launcher.hpp"

namespace muster {

/// Where, from `at` on and behind `env`, `timeout`, `nohup` and the like with their options, the program stands that
/// they start; words.size(): none does.
[[nodiscard]] std::size_t behind_prefixes(const Argv& words, std::size_t at = 0);

/// Where the words of a shell that may stand in front of a command end, with their options: `exec`, `time -p`. `at`:
/// there are none.
[[nodiscard]] std::size_t behind_shell_words(const Argv& words, std::size_t at = 0);

}  // namespace muster
