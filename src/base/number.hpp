/// Numbers in texts as std::from_chars reads them, which takes neither a blank nor a `+` before one. `form`: its
/// argument after the number, which is the base of an integer or a std::chars_format.
#pragma once

#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace muster {

/// Takes the number that `text` begins with; none where it begins with something else, or the number does not fit.
template <class Number, class... Form>
[[nodiscard]] std::optional<Number> take_number(std::string_view& text, Form... form) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, form...);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// The number that `text` begins with, whatever follows.
template <class Number, class... Form>
[[nodiscard]] std::optional<Number> leading_number(std::string_view text, Form... form) {
  return take_number<Number>(text, form...);
}

/// The whole of `text` as a number.
template <class Number, class... Form>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text, Form... form) {
  const auto number = take_number<Number>(text, form...);
  return text.empty() ? number : std::nullopt;
}

/// The whole of `text` as a number from `least` to `most`.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number_from(std::string_view text, Number least,
                                                      Number most = std::numeric_limits<Number>::max()) {
  const auto number = parse_number<Number>(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

/// Whether the whole of `text` is a number. What it begins with goes into `number`, which keeps its value without one.
template <class Number, class... Form>
[[nodiscard]] bool read_number(std::string_view text, Number& number, Form... form) {
  const auto found = take_number<Number>(text, form...);
  number = found.value_or(number);
  return found && text.empty();
}

}  // namespace muster
