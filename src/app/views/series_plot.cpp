#include "app/views/series_plot.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"

namespace muster {

namespace {

constexpr int scale_width = 14;  ///< of the values at the left

std::string_view mark_of(ValueUse use, bool has_unicode) {
  switch (use) {
    case ValueUse::basis:
      return has_unicode ? "\u25cf" : "o";
    case ValueUse::outside:
      return has_unicode ? "\u00d7" : "x";
    case ValueUse::untimed:
      return has_unicode ? "\u00b7" : ".";
  }
  return "?";
}

struct Span {
  double low = 0;
  double high = 0;
};

/// A little more than values that differ, so that noise of a percent does not look like a mountain.
Span span_of(const std::vector<SeriesPoint>& points) {
  Span span{points.front().value, points.front().value};
  for (const SeriesPoint& point : points) {
    span.low = std::min(span.low, point.value);
    span.high = std::max(span.high, point.value);
  }
  if (!(span.high > span.low)) return span;
  const double least = 0.1 * std::max(std::fabs(span.low), std::fabs(span.high));
  const double missing = std::max(least - (span.high - span.low), 0.0);
  span.low -= missing / 2;
  span.high += missing / 2;
  return span;
}

std::string day_of(const SeriesPoint& point) {
  return printable_line(point.started.substr(0, 10), 10);
}

}  // namespace

std::string title_of(const SeriesKey& key) {
  std::string where;
  for (const auto& [name, value] : key.where)
    where += (where.empty() ? " where " : ", ") + printable_line(name) + "=" + printable_line(value);
  const auto check = key.case_id.substr(0, key.case_id.find('%'));
  const auto machine = key.simulated.empty() ? "" : ", SIMULATED " + key.simulated;
  return printable_line(
      fmt::format("{} of {}{} ({}, {}{})", key.metric, key.item.name, where, check, key.shape, machine), 300);
}

std::string plot(const Series& series, const PlotForm& form) {
  std::string text = title_of(series.key) + "\n";
  const auto room = static_cast<std::size_t>(std::max(10, form.width - scale_width - 3));
  std::vector<SeriesPoint> points = series.points;
  if (points.size() > room) points.erase(points.begin(), points.end() - static_cast<std::ptrdiff_t>(room));
  if (points.empty()) return text + "  no values\n";
  const Span span = span_of(points);
  // Values that are all the same have one row; others an odd number, so that the label in the middle is of the middle.
  const int rows = span.high > span.low ? std::max(form.height, 2) / 2 * 2 + 1 : 1;
  const auto row_of = [&](double value) {
    return rows == 1 ? 0 : static_cast<int>(std::lround((value - span.low) / (span.high - span.low) * (rows - 1)));
  };
  for (int row = rows - 1; row >= 0; --row) {
    const bool is_labelled = row == rows - 1 || row == 0 || row == rows / 2;
    const double value = span.low + (span.high - span.low) * row / std::max(rows - 1, 1);
    text += fmt::format("{:>{}} {} ", is_labelled ? format_value(value, series.unit) : "", scale_width,
                        form.has_unicode ? "\u2502" : "|");
    std::string line;
    for (const SeriesPoint& point : points)
      line += row_of(point.value) == row ? std::string(mark_of(point.use, form.has_unicode)) : " ";
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  const auto first = day_of(points.front());
  const auto last = day_of(points.back());
  text += fmt::format("{:>{}}   {}", "", scale_width, first);
  const auto used = first.size() + last.size();
  if (points.size() > used)
    text += std::string(points.size() - used, ' ') + last;
  else if (last != first)
    text += " to " + last;
  return text + fmt::format("  {}\n", counted(series.points.size(), "run"));
}

}  // namespace muster
