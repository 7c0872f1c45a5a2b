#include "muster/params.hpp"

#include <array>
#include <cassert>
#include <cmath>
#include <fmt/format.h>

#include "base/names.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace muster {

namespace {

tl::unexpected<Error> expected(std::string_view what, std::string_view text) {
  return fail(ErrorKind::usage, "", fmt::format("expected {}, not \"{}\"", what, printable_line(text, 60)));
}

template <class Number>
Result<ParamScalar> finite_number(std::string_view text, std::string_view what) {
  const auto value = parse_number<Number>(text);
  if (!value || !std::isfinite(*value)) return expected(what, text);
  return *value;
}

Result<ParamScalar> parse_choice(const ParamSpec& spec, std::string_view text) {
  // No argument, variable or file name of a program could hold it.
  if (text.find('\0') != std::string_view::npos) return fail(ErrorKind::usage, "", "a text holds no NUL byte");
  if (spec.choices.empty()) return std::string(text);
  const auto choices = split(spec.choices, '|');
  for (const auto& choice : choices)
    if (choice == text) return choice;
  return fail(ErrorKind::usage, "",
              fmt::format("\"{}\" is not one of {}", printable_line(text, 60), join(choices, ", ")));
}

Result<ParamScalar> parse_scalar(const ParamSpec& spec, std::string_view text) {
  switch (item_type(spec.type)) {
    case ParamType::boolean:
      if (text == "true") return true;
      if (text == "false") return false;
      return expected("true or false", text);
    case ParamType::integer:
      return finite_number<std::int64_t>(text, "a whole number");
    case ParamType::real:
      return finite_number<double>(text, "a number");
    case ParamType::bytes:
      return parse_bytes(text).map([](Bytes b) { return ParamScalar(b); });
    case ParamType::duration:
      return parse_duration(text).map([](Seconds s) { return ParamScalar(s); });
    default:
      return parse_choice(spec, text);
  }
}

std::optional<double> as_number(const ParamScalar& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&value)) return *d;
  if (const auto* b = std::get_if<Bytes>(&value)) return static_cast<double>(b->count);
  if (const auto* s = std::get_if<Seconds>(&value)) return s->value;
  return std::nullopt;
}

/// A bound in the words of the parameter's type.
std::string bound_text(const ParamSpec& spec, double bound) {
  if (item_type(spec.type) == ParamType::bytes) return format_bytes({static_cast<std::uint64_t>(bound)});
  if (item_type(spec.type) == ParamType::duration) return format_duration({bound});
  return fmt::format("{}", bound);
}

Result<void> check_range(const ParamSpec& spec, const ParamScalar& value) {
  const auto number = as_number(value);
  if (!number) return {};
  if (spec.least && *number < *spec.least)
    return fail(ErrorKind::usage, "",
                fmt::format("{} is below the least allowed, {}", to_string(value), bound_text(spec, *spec.least)));
  if (spec.most && *number > *spec.most)
    return fail(ErrorKind::usage, "",
                fmt::format("{} is above the most allowed, {}", to_string(value), bound_text(spec, *spec.most)));
  return {};
}

}  // namespace

ParamType item_type(ParamType type) {
  switch (type) {
    case ParamType::integer_list:
      return ParamType::integer;
    case ParamType::real_list:
      return ParamType::real;
    case ParamType::text_list:
      return ParamType::text;
    case ParamType::bytes_list:
      return ParamType::bytes;
    default:
      return type;
  }
}

constexpr std::string_view param_type_names[] = {
    "boolean",  "integer",          "real",          "text",          "bytes",
    "duration", "list of integers", "list of reals", "list of texts", "list of bytes"};

std::string_view to_string(ParamType type) {
  return enum_name(param_type_names, type);
}

namespace {

/// Items between commas; `\,` and `\\` stand for a comma and a backslash within one.
std::vector<std::string> split_texts(std::string_view text) {
  std::vector<std::string> items;
  if (text.empty()) return items;
  items.emplace_back();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      items.emplace_back();
      continue;
    }
    const bool is_escape = text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ',' || text[i + 1] == '\\');
    items.back() += text[is_escape ? ++i : i];
  }
  return items;
}

