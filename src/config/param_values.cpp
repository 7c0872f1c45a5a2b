#include "config/param_values.hpp"

#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

// A sweep that makes more cases than this is a slip of the pen.
constexpr double most_cases = 10'000;

class ParamReader {
 public:
  ParamReader(const ProbeSpec& probe, Fields& check_fields)
      : probe_(probe), errors_(check_fields.errors()), header_(check_fields.header()) {}

  void read_given(const Entry& table, Check& check) {
    for (const auto& entry : table.value.entries) {
      const auto* spec = known(entry);
      if (spec == nullptr || (probe_.takes_declared_metrics && entry.key == "metric")) continue;
      if (!is_list(spec->type) && entry.value.kind == NodeKind::array) {
        complain(entry.value.at, *spec,
                 fmt::format("takes one {}, not an array; [check.{}.sweep] makes one case per value",
                             to_string(spec->type), check.name));
        continue;
      }
      if (auto value = read_value(*spec, entry.value)) check.params[entry.key] = std::move(*value);
    }
  }

  void read_sweep(const Entry& table, Check& check) {
    double cases = 1;
    for (const auto& entry : table.value.entries) {
      const auto* spec = known(entry);
      if (spec == nullptr) continue;
      if (check.params.count(entry.key) != 0) complain(entry.at, *spec, "is both given and swept; remove one of them");
      if (entry.value.kind != NodeKind::array || entry.value.items.empty()) {
        complain(entry.value.at, *spec, "is swept by an array with at least one value");
        continue;
      }
      cases *= static_cast<double>(entry.value.items.size());
      check.sweep[entry.key] = read_swept(*spec, entry.value);
    }
    if (cases > most_cases)
      errors_.add(table.at, fmt::format("the sweep makes {:.0f} cases; at most {:.0f}", cases, most_cases));
  }

 private:
  void complain(Place at, const ParamSpec& spec, std::string_view what) {
    errors_.add(at, fmt::format("parameter \"{}\" of probe {} {}", spec.name, probe_.name, what));
  }

  const ParamSpec* known(const Entry& entry) {
    const auto* spec = find_param(probe_, entry.key);
    if (spec == nullptr)
      errors_.add_unknown(entry.at,
                          fmt::format("unknown parameter \"{}\" of probe {}{}", printable_line(entry.key, 60),
                                      probe_.name, suggestion(entry.key, names_of(probe_.params))),
                          header_);
    return spec;
  }

  std::vector<ParamValue> read_swept(const ParamSpec& spec, const Node& array) {
    std::vector<ParamValue> values;
    for (const auto& item : array.items) {
      auto value = read_value(spec, item);
      if (!value) continue;
      if (is_in(*value, values))
        complain(item.at, spec, fmt::format("is swept over {} twice", to_string(*value)));
      else
        values.push_back(std::move(*value));
    }
    return values;
  }

  /// Text stays text: `argv = ["sleep", 1]` is more likely a slip than a request.
  [[nodiscard]] bool fits(const ParamSpec& spec, const Node& value) {
    const bool fitting = value.kind == NodeKind::text ||
                         (value.is_scalar() && value.kind != NodeKind::time && item_type(spec.type) != ParamType::text);
    if (!fitting)
      complain(value.at, spec, fmt::format("is of type {}, not {}", to_string(spec.type), to_string(value.kind)));
    return fitting;
  }

  std::optional<ParamValue> read_value(const ParamSpec& spec, const Node& value) {
    std::vector<std::string> items;
    Result<ParamValue> parsed;
    if (is_list(spec.type) && value.kind == NodeKind::array) {
      bool all_fit = true;
      for (const auto& item : value.items) {
        all_fit = fits(spec, item) && all_fit;
        items.push_back(item.text);
      }
      if (!all_fit) return std::nullopt;
      parsed = parse_param(spec, items);
    } else {
      if (!fits(spec, value)) return std::nullopt;
      parsed = parse_param(spec, value.text);
    }
    if (parsed && parsed->items.empty()) parsed = fail(ErrorKind::usage, "", "an empty list has no effect");
    if (parsed) return std::move(*parsed);
    complain(value.at, spec, "is wrong: " + parsed.error().what);
    return std::nullopt;
  }

  const ProbeSpec& probe_;
  DocumentErrors& errors_;
  Place header_;  ///< of the check, which lacks what is misspelt here
};

}  // namespace

void read_params(Fields& check_fields, const ProbeSpec& probe, Check& check) {
  ParamReader reader(probe, check_fields);
  const auto* given = check_fields.table("params");
  const auto* swept = check_fields.table("sweep");
  if (given != nullptr) reader.read_given(*given, check);
  if (swept != nullptr) reader.read_sweep(*swept, check);
  const auto names = [](const Entry* table, std::string_view name) {
    return table != nullptr && table->value.find(name) != nullptr;
  };
  for (const auto& spec : probe.params)
    if (!spec.default_text && !names(given, spec.name) && !names(swept, spec.name))
      check_fields.complain(check_fields.header(),
                            fmt::format("probe {} needs the parameter \"{}\"; give it in [check.{}.params]", probe.name,
                                        spec.name, check.name));
}

std::vector<ParamValue> values_taken(const Check& check, const ParamSpec& spec) {
  const std::string name{spec.name};
  if (const auto swept = check.sweep.find(name); swept != check.sweep.end()) return swept->second;
  if (const auto given = check.params.find(name); given != check.params.end()) return {given->second};
  if (!spec.default_text) return {};
  const auto value = parse_param(spec, *spec.default_text);
  return value ? std::vector{*value} : std::vector<ParamValue>{};
}

}  // namespace muster
