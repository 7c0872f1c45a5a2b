#include "config/expectations.hpp"

#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "config/param_values.hpp"
#include "config/where.hpp"

namespace muster {

namespace {

// A fraction beyond this was meant as a percentage.
constexpr double most_fraction = 10;

void read_tolerances(Fields& fields, const Entry& entry, Reference& reference) {
  reference.lower = fields.number("lower");
  reference.upper = fields.number("upper");
  const auto place = [&](std::string_view key) { return entry.value.find(key)->value.at; };
  if (reference.lower && (*reference.lower > 0 || *reference.lower < -1))
    fields.complain(
        place("lower"),
        fmt::format("\"lower\" is a fraction from -1 to 0, not {}; write -0.05 for 5 % below", *reference.lower));
  if (reference.upper && (*reference.upper < 0 || *reference.upper > most_fraction))
    fields.complain(place("upper"),
                    fmt::format("\"upper\" is a fraction from 0 to {}, not {}; write 0.05 for 5 % above", most_fraction,
                                *reference.upper));
  if (entry.value.find("lower") == nullptr && entry.value.find("upper") == nullptr)
    fields.complain(entry.at, "a reference needs \"lower\" or \"upper\"; without them nothing is outside");
}

std::optional<double> read_share(Fields& fields, const Entry& entry, std::string_view key) {
  const auto share = fields.number(key);
  if (share && (*share <= 0 || *share > most_fraction)) {
    fields.complain(entry.value.find(key)->value.at,
                    fmt::format("\"{}\" is a fraction above 0, at most {}, not {}; write 0.25 for 25 %", key,
                                most_fraction, *share));
    return std::nullopt;
  }
  return share;
}

class ExpectationReader {
 public:
  ExpectationReader(const Node& table, const ProbeSpec& probe, const Check& check, Fields& check_fields)
      : probe_(probe),
        check_(check),
        check_header_(check_fields.header()),
        parent_(fmt::format("[[check.{}.expect]]", check.name)),
        fields_(table, table.at, parent_, check_fields.errors()) {}

  std::optional<Expectation> read() {
    expectation_.place = fields_.errors().text(fields_.header());
    const auto unit = read_metric();
    read_where_table();
    const bool has_reference = read_reference_key(unit);
    const bool has_limit = read_limit();
    const bool has_peers = read_peers();
    const bool has_history = read_history();
    if (!has_reference && !has_limit && !has_peers && !has_history)
      fields_.complain(fields_.header(),
                       parent_ + " has no bound; add \"reference\", \"limit\", \"peers\" or \"history\"");
    fields_.finish();
    return expectation_;
  }

 private:
  std::optional<std::string> read_metric() {
    const auto* entry = fields_.need("metric", "metric = \"busbw\"");
    if (entry == nullptr) return std::nullopt;
    const auto metric = fields_.text("metric");
    if (!metric) return std::nullopt;
    expectation_.metric = *metric;
    auto unit = unit_of_metric(check_, probe_, *metric);
    // The key that declares it may be misspelt.
    if (!unit)
      fields_.errors().add_consequence(
          entry->value.at,
          fmt::format("probe {} has no metric \"{}\"{}", probe_.name, printable_line(*metric, 60),
                      metric_suggestion(check_, probe_, *metric)),
          check_header_);
    return unit;
  }

  void read_where_table() {
    const auto* entry = fields_.find("where");
    if (entry == nullptr) return;
    expectation_.where = read_where(*entry, fields_.errors());
    for (auto& [key, text] : expectation_.where) {
      const auto fault = settle_where(check_, probe_, key, text);
      if (!fault) continue;
      const auto* at = entry->value.find(key);
      fields_.complain(fault->is_key ? at->at : at->value.at, fault->what);
    }
  }

  bool read_reference_key(const std::optional<std::string>& unit) {
    const auto* entry = fields_.find("reference");
    if (entry == nullptr) return false;
    if (entry->value.kind == NodeKind::text && entry->value.text == "profile") {
      expectation_.profile_reference = true;
      return true;
    }
    if (entry->value.kind != NodeKind::table) {
      fields_.refuse(*entry, entry->value,
                     "\"profile\" or a table such as { value = 150.0, lower = -0.1, unit = \"GB/s\" }");
      return true;
    }
    auto reference = read_reference(*entry, "\"reference\" of " + parent_, fields_.errors());
    if (!reference || !unit || unit->empty()) return true;
    check_unit(*entry, *reference, *unit);
    expectation_.reference = std::move(*reference);
    return true;
  }

  void check_unit(const Entry& entry, const Reference& reference, const std::string& unit) {
    if (unit_factor(reference.unit, unit)) return;
    fields_.complain(entry.value.find("unit")->value.at, fmt::format("\"{}\" can't be converted to {}, the unit of {}",
                                                                     reference.unit, unit, expectation_.metric));
  }

  bool read_limit() {
    const auto* entry = fields_.table("limit");
    if (entry == nullptr) return fields_.find("limit") != nullptr;
    Fields fields(entry->value, entry->at, "\"limit\" of " + parent_, fields_.errors());
    Limit limit{read_share(fields, *entry, "at_least"), read_share(fields, *entry, "at_most")};
    fields.finish();
    refuse_without_maximum(*entry);
    if (entry->value.find("at_least") == nullptr && entry->value.find("at_most") == nullptr)
      fields.complain(entry->at, "\"limit\" needs \"at_least\" or \"at_most\"");
    if (limit.at_least && limit.at_most && *limit.at_least > *limit.at_most)
      fields.complain(entry->value.find("at_most")->value.at, "\"at_most\" is below \"at_least\"; nothing could pass");
    expectation_.limit = limit;
    return true;
  }

