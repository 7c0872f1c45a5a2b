#include "base/moment.hpp"

#include <chrono>
#include <cmath>
#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace muster {

namespace {

constexpr std::string_view form = "0000-00-00T00:00:00.000Z";

/// Whether `text` has digits where `form` has them, and its other characters.
bool has_form(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]) return false;
  return true;
}

unsigned number(std::string_view text, std::size_t from, std::size_t count) {
  unsigned value = 0;
  for (const char digit : text.substr(from, count)) value = value * 10 + static_cast<unsigned>(digit - '0');
  return value;
}

/// A day that there was, an hour that a day has.
bool is_real(std::string_view moment) {
  using namespace std::chrono;
  const year_month_day day(year(static_cast<int>(number(moment, 0, 4))), month(number(moment, 5, 2)),
                           std::chrono::day(number(moment, 8, 2)));
  return day.ok() && number(moment, 11, 2) < 24 && number(moment, 14, 2) < 60 && number(moment, 17, 2) < 60;
}

}  // namespace

Result<std::string> parse_moment(std::string_view text, std::int64_t now) {
  std::string typed(trim(text));
  // A number alone would be seconds, and more likely is a year.
  if (typed.find_first_not_of("0123456789.") != std::string::npos) {
    if (const auto ago = parse_duration(typed); ago && ago->value * 1e9 < static_cast<double>(now))
      return rfc3339(now - std::llround(ago->value * 1e9));
  }
  if (typed.size() > 10 && typed[10] == ' ') typed[10] = 'T';
  if (typed.size() > 10 && typed.back() == 'Z') typed.pop_back();
  const bool is_whole = typed.size() == 10 || typed.size() == 16 || typed.size() == 19 || typed.size() == 23;
  if (is_whole && has_form(typed)) {
    typed += form.substr(typed.size());
    if (is_real(typed)) return typed;
  }
  return fail(
      ErrorKind::usage, "",
      fmt::format(
          "\"{}\" is not a time; write for example 2026-01-31, 2026-01-31 02:00 (UTC), or 7d for seven days ago",
          printable_line(text, 60)));
}

bool is_moment(std::string_view text) {
  constexpr std::size_t whole = 19;  // to the second
  if (text.size() <= whole || text.back() != 'Z' || !has_form(text.substr(0, whole)) || !is_real(text)) return false;
  const std::string_view fraction = text.substr(whole, text.size() - whole - 1);
  return fraction.empty() || (fraction.size() > 1 && fraction.front() == '.' &&
                              fraction.find_first_not_of("0123456789", 1) == fraction.npos);
}

}  // namespace muster
