#include "stats/headline.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "base/units.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

/// Sizes by their bytes, in front of what is none.
std::pair<double, std::string> order_of(const std::string& text) {
  const auto bytes = parse_bytes(text);
  return {bytes ? static_cast<double>(bytes->count) : -1.0, text};
}

using Values = std::map<std::string, std::vector<double>>;  // by the label that is kept apart

}  // namespace

std::string headline(const CaseView& view, const HeadlineSpec& spec) {
  std::map<std::pair<double, std::string>, Values> found;
  for (const Observation* seen : view.observed) {
    if (seen == nullptr || seen->state != ObservationState::measured) continue;
    for (const Reading& reading : seen->readings)
      if (reading.metric == spec.metric && reading.summary.n > 0 && std::isfinite(reading.summary.median))
        found[order_of(label_of(reading.where, spec.by))][label_of(reading.where, spec.apart)].push_back(
            reading.summary.median);
  }
  if (found.empty()) return "";
  const auto& [end, values] = spec.at_largest ? *found.rbegin() : *found.begin();
  const std::string name = printable_line(end.second);
  const std::string at = name.empty() ? "" : end.first >= 0 ? " at " + name : fmt::format(" ({} {})", spec.by, name);
  std::string text;
  for (const auto& [part, medians] : values) {
    const std::string value = format_value(summarize(medians).median, spec.unit);
    if (values.size() == 1) return fmt::format("{} {}{}", spec.metric, value, at);
    text += fmt::format("{}{} {}", text.empty() ? ": " : ", ", printable_line(part), value);
  }
  return fmt::format("{}{}{}", spec.metric, at, text);
}

}  // namespace muster
