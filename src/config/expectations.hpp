/// [[check.NAME.expect]] and what bounds are made of.
#pragma once

#include <optional>
#include <string>

#include "config/fields.hpp"
#include "model/check.hpp"

namespace muster {

/// Reads every [[check.NAME.expect]] into check.expects. To be called after parameters and declared metrics.
void read_expectations(Fields& check_fields, const ProbeSpec& probe, Check& check);

/// { value, unit, lower, upper, source }: complete and with a known unit, or nullopt with complaints.
[[nodiscard]] std::optional<Reference> read_reference(const Entry& entry, const std::string& parent,
                                                      DocumentErrors& errors);

/// Unit of a metric of the probe or declared by the check; nullopt: there is no such metric.
[[nodiscard]] std::optional<std::string> unit_of_metric(const Check& check, const ProbeSpec& probe,
                                                        std::string_view metric);
/// `; did you mean "x"?` for a metric.
[[nodiscard]] std::string metric_suggestion(const Check& check, const ProbeSpec& probe, std::string_view metric);

}  // namespace muster
