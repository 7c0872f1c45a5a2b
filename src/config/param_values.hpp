/// Parameters of a check: what the file gives and sweeps, and what a parameter can therefore be.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/fields.hpp"
#include "model/check.hpp"

namespace muster {

/// [check.NAME.params] and [check.NAME.sweep] -> check.params and check.sweep. A parameter without a default that
/// neither gives is a complaint.
void read_params(Fields& check_fields, const ProbeSpec& probe, Check& check);

/// Every value that the parameter takes in the cases of `check`.
[[nodiscard]] std::vector<ParamValue> values_taken(const Check& check, const ParamSpec& spec);

/// The names of a probe's params, metrics or labels, for suggestions.
template <class Spec>
std::vector<std::string> names_of(std::span<const Spec> specs) {
  std::vector<std::string> names;
  for (const auto& spec : specs) names.emplace_back(spec.name);
  return names;
}

}  // namespace muster
