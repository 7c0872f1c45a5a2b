/// The output of a program for muster, line by line: {"metric":"bandwidth","value":12.5,"unit":"GB/s"},
/// {"finding":{...}},
/// {"evidence":"..."}, {"same":{...}}.
#pragma once

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "muster/observation.hpp"
#include "probes/command/rank_agreement.hpp"
#include "probes/command/result_lines.hpp"
#include "stats/stats.hpp"

namespace muster::program {

inline constexpr std::string_view metric_start = R"({"metric")";
/// More than these are a program gone wild, not a measurement.
inline constexpr std::size_t most_readings = 10'000;
inline constexpr std::size_t most_bad_lines = 20;
inline constexpr std::size_t most_reported = 100;
inline constexpr std::size_t longest_line = 1u << 20;

inline Result<std::vector<double>> read_samples(const nlohmann::json& line) {
  const bool has_one = line.contains("value");
  if (has_one == line.contains("values")) return fail(ErrorKind::protocol, "", "needs either value or values");
  const nlohmann::json list = has_one ? nlohmann::json::array({line["value"]}) : line["values"];
  if (!list.is_array() || list.empty()) return fail(ErrorKind::protocol, "", "values is not a list of numbers");
  std::vector<double> samples;
  for (const nlohmann::json& item : list) {
    if (!item.is_number() || !std::isfinite(item.get<double>()))
      return fail(ErrorKind::protocol, "", "a value is not a number");
    samples.push_back(item.get<double>());
  }
  return samples;
}

inline Result<Labels> read_labels(const nlohmann::json& line) {
  Labels labels;
  if (!line.contains("where")) return labels;
  if (!line["where"].is_object()) return fail(ErrorKind::protocol, "", "where is not an object");
  for (const auto& [key, value] : line["where"].items()) {
    if (value.is_string())
      labels.emplace_back(printable_line(key), printable_line(value.get<std::string>()));
    else if (value.is_number() || value.is_boolean())
      labels.emplace_back(printable_line(key), value.dump());
    else
      return fail(ErrorKind::protocol, "", "a label in where is neither text nor number");
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

inline Result<Reading> parse_metric_line(std::string_view text) {
  const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
  if (!line.is_object()) return fail(ErrorKind::protocol, "", "is not JSON");
  for (const auto& entry : line.items()) {
    const std::string& key = entry.key();
    if (key != "metric" && key != "value" && key != "values" && key != "unit" && key != "where")
      return fail(ErrorKind::protocol, "", fmt::format("has an unknown key \"{}\"", printable_line(key, 40)));
  }
  if (!line.contains("metric") || !line["metric"].is_string() || line["metric"].get<std::string>().empty())
    return fail(ErrorKind::protocol, "", "metric is not a name");
  Reading reading;
  reading.metric = printable_line(line["metric"].get<std::string>(), 100);
  if (line.contains("unit")) {
    if (!line["unit"].is_string() || !is_known_unit(line["unit"].get<std::string>()))
      return fail(ErrorKind::protocol, "", "unit is none that muster knows");
    reading.unit = line["unit"].get<std::string>();
  }
  auto labels = read_labels(line);
  if (!labels) return tl::unexpected(labels.error());
  reading.where = std::move(*labels);
  const auto samples = read_samples(line);
  if (!samples) return tl::unexpected(samples.error());
  reading.summary = summarize(*samples);
  return reading;
}

/// A line behind the one that names the mistake: `Try 'ls --help' for more information.`, and what mpirun prints behind
/// the executable that it can't start.
inline bool is_hint(std::string_view line, std::string_view before) {
  if (line.starts_with("Try ") && line.find("help") != line.npos) return true;
  return before.starts_with("Executable: ") &&
         (line.starts_with("Node: ") || line.starts_with("while attempting to start process") ||
          line.ends_with("failed to start"));
}

/// Takes a program's output as it comes: keeps its tail and the readings of its metric lines.
class Output {
 public:
  /// `on_line` gets each line, of at most `longest_line` bytes.
  explicit Output(std::size_t most_tail, std::function<void(std::string_view)> on_line = nullptr)
      : most_tail_(most_tail), on_line_(std::move(on_line)) {}

  void feed(std::string_view chunk) {
    tail_ += chunk;
    if (tail_.size() > 2 * most_tail_) tail_ = tail(tail_, most_tail_);
    for (std::size_t end = 0; (end = chunk.find('\n')) != chunk.npos; chunk.remove_prefix(end + 1)) {
      extend(chunk.substr(0, end));
      end_line();
    }
    extend(chunk);
  }

  /// After the last chunk: a line without an end is one too.
  void finish() {
    if (!line_.empty()) end_line();
  }

  [[nodiscard]] std::string text() const { return printable(tail(tail_, most_tail_)); }
  [[nodiscard]] const std::string& last_line() const { return last_line_; }

  std::vector<Reading> readings;
  std::vector<Fact> reported;  ///< `finding` and `evidence`, each as one line of JSON or of text; `same.NAME`
  std::vector<Fact> bad_lines;

 private:
  void extend(std::string_view part) {
    is_too_long_ |= line_.size() + part.size() > longest_line;
    if (!is_too_long_) line_ += part;
  }

  void end_line() {
    const std::string_view line = trim(line_);
    const auto starts = [&](std::string_view start) { return line.substr(0, start.size()) == start; };
    if (starts(metric_start))
      take_metric(line);
    else if (starts(finding_start))
      take_reported("finding", line);
    else if (starts(evidence_start))
      take_reported("evidence", line);
    else if (starts(same_start))
      take_same(line);
    // mpirun's messages end with a line of dashes.
    const bool has_words =
        std::any_of(line.begin(), line.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c >= 0x80; });
    const bool is_stated = !last_line_.empty();
    if ((has_words && !(is_stated && is_hint(line, last_line_))) || (!line.empty() && !is_stated))
      last_line_ = printable_line(line);
    if (on_line_) on_line_(std::string_view(line_).substr(0, line_.find_last_not_of('\r') + 1));
    line_.clear();
    is_too_long_ = false;
  }

  void take_metric(std::string_view line) {
    auto reading = is_too_long_                       ? fail(ErrorKind::protocol, "", "is longer than 1 MiB")
                   : readings.size() >= most_readings ? fail(ErrorKind::protocol, "", "is one too many")
                                                      : parse_metric_line(line);
    if (reading)
      readings.push_back(std::move(*reading));
    else if (bad_lines.size() < most_bad_lines)
      bad_lines.push_back({"bad_metric_line", fmt::format("{}: {}", reading.error().what, printable_line(line, 200))});
  }

  void take_same(std::string_view line) {
    auto read = is_too_long_                       ? fail(ErrorKind::protocol, "", "is longer than 1 MiB")
                : reported.size() >= most_reported ? fail(ErrorKind::protocol, "", "is one too many")
                                                   : read_same(line);
    if (read)
      reported.insert(reported.end(), read->begin(), read->end());
    else if (bad_lines.size() < most_bad_lines)
      bad_lines.push_back({"bad_same_line", fmt::format("{}: {}", read.error().what, printable_line(line, 200))});
  }

  void take_reported(const char* kind, std::string_view line) {
    const auto read = is_too_long_                       ? fail(ErrorKind::protocol, "", "is longer than 1 MiB")
                      : reported.size() >= most_reported ? fail(ErrorKind::protocol, "", "is one too many")
                                                         : read_result_line(kind, line);
    if (read)
      reported.push_back({kind, *read});
    else if (bad_lines.size() < most_bad_lines)
      bad_lines.push_back(
          {std::string("bad_") + kind + "_line", fmt::format("{}: {}", read.error().what, printable_line(line, 200))});
  }

  std::size_t most_tail_;
  std::function<void(std::string_view)> on_line_;
  std::string tail_;
  std::string line_;
  std::string last_line_;
  bool is_too_long_ = false;
};

}  // namespace muster::program