std::string escape_text(std::string_view item) {
  std::string text;
  for (const char c : item) {
    if (c == ',' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

/// Exact where the text for people rounds: the seconds with all their digits.
std::string exact_duration(Seconds seconds) {
  auto text = format_duration(seconds);
  if (const auto back = parse_duration(text); back && *back == seconds) return text;
  std::array<char, 1100> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), seconds.value, std::chars_format::fixed);
  return std::string(digits.data(), end.ptr) + "s";
}

}  // namespace

Result<ParamValue> parse_param(const ParamSpec& spec, const std::vector<std::string>& items) {
  ParamValue value{spec.type, {}};
  if (!is_list(spec.type) && items.size() != 1)
    return fail(ErrorKind::usage, "",
                fmt::format("expected one {}, not a list of {}", to_string(spec.type), items.size()));
  for (const auto& item : items) {
    // A command's argument may begin or end with a blank; nothing else means one.
    auto scalar = parse_scalar(spec, item_type(spec.type) == ParamType::text ? std::string_view(item) : trim(item));
    if (!scalar) return tl::unexpected(scalar.error());
    if (auto in_range = check_range(spec, *scalar); !in_range) return tl::unexpected(in_range.error());
    value.items.push_back(std::move(*scalar));
  }
  // What must be given names something, and a list does so with its first item.
  if (!spec.default_text && spec.type == ParamType::text_list && !items.empty() && items.front().empty())
    return fail(ErrorKind::usage, "", "its first item is empty");
  return value;
}

Result<ParamValue> parse_param(const ParamSpec& spec, std::string_view text) {
  if (!is_list(spec.type)) return parse_param(spec, std::vector{std::string(text)});
  if (spec.type == ParamType::text_list) return parse_param(spec, split_texts(text));
  return parse_param(spec, split(text, ','));
}

std::string to_string(const ParamScalar& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* bytes = std::get_if<Bytes>(&value)) return format_bytes(*bytes);
  if (const auto* seconds = std::get_if<Seconds>(&value)) return exact_duration(*seconds);
  return std::get<std::string>(value);
}

std::string to_string(const ParamValue& value) {
  std::vector<std::string> items;
  const bool are_texts = value.type == ParamType::text_list;
  for (const auto& item : value.items) items.push_back(are_texts ? escape_text(to_string(item)) : to_string(item));
  return join(items, ",");
}

namespace {

template <class T>
const T& one(const std::map<std::string, ParamValue, std::less<>>& values, std::string_view name) {
  const auto found = values.find(name);
  assert(found != values.end() && found->second.items.size() == 1);
  return std::get<T>(found->second.items.front());
}

template <class T>
std::vector<T> many(const std::map<std::string, ParamValue, std::less<>>& values, std::string_view name) {
  const auto found = values.find(name);
  assert(found != values.end());
  std::vector<T> all;
  for (const auto& item : found->second.items) all.push_back(std::get<T>(item));
  return all;
}

}  // namespace

bool Params::boolean(std::string_view name) const {
  return one<bool>(values_, name);
}
std::int64_t Params::integer(std::string_view name) const {
  return one<std::int64_t>(values_, name);
}
double Params::real(std::string_view name) const {
  return one<double>(values_, name);
}
const std::string& Params::text(std::string_view name) const {
  return one<std::string>(values_, name);
}
Bytes Params::bytes(std::string_view name) const {
  return one<Bytes>(values_, name);
}
Seconds Params::duration(std::string_view name) const {
  return one<Seconds>(values_, name);
}
std::vector<std::int64_t> Params::integers(std::string_view name) const {
  return many<std::int64_t>(values_, name);
}
std::vector<double> Params::reals(std::string_view name) const {
  return many<double>(values_, name);
}
std::vector<std::string> Params::texts(std::string_view name) const {
  return many<std::string>(values_, name);
}
std::vector<Bytes> Params::byte_list(std::string_view name) const {
  return many<Bytes>(values_, name);
}

}  // namespace muster
