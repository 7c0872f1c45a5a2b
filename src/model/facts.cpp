#include <fmt/format.h>

#include "base/names.hpp"
#include "base/units.hpp"
#include "model/plan.hpp"

namespace muster {

const std::string* Observation::fact(std::string_view key) const {
  for (const auto& one : facts)
    if (one.key == key) return &one.value;
  return nullptr;
}

const std::string* find_label(const Labels& labels, std::string_view key) {
  for (const auto& [name, value] : labels)
    if (name == key) return &value;
  return nullptr;
}

std::string label_of(const Labels& labels, std::string_view key) {
  const std::string* value = find_label(labels, key);
  return value == nullptr ? std::string() : *value;
}

constexpr std::string_view better_names[] = {"higher", "lower", "neither"};

std::string_view to_string(Better better) {
  return enum_name(better_names, better);
}

std::string to_string(const RanksSpec& ranks) {
  switch (ranks.kind) {
    case RanksSpec::Kind::per_node:
      return fmt::format("{} per node", ranks.count);
    case RanksSpec::Kind::one_per_node:
      return "one-per-node";
    case RanksSpec::Kind::one_per_core:
      return "one-per-core";
    case RanksSpec::Kind::one_per_numa:
      return "one-per-numa";
    case RanksSpec::Kind::one_per_gpu:
      if (ranks.count == 0) return "one-per-gpu, one-per-core where there is none";
      return ranks.count == 1 ? "one-per-gpu" : fmt::format("one-per-gpu, {} where there is none", ranks.count);
  }
  return "?";
}

namespace {

/// Times and rates mean nothing on shared cores; counts, shares and losses still do.
bool is_time_or_rate(std::string_view unit) {
  return unit_factor(unit, "s").has_value() || (unit.size() > 2 && unit.substr(unit.size() - 2) == "/s");
}

}  // namespace

std::optional<MetricFacts> metric_facts(const Case& item, const ProbeSpec& probe, std::string_view metric) {
  for (const auto& spec : probe.metrics)
    if (spec.name == metric) return MetricFacts{std::string(spec.unit), spec.better, spec.is_timing, spec.error_floor};
  for (const auto& declared : item.metrics)
    if (declared.name == metric) return MetricFacts{declared.unit, declared.better, is_time_or_rate(declared.unit)};
  return std::nullopt;
}

}  // namespace muster
