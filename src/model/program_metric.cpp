#include "model/program_metric.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace muster {

std::string to_text(const ProgramMetric& metric) {
  nlohmann::ordered_json json{{"name", metric.name}, {"pattern", metric.pattern}, {"unit", metric.unit}};
  if (!metric.file.empty()) json["file"] = metric.file;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Result<ProgramMetric> program_metric_from_text(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto has_text = [&](const char* key) { return json.contains(key) && json[key].is_string(); };
  if (!json.is_object() || !has_text("name") || !has_text("pattern") || !has_text("unit"))
    return fail(ErrorKind::usage, "metric",
                "is given as tables of a check file with name, pattern and unit: [[check.NAME.params.metric]]");
  return ProgramMetric{json["name"], json["unit"], json["pattern"], has_text("file") ? json["file"] : ""};
}

Result<PatternGroups> groups_of(const Pattern& pattern) {
  PatternGroups groups;
  const auto names = pattern.group_names();
  std::vector<std::size_t> values;
  std::vector<std::size_t> nameless;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "value")
      values.push_back(i);
    else if (names[i].empty())
      nameless.push_back(i);
    else
      groups.labels.emplace_back(i, names[i]);
  }
  if (values.size() > 1) return fail(ErrorKind::usage, "", "has several groups called value: keep the name of one");
  for (std::size_t i = 0; i < groups.labels.size(); ++i)
    for (std::size_t other = 0; other < i; ++other)
      if (groups.labels[i].second == groups.labels[other].second)
        return fail(ErrorKind::usage, "",
                    "has several groups called " + groups.labels[i].second + ": give each label a name of its own");
  if (values.empty()) values = nameless;
  if (values.empty()) return fail(ErrorKind::usage, "", "has no group for the number: write for example ([0-9.]+)");
  if (values.size() > 1)
    return fail(ErrorKind::usage, "", "has several groups without a name: call the number's (?P<value>...)");
  groups.value = values.front();
  return groups;
}

}  // namespace muster
