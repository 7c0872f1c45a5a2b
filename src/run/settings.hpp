/// Options -S check.param=value. Part of select.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "run/select.hpp"

namespace muster {

/// Values by check name, then parameter.
using Settings = std::map<std::string, std::map<std::string, ParamValue>>;

/// A check of `*` stands for every check that has the parameter. The last setting of a parameter wins. Fails with kind
/// `usage` for an unknown check or parameter and a value that the parameter does not take.
[[nodiscard]] Result<Settings> read_settings(const std::vector<std::string>& texts, const std::vector<Check>& checks,
                                             std::span<const ProbeSpec* const> probes);

[[nodiscard]] const ProbeSpec* find_among(std::span<const ProbeSpec* const> probes, std::string_view name);

}  // namespace muster
