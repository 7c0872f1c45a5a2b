#include "base/units.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

struct Named {
  std::string_view name;
  double factor;  ///< to the first unit of its dimension
  int dimension;
};

enum : int { time_d, bytes_d, rate_d, count_d, cores_d, percent_d, flops_d, power_d, frequency_d, heat_d, samples_d };

constexpr double ki = 1024.0;
constexpr std::array units{
    Named{"s", 1, time_d},
    Named{"ms", 1e-3, time_d},
    Named{"us", 1e-6, time_d},
    Named{"ns", 1e-9, time_d},
    Named{"B", 1, bytes_d},
    Named{"KB", 1e3, bytes_d},
    Named{"MB", 1e6, bytes_d},
    Named{"GB", 1e9, bytes_d},
    Named{"TB", 1e12, bytes_d},
    Named{"KiB", ki, bytes_d},
    Named{"MiB", ki* ki, bytes_d},
    Named{"GiB", ki* ki* ki, bytes_d},
    Named{"TiB", ki* ki* ki* ki, bytes_d},
    Named{"B/s", 1, rate_d},
    Named{"KB/s", 1e3, rate_d},
    Named{"MB/s", 1e6, rate_d},
    Named{"GB/s", 1e9, rate_d},
    Named{"TB/s", 1e12, rate_d},
    Named{"KiB/s", ki, rate_d},
    Named{"MiB/s", ki* ki, rate_d},
    Named{"GiB/s", ki* ki* ki, rate_d},
    Named{"Mbit/s", 1e6 / 8, rate_d},
    Named{"Gbit/s", 1e9 / 8, rate_d},
    Named{"1", 1, count_d},
    Named{"cores", 1, cores_d},
    Named{"%", 1, percent_d},
    Named{"FLOP/s", 1, flops_d},
    Named{"MFLOP/s", 1e6, flops_d},
    Named{"GFLOP/s", 1e9, flops_d},
    Named{"TFLOP/s", 1e12, flops_d},
    Named{"W", 1, power_d},
    Named{"Hz", 1, frequency_d},
    Named{"kHz", 1e3, frequency_d},
    Named{"MHz", 1e6, frequency_d},
    Named{"GHz", 1e9, frequency_d},
    Named{"degC", 1, heat_d},
    Named{"samples/s", 1, samples_d},
};

const Named* find_unit(std::string_view name) {
  const auto found = std::find_if(units.begin(), units.end(), [&](const Named& unit) { return unit.name == name; });
  return found == units.end() ? nullptr : &*found;
}

/// `number` (digits, perhaps a point and more digits) times `factor`, when that is a whole number of 64 bits.
/// In whole numbers all the way: 1.005 * 1000 is not 1005 in floating point.
std::optional<std::uint64_t> exact_product(std::string_view number, std::uint64_t factor) {
  __extension__ using Wide = unsigned __int128;
  const auto point = number.find('.');
  const auto whole = number.substr(0, point);
  auto fraction = point == std::string_view::npos ? std::string_view() : number.substr(point + 1);
  if (whole.empty() || (point != std::string_view::npos && fraction.empty())) return std::nullopt;
  fraction = fraction.substr(0, fraction.find_last_not_of('0') + 1);
  // 18 digits times the largest factor, 2^40, stay within 128 bits.
  if (fraction.size() > 18 || fraction.find('.') != std::string_view::npos) return std::nullopt;
  const auto count = leading_number<std::uint64_t>(whole);
  if (!count) return std::nullopt;
  Wide part = factor;
  Wide numerator = 0;
  Wide denominator = 1;
  for (const char digit : fraction) {
    numerator = numerator * 10 + static_cast<unsigned>(digit - '0');
    denominator *= 10;
  }
  part *= numerator;
  if (part % denominator != 0) return std::nullopt;
  const Wide total = Wide{*count} * factor + part / denominator;
  if (total > UINT64_MAX) return std::nullopt;
  return static_cast<std::uint64_t>(total);
}

/// Seconds in one `unit` of a duration; 0: no such unit.
double duration_factor(std::string_view unit) {
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  if (unit == "d") return 86400;
  const auto* known = find_unit(unit.empty() ? "s" : unit);
  return known != nullptr && known->dimension == time_d ? known->factor : 0;
}

tl::unexpected<Error> no_bytes(std::string_view text) {
  return fail(ErrorKind::usage, "",
              fmt::format("expected a number of bytes such as 16MiB, not \"{}\"", printable_line(text, 60)));
}