  /// A limit that no reading can be held against would never be judged.
  void refuse_without_maximum(const Entry& entry) {
    if (!unit_of_metric(check_, probe_, expectation_.metric)) return;
    std::vector<std::string> limited;
    for (const auto& spec : probe_.metrics)
      if (spec.has_limit) limited.emplace_back(spec.name);
    if (is_in(expectation_.metric, limited)) return;
    for (const auto& declared : check_.metrics) {
      if (declared.name != expectation_.metric) continue;
      if (declared.maximum) return;
      return fields_.complain(
          entry.at,
          fmt::format("\"limit\" needs the hardware's maximum: give metric \"{}\" one in {} (maximum = NUMBER), "
                      "or judge it by \"reference\", \"peers\" or \"history\"",
                      declared.name, declared.unit));
    }
    const auto others = limited.empty() ? fmt::format("no metric of probe {} has one", probe_.name)
                                        : fmt::format("of probe {}: {}", probe_.name, human_list(limited));
    fields_.complain(entry.at,
                     fmt::format("\"limit\" needs a metric with a hardware maximum, and \"{}\" has none ({}); "
                                 "judge it by \"reference\", \"peers\" or \"history\"",
                                 expectation_.metric, others));
  }

  bool read_peers() {
    const auto* entry = fields_.table("peers");
    if (entry == nullptr) return fields_.find("peers") != nullptr;
    Fields fields(entry->value, entry->at, "\"peers\" of " + parent_, fields_.errors());
    Peers peers;
    peers.max_z = fields.number("max_z").value_or(peers.max_z);
    peers.mad_floor = fields.number("floor").value_or(peers.mad_floor);
    peers.min_items = fields.integer("min_items", {3, 1e6}).value_or(peers.min_items);
    fields.finish();
    if (peers.max_z <= 0) fields.complain(entry->value.find("max_z")->value.at, "\"max_z\" must be above 0");
    if (peers.mad_floor < 0 || peers.mad_floor >= 1)
      fields.complain(entry->value.find("floor")->value.at, "\"floor\" is a fraction from 0 to below 1");
    expectation_.peers = peers;
    return true;
  }

  bool read_history() {
    const auto* entry = fields_.table("history");
    if (entry == nullptr) return fields_.find("history") != nullptr;
    Fields fields(entry->value, entry->at, "\"history\" of " + parent_, fields_.errors());
    Drift drift;
    drift.min_runs = fields.integer("min_runs", {5, 50}).value_or(drift.min_runs);
    drift.max_z = fields.number("max_z").value_or(drift.max_z);
    drift.least = fields.number("least").value_or(drift.least);
    drift.noise = fields.number("noise").value_or(drift.noise);
    fields.finish();
    const auto refuse = [&](std::string_view key, const char* what) {
      if (const auto* found = entry->value.find(key)) fields_.complain(found->value.at, what);
    };
    if (drift.max_z < 2 || drift.max_z > 10) refuse("max_z", "\"max_z\" is a number from 2 to 10");
    if (drift.least <= 0 || drift.least >= 1) refuse("least", "\"least\" is a fraction above 0, below 1");
    if (drift.noise <= 0 || drift.noise >= 1) refuse("noise", "\"noise\" is a fraction above 0, below 1");
    expectation_.history = drift;
    return true;
  }

  const ProbeSpec& probe_;
  const Check& check_;
  Place check_header_;
  std::string parent_;
  Fields fields_;
  Expectation expectation_;
};

}  // namespace

std::optional<std::string> unit_of_metric(const Check& check, const ProbeSpec& probe, std::string_view metric) {
  for (const auto& spec : probe.metrics)
    if (spec.name == metric) return std::string(spec.unit);
  for (const auto& declared : check.metrics)
    if (declared.name == metric) return declared.unit;
  return std::nullopt;
}

std::string metric_suggestion(const Check& check, const ProbeSpec& probe, std::string_view metric) {
  auto names = names_of(probe.metrics);
  for (const auto& declared : check.metrics) names.push_back(declared.name);
  if (names.empty() && probe.takes_declared_metrics)
    return fmt::format(
        "; find it in the output with [[check.{0}.params.metric]], or declare it in [check.{0}.metrics] "
        "where the program prints it as JSON",
        check.name);
  return suggestion(metric, names);
}

std::optional<Reference> read_reference(const Entry& entry, const std::string& parent, DocumentErrors& errors) {
  Fields fields(entry.value, entry.at, parent, errors);
  Reference reference;
  reference.place = errors.text(entry.at);
  const auto* value_entry = fields.need("value", "value = 150.0");
  const auto* unit_entry = fields.need("unit", "unit = \"GB/s\"");
  const auto value = fields.number("value");
  const auto unit = fields.text("unit");
  read_tolerances(fields, entry, reference);
  reference.source = fields.text("source").value_or("");
  fields.finish();
  if (unit && !is_known_unit(*unit)) {
    fields.complain(unit_entry->value.at,
                    fmt::format("unknown unit \"{}\"{}", printable_line(*unit, 60), suggestion(*unit, known_units())));
    return std::nullopt;
  }
  if (value_entry == nullptr || !value || !unit) return std::nullopt;
  reference.value = *value;
  reference.unit = *unit;
  return reference;
}

void read_expectations(Fields& check_fields, const ProbeSpec& probe, Check& check) {
  for (const auto* table : check_fields.tables("expect", fmt::format("[[check.{}.expect]]", check.name)))
    if (auto expectation = ExpectationReader(*table, probe, check, check_fields).read())
      check.expects.push_back(std::move(*expectation));
}

}  // namespace muster
