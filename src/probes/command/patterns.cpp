#include "probes/command/patterns.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "base/number.hpp"
#include "base/text.hpp"
#include "probes/command/no_reading.hpp"
#include "probes/command/words.hpp"
#include "stats/stats.hpp"

namespace muster::program {

namespace {

/// More than these are a program gone wild, not a measurement.
constexpr std::size_t most_samples = 100'000;
constexpr std::size_t most_facts = 20;
constexpr std::size_t most_in_a_line = 64;

/// Whether commas are thousands separators, as in `1,234.5`. `12,34` and `1,5` are ambiguous.
bool separates_thousands(std::string_view digits) {
  if (digits.starts_with('+') || digits.starts_with('-')) digits.remove_prefix(1);
  const auto whole = split(digits.substr(0, digits.find_first_of(".eE")), ',');
  if (digits.find(',', digits.find_first_of(".eE")) != std::string_view::npos || whole.front().empty()) return false;
  return whole.front().size() <= 3 &&
         std::all_of(whole.begin() + 1, whole.end(), [](const std::string& group) { return group.size() == 3; });
}

/// `12.5`, `1.4020e+01`, `+3`, `1,234.5`.
std::optional<double> number_in(std::string_view text) {
  std::string digits(trim(text));
  if (digits.find(',') != std::string::npos && !separates_thousands(digits)) return std::nullopt;
  std::erase(digits, ',');
  const std::string_view rest = std::string_view(digits).substr(digits.starts_with('+') ? 1 : 0);
  const auto value = parse_number<double>(rest);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Error about(const char* parameter, const std::string& what) {
  return {ErrorKind::usage, parameter, what};
}

}  // namespace

Result<PatternReadings> PatternReadings::make(const std::vector<std::string>& metrics,
                                              const std::vector<std::string>& wanted) {
  PatternReadings made;
  for (const std::string& text : metrics) {
    auto asked = program_metric_from_text(text);
    if (!asked) return tl::unexpected(asked.error());
    auto pattern = Pattern::compile(asked->pattern);
    if (!pattern) return tl::unexpected(about("metric", pattern.error().what));
    auto groups = groups_of(*pattern);
    if (!groups) return tl::unexpected(about("metric", groups.error().what));
    made.metrics_.push_back({std::move(*asked), std::move(*pattern), std::move(*groups), {}});
  }
  for (const std::string& text : wanted) {
    auto pattern = Pattern::compile(text);
    if (!pattern) return tl::unexpected(about("must_print", pattern.error().what));
    made.wanted_.push_back(std::move(*pattern));
    made.wanted_texts_.push_back(text);
    made.is_found_.push_back(0);
  }
  return made;
}

void PatternReadings::take_line(std::string_view line) {
  for (const Metric& metric : metrics_)
    if (metric.asked.file.empty()) take(metric, line);
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    if (is_found_[i] == 0 && wanted_[i].is_found_in(line)) is_found_[i] = 1;
}

void PatternReadings::take(const Metric& metric, std::string_view line) {
  for (const auto& groups : metric.pattern.matches(line, most_in_a_line)) {
    const auto value = number_in(groups[metric.groups.value]);
    Labels where;
    for (const auto& [group, name] : metric.groups.labels)
      if (!trim(groups[group]).empty()) where.emplace_back(name, printable_line(trim(groups[group])));
    std::sort(where.begin(), where.end());
    if (value)
      add(metric, std::move(where), *value);
    else
      add_fact(metric, "bad_metric_value",
               fmt::format("\"{}\" is not a number, in: {}", printable_line(groups[metric.groups.value], 60),
                           printable_line(line, 200)));
  }
}

void PatternReadings::add(const Metric& metric, Labels where, double value) {
  const auto [place, is_new] = index_.try_emplace({metric.asked.name, where}, found_.size());
  if (is_new) found_.push_back({metric.asked.name, std::move(where), {}, metric.asked.unit});
  auto& samples = found_[place->second].samples;
  if (samples.size() < most_samples) samples.push_back(value);
}

void PatternReadings::add_fact(const Metric& metric, const char* key, std::string what) {
  if (facts_.size() < most_facts) facts_.push_back({key, std::move(what)});
  unread_.insert(metric.asked.name);
}

void PatternReadings::note_files(std::string_view folder) {
  for (Metric& metric : metrics_)
    if (!metric.asked.file.empty()) metric.before = FileBefore(filled_in(metric.asked.file, folder).text);
}

void PatternReadings::read_files() {
  for (const Metric& metric : metrics_) {
    if (metric.asked.file.empty()) continue;
    const auto text = metric.before.written();
    if (text)
      for (const std::string_view line : lines(*text)) take(metric, line);
    else
      add_fact(metric, "unwritten", fmt::format("{} {}", printable_line(metric.before.path()), text.error().what));
  }
}

void PatternReadings::deliver(Observation& seen) const {
  for (const Found& one : found_) {
    Reading reading;
    reading.metric = one.metric;
    reading.where = one.where;
    reading.unit = one.unit;
    reading.summary = summarize(one.samples);
    seen.readings.push_back(std::move(reading));
  }
  seen.facts.insert(seen.facts.end(), facts_.begin(), facts_.end());
  for (const std::string& name : unread_) seen.facts.push_back(no_reading(name));
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    if (is_found_[i] == 0) seen.facts.push_back({"unprinted", printable_line(wanted_texts_[i], 200)});
}

}  // namespace muster::program
