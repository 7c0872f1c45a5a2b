/// Words in braces in the command line of a program: `{check}` and `{python}`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/fields.hpp"

namespace muster {

/// What is wrong with the placeholders of one argument; empty: nothing. A word in braces that is like neither, as in a
/// script of awk, is an argument as any other.
[[nodiscard]] std::string placeholder_fault(std::string_view word);
/// Each word of letters and `_` in braces: `gpu` of `x{gpu}y`; `{}` gives an empty one. In constant space: std::regex
/// needs stack for each letter.
[[nodiscard]] std::vector<std::string> words_in_braces(std::string_view text);
/// Complains, with their places, about those in `argv` and `arguments`, in `file` of metrics, and in values of a sweep.
void check_placeholders_of_program(Fields& check_fields);

}  // namespace muster
