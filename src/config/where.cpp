#include "config/where.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "config/param_values.hpp"

namespace muster {

namespace {

/// Known of every case, whatever its probe.
constexpr std::array<std::string_view, 4> case_keys{"nodes", "ranks", "ranks_per_node", "binding"};

std::vector<std::string> known_keys(const Check& check, const ProbeSpec& probe) {
  auto keys = names_of(probe.labels);
  for (const auto& metric : check.metrics) keys.insert(keys.end(), metric.labels.begin(), metric.labels.end());
  for (const auto& name : names_of(probe.params)) keys.push_back(name);
  keys.insert(keys.end(), case_keys.begin(), case_keys.end());
  return keys;
}

WhereFault matches_nothing(const ParamSpec& spec, const std::string& text, const std::vector<std::string>& taken) {
  return {false,
          fmt::format("no case matches \"{}\": {} is {} here", printable_line(text, 60), spec.name, human_list(taken))};
}

/// `text` as one item of the list that `spec` takes.
std::optional<WhereFault> settle_item(const ParamSpec& spec, const std::vector<ParamValue>& values, std::string& text) {
  ParamSpec item = spec;
  item.type = item_type(spec.type);
  const auto wanted = parse_param(item, text);
  if (!wanted) return WhereFault{false, fmt::format("{}: {}", spec.name, wanted.error().what)};
  std::vector<std::string> taken;
  for (const auto& value : values)
    for (const auto& one : value.items) {
      if (one == wanted->items.front()) {
        text = to_string(one);
        return std::nullopt;
      }
      taken.push_back(to_string(one));
    }
  return matches_nothing(spec, text, taken);
}

/// `text` as the whole value of the parameter.
std::optional<WhereFault> settle_whole(const ParamSpec& spec, const std::vector<ParamValue>& values,
                                       std::string& text) {
  const auto wanted = parse_param(spec, text);
  if (!wanted) return WhereFault{false, fmt::format("{}: {}", spec.name, wanted.error().what)};
  if (is_in(*wanted, values)) {
    text = to_string(*wanted);
    return std::nullopt;
  }
  std::vector<std::string> taken;
  for (const auto& value : values) taken.push_back(to_string(value));
  return matches_nothing(spec, text, taken);
}

/// Why no case of `check` has this count under `key`; empty: some can. Only `{ per_node = N }` fixes a number of ranks.
std::string why_never(const Check& check, const std::string& key, int count) {
  const int per_node = check.ranks.kind == RanksSpec::Kind::per_node ? check.ranks.count : 0;
  if (key == "nodes" && count < check.min_nodes)
    return fmt::format("check {} needs at least {} nodes", check.name, check.min_nodes);
  if (key == "ranks_per_node" && per_node > 0 && count != per_node)
    return fmt::format("check {} has {} per node", check.name, per_node);
  if (key != "ranks") return "";
  if (per_node > 0 && count % per_node != 0) return fmt::format("check {} has {} per node", check.name, per_node);
  const int least = check.min_nodes * std::max(1, per_node);
  return count < least ? fmt::format("check {} has at least {}", check.name, least) : "";
}

std::optional<WhereFault> settle_binding(const std::string& text) {
  std::vector<std::string> known;
  for (const BindKind kind : {BindKind::masks, BindKind::cores, BindKind::node, BindKind::none})
    known.emplace_back(to_string(kind));
  if (is_in(text, known)) return std::nullopt;
  return WhereFault{false, fmt::format("unknown binding \"{}\"{}", printable_line(text, 60), suggestion(text, known))};
}

std::optional<WhereFault> settle_count(const Check& check, const std::string& key, const std::string& text) {
  const auto count = parse_number_from(text, 1);
  if (!count)
    return WhereFault{false,
                      fmt::format("\"{}\" must be a whole number from 1, not \"{}\"", key, printable_line(text, 60))};
  const auto never = why_never(check, key, *count);
  if (never.empty()) return std::nullopt;
  return WhereFault{false, fmt::format("no case matches {} = {}: {}", key, *count, never)};
}

}  // namespace

std::optional<WhereFault> settle_where(const Check& check, const ProbeSpec& probe, const std::string& key,
                                       std::string& text) {
  const auto label =
      std::find_if(probe.labels.begin(), probe.labels.end(), [&](const LabelSpec& spec) { return spec.name == key; });
  if (label != probe.labels.end()) {
    const auto* behind = label->param.empty() ? nullptr : find_param(probe, label->param);
    return behind == nullptr ? std::nullopt : settle_item(*behind, values_taken(check, *behind), text);
  }
  if (const auto* spec = find_param(probe, key)) return settle_whole(*spec, values_taken(check, *spec), text);
  if (key == "binding") return settle_binding(text);
  if (is_in(key, case_keys)) return settle_count(check, key, text);
  const auto has_label = [&](const DeclaredMetric& metric) { return is_in(key, metric.labels); };
  if (std::any_of(check.metrics.begin(), check.metrics.end(), has_label)) return std::nullopt;
  return WhereFault{true, fmt::format("\"{}\" is not a label or parameter of probe {}{}", printable_line(key, 60),
                                      probe.name, suggestion(key, known_keys(check, probe)))};
}

Labels read_where(const Entry& where, DocumentErrors& errors) {
  Labels labels;
  if (where.value.kind != NodeKind::table || where.value.entries.empty()) {
    errors.add(where.value.at, "\"where\" must be a table such as { size = \"16MiB\" }");
    return labels;
  }
  for (const auto& entry : where.value.entries) {
    const auto& value = entry.value;
    if (value.is_scalar() && value.kind != NodeKind::time && !value.text.empty())
      labels.emplace_back(entry.key, value.text);
    else
      errors.add(value.at, fmt::format("\"{}\" in \"where\" must be one value such as \"16MiB\" or 4, not {}",
                                       printable_line(entry.key, 60),
                                       value.text.empty() && value.kind == NodeKind::text ? "empty text"
                                                                                          : to_string(value.kind)));
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

}  // namespace muster
