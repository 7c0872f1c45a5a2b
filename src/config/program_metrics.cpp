#include "config/program_metrics.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/pattern.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "config/expectations.hpp"
#include "config/param_values.hpp"
#include "config/placeholders.hpp"
#include "config/shell_command.hpp"
#include "model/program_metric.hpp"

namespace muster {

namespace {

constexpr std::string_view metric_param = "metric";
constexpr std::string_view pattern_example = "pattern = 'Triad: *([0-9.]+)'";

/// What [check.NAME.params] gives under this key; nullptr: nothing.
const Entry* find_given(Fields& check_fields, std::string_view key) {
  const auto* params = check_fields.find("params");
  return params == nullptr || params->value.kind != NodeKind::table ? nullptr : params->value.find(key);
}

std::string fault_of(const Pattern& pattern) {
  const auto groups = groups_of(pattern);
  return groups ? std::string() : groups.error().what;
}

class Reader {
 public:
  Reader(Fields& fields, const ProbeSpec& probe, Check& check) : fields_(fields), probe_(probe), check_(check) {}

  void read_declared(const Entry& entry) {
    if (entry.value.kind != NodeKind::table)
      return fields_.refuse(entry, entry.value, "a table such as { unit = \"GB/s\", better = \"higher\" }");
    Fields fields(entry.value, entry.at, fmt::format("metric \"{}\"", printable_line(entry.key, 60)), fields_.errors());
    DeclaredMetric metric{entry.key, "", Better::neither, {}};
    check_name(metric.name, entry.at);
    read_unit_and_direction(fields, metric);
    metric.labels = fields.texts("labels");
    read_maximum(fields, metric);
    fields.finish();
    check_.metrics.push_back(std::move(metric));
  }

  /// One [[check.NAME.params.metric]].
  void read_pattern(const Node& table, ParamValue& param) {
    Fields fields(table, table.at, fmt::format("[[check.{}.params.metric]]", check_.name), fields_.errors());
    const auto* name_entry = fields.need("name", "name = \"triad\"");
    DeclaredMetric metric{name_entry == nullptr ? "" : fields.text("name").value_or(""), "", Better::neither, {}};
    if (!metric.name.empty()) check_name(metric.name, name_entry->value.at);
    ProgramMetric asked{metric.name, "", read_regex(fields, metric), fields.text("file").value_or("")};
    read_unit_and_direction(fields, metric);
    asked.unit = metric.unit;
    read_maximum(fields, metric);
    fields.finish();
    if (metric.name.empty()) return;
    if (!metric.unit.empty() && !asked.pattern.empty()) param.items.emplace_back(to_text(asked));
    // Also a faulty one is declared: where it is judged is not wrong.
    check_.metrics.push_back(std::move(metric));
  }

 private:
  void check_name(const std::string& name, Place at) {
    if (!is_name(name)) fields_.complain(at, fmt::format("metric \"{}\" {}", printable_line(name, 60), name_rule));
    const auto is_own = std::any_of(probe_.metrics.begin(), probe_.metrics.end(),
                                    [&](const MetricSpec& spec) { return spec.name == name; });
    if (is_own) fields_.complain(at, fmt::format("probe {} already has a metric \"{}\"", probe_.name, name));
    const auto is_declared = std::any_of(check_.metrics.begin(), check_.metrics.end(),
                                         [&](const DeclaredMetric& one) { return one.name == name; });
    if (is_declared) fields_.complain(at, fmt::format("metric \"{}\" is declared twice", printable_line(name, 60)));
  }

  static void read_unit_and_direction(Fields& fields, DeclaredMetric& metric) {
    if (const auto* unit_entry = fields.need("unit", "unit = \"GB/s\"")) {
      metric.unit = fields.text("unit").value_or("");
      if (!metric.unit.empty() && !is_known_unit(metric.unit))
        fields.complain(unit_entry->value.at, fmt::format("unknown unit \"{}\"{}", printable_line(metric.unit, 60),
                                                          suggestion(metric.unit, known_units())));
    }
    const auto* better_entry = fields.find("better");
    if (better_entry == nullptr) return;
    const auto text = better_entry->value.kind == NodeKind::text ? better_entry->value.text : "";
    if (text == "higher" || text == "lower")
      metric.better = text == "higher" ? Better::higher : Better::lower;
    else if (text != "neither")
      fields.refuse(*better_entry, better_entry->value, "\"higher\", \"lower\" or \"neither\"");
  }

  /// After the direction.
  static void read_maximum(Fields& fields, DeclaredMetric& metric) {
    metric.maximum = fields.number("maximum");
    if (!metric.maximum) return;
    const Place at = fields.find("maximum")->value.at;
    if (*metric.maximum <= 0) fields.complain(at, "\"maximum\" is what the hardware can do at most, a number above 0");
    if (metric.better == Better::lower)
      fields.complain(
          at, "\"maximum\" is for a metric that the hardware limits from above, not one with better = \"lower\"");
  }

