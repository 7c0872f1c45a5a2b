/// What the parts of a profile have in common: names, regular expressions, words of a list, placeholders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/fields.hpp"
#include "model/check.hpp"

namespace muster {

/// More than any machine has.
inline constexpr double most_cores = 65'536;

/// The table's `name`, which it must have.
[[nodiscard]] std::string read_name(Fields& fields, std::string_view example);
/// Empty when the key is absent or (with a complaint) not a valid regular expression (RE2).
[[nodiscard]] std::string read_regex(Fields& fields, std::string_view key);
/// Empty when the key is absent or (with a complaint) none of `known`.
[[nodiscard]] std::string read_choice(Fields& fields, std::string_view key, const std::vector<std::string>& known);
/// Texts whose braces are balanced: they may hold `{image}` and the like; who fills them is not known here.
[[nodiscard]] Argv read_arguments(Fields& fields, std::string_view key);
void check_braces(const Node& value, DocumentErrors& errors);

/// Letters, digits and `_`, not beginning with a digit.
[[nodiscard]] bool is_variable(std::string_view text);
/// The name of a variable, which the table must have.
[[nodiscard]] std::string read_variable_name(Fields& fields, std::string_view key, std::string_view example);

}  // namespace muster