tl::unexpected<Error> no_duration(std::string_view text) {
  return fail(ErrorKind::usage, "",
              fmt::format("expected a time such as 500ms, 60s or 1m30s, not \"{}\"", printable_line(text, 60)));
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  const auto number = trim(text);
  const auto end = std::min(number.find_first_not_of("0123456789."), number.size());
  const auto name = trim(number.substr(end));
  const auto* unit = find_unit(name.empty() ? "B" : name);
  if (unit == nullptr || unit->dimension != bytes_d) return no_bytes(text);
  const auto bytes = exact_product(number.substr(0, end), static_cast<std::uint64_t>(unit->factor));
  if (!bytes) return no_bytes(text);
  return Bytes{*bytes};
}

std::string format_bytes(Bytes bytes) {
  for (const auto* name : {"TiB", "GiB", "MiB", "KiB"}) {
    const auto factor = static_cast<std::uint64_t>(find_unit(name)->factor);
    if (bytes.count >= factor && bytes.count % factor == 0) return fmt::format("{}{}", bytes.count / factor, name);
  }
  return fmt::format("{}B", bytes.count);
}

Result<Seconds> parse_duration(std::string_view text) {
  auto rest = trim(text);
  if (rest.empty()) return no_duration(text);
  double total = 0;
  for (double last = INFINITY; !rest.empty();) {
    const auto value = take_number<double>(rest, std::chars_format::fixed);
    if (!value || !std::isfinite(*value) || *value < 0) return no_duration(text);
    const auto end = std::min(rest.find_first_of("0123456789."), rest.size());
    const auto unit = trim(rest.substr(0, end));
    rest.remove_prefix(end);
    const double factor = duration_factor(unit);
    // From the largest unit to the smallest; a number without one stands alone.
    const bool is_alone = last == INFINITY && rest.empty();
    if (factor == 0 || factor >= last || (unit.empty() && !is_alone)) return no_duration(text);
    total += *value * factor;
    last = factor;
  }
  if (!std::isfinite(total)) return no_duration(text);
  return Seconds{total};
}

std::string format_duration(Seconds seconds) {
  double value = seconds.value;
  if (value < 0) return fmt::format("-{}", format_duration({-value}));
  if (!(value < 9e15)) return fmt::format("{:g}s", value);
  if (value == 0) return "0s";
  if (value < 1 && value * 1e3 >= 1) return fmt::format("{:g}ms", value * 1e3);
  if (value < 1) return fmt::format("{:g}us", value * 1e6);
  if (value >= 1e5) value = std::round(value);  // {:g} would write an exponent, and the fraction is irrelevant
  const auto whole = static_cast<std::int64_t>(value);
  if (value < 60 || value != static_cast<double>(whole)) return fmt::format("{:g}s", value);
  std::string text;
  if (whole >= 3600) text += fmt::format("{}h", whole / 3600);
  if (whole % 3600 >= 60) text += fmt::format("{}m", whole % 3600 / 60);
  if (whole % 60 > 0) text += fmt::format("{}s", whole % 60);
  return text;
}

bool is_known_unit(std::string_view unit) {
  return find_unit(unit) != nullptr;
}

std::optional<double> unit_factor(std::string_view from, std::string_view to) {
  const auto* a = find_unit(from);
  const auto* b = find_unit(to);
  if (a == nullptr || b == nullptr || a->dimension != b->dimension) return std::nullopt;
  return a->factor / b->factor;
}

std::vector<std::string> known_units() {
  std::vector<std::string> names;
  for (const auto& unit : units) names.emplace_back(unit.name);
  return names;
}

std::string format_value(double value, std::string_view unit) {
  const double size = std::fabs(value);
  std::string number;
  if (value == 0)
    number = "0";  // also -0
  else if (value == std::floor(value) && size < 1e7)
    number = fmt::format("{:.0f}", value);
  else if (size >= 1e-3 && size < 1e7)
    number = fmt::format("{:.{}f}", value, std::clamp(3 - static_cast<int>(std::floor(std::log10(size))), 0, 6));
  else
    number = fmt::format("{:.4g}", value);
  if (number.find('.') != std::string::npos && number.find('e') == std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return unit.empty() || unit == "1" ? number : fmt::format("{} {}", number, unit);
}

}  // namespace muster