  /// Empty, with a complaint, where it finds no number. Its groups with names are labels of the metric.
  static std::string read_regex(Fields& fields, DeclaredMetric& metric) {
    const auto* entry = fields.need("pattern", pattern_example);
    const auto text = entry == nullptr ? std::nullopt : fields.text("pattern");
    if (!text) return "";
    const auto pattern = Pattern::compile(*text);
    const auto fault = pattern ? fault_of(*pattern) : "is not a valid regular expression: " + pattern.error().what;
    if (!fault.empty()) {
      fields.complain(entry->value.at, fmt::format("pattern \"{}\" {}", printable_line(*text, 60), fault));
      return "";
    }
    const auto groups = groups_of(*pattern);
    for (const auto& label : groups->labels) metric.labels.push_back(label.second);
    return *text;
  }

  Fields& fields_;
  const ProbeSpec& probe_;
  Check& check_;
};

void read_pattern_tables(Fields& check_fields, const ProbeSpec& probe, Check& check, Reader& reader) {
  const auto* entry = find_given(check_fields, metric_param);
  const auto* spec = find_param(probe, metric_param);
  if (entry == nullptr || spec == nullptr) return;
  if (!is_metric_tables(probe, *entry))
    return check_fields.complain(
        entry->at,
        fmt::format("\"metric\" is written as tables, [[check.{}.params.metric]], each with name, pattern and unit",
                    check.name));
  ParamValue value{spec->type, {}};
  for (const Node& table : entry->value.items) reader.read_pattern(table, value);
  check.params[std::string(metric_param)] = std::move(value);
}

void check_patterns(Fields& check_fields, const Check& check) {
  const auto* entry = find_given(check_fields, "must_print");
  if (entry == nullptr || check.params.count("must_print") == 0) return;
  for (const ParamScalar& one : check.params.at("must_print").items) {
    const auto pattern = Pattern::compile(std::get<std::string>(one));
    if (!pattern)
      check_fields.complain(entry->value.at,
                            fmt::format("\"{}\" in \"must_print\" is not a valid regular expression: {}",
                                        printable_line(std::get<std::string>(one), 60), pattern.error().what));
  }
}

/// `["bash", "-c", "set -o pipefail; stream | tee out"]`
std::string as_script(const std::vector<std::string>& words) {
  const bool has_pipe = is_in("|", words);
  const std::string line = printable_line(join(words, " "), 300);
  return has_pipe ? fmt::format("[\"bash\", \"-c\", \"set -o pipefail; {}\"]", line)
                  : fmt::format("[\"sh\", \"-c\", \"{}\"]", line);
}

/// The status of a pipe is that of its last command: a program before it may fail unseen.
void check_shell(Fields& check_fields, const Check& check) {
  const auto* entry = find_given(check_fields, "argv");
  const auto argv = check.params.find("argv");
  if (entry == nullptr || argv == check.params.end()) return;
  std::vector<std::string> words;
  for (const ParamScalar& one : argv->second.items) words.push_back(std::get<std::string>(one));
  if (const std::size_t at = find_operator(words); at < words.size())
    check_fields.complain(
        entry->value.at,
        fmt::format(
            "\"{}\" in argv is an argument of the program, as no shell reads it; write argv = {}, or move it to "
            "\"arguments\" if the program takes it",
            printable_line(words[at], 60), as_script(words)));
  if (const std::size_t at = find_expansion(words); at < words.size())
    check_fields.complain(
        entry->value.at,
        fmt::format("\"{}\" in argv is passed on as it is, as no shell reads it; write the path in full, "
                    "\"{{check}}/\" for a file beside the check file, or argv = {}",
                    printable_line(words[at], 60), as_script(words)));
  if (!loses_status(words)) return;
  check_fields.complain(
      entry->value.at,
      "the exit status of a pipe is that of its last command, and a failure before it would be lost; start bash with "
      "\"set -o pipefail; ...\", or find numbers with [[params.metric]] and without a pipe");
}

}  // namespace

bool is_metric_tables(const ProbeSpec& probe, const Entry& entry) {
  return probe.takes_declared_metrics && entry.key == metric_param && entry.value.kind == NodeKind::array &&
         std::all_of(entry.value.items.begin(), entry.value.items.end(),
                     [](const Node& item) { return item.kind == NodeKind::table; });
}

void read_program_metrics(Fields& check_fields, const ProbeSpec& probe, Check& check) {
  const auto* declared = check_fields.table("metrics");
  if (!probe.takes_declared_metrics) {
    if (declared != nullptr)
      check_fields.complain(
          declared->at,
          fmt::format("probe {} has metrics of its own; only programs declare them (probe command)", probe.name));
    return;
  }
  Reader reader(check_fields, probe, check);
  if (declared != nullptr)
    for (const auto& metric : declared->value.entries) reader.read_declared(metric);
  read_pattern_tables(check_fields, probe, check, reader);
  check_patterns(check_fields, check);
  check_shell(check_fields, check);
  check_placeholders_of_program(check_fields);
}

}  // namespace muster
