/// Check files and system profiles (TOML) -> values. Every error names file:line:column and what to write instead.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "model/check.hpp"

namespace muster {

/// All that is wrong in a set of files, in file order; nothing is left out because something else failed first.
struct Diagnostics {
  std::vector<Error> errors;
  [[nodiscard]] bool ok() const { return errors.empty(); }
};

/// The checks of one document, also beside a profile, whose keys are left to parse_system(). Unknown keys, wrong types,
/// unknown probes, parameters, metrics, units and labels, an expectation without a bound, a `where` that no case can
/// match: each is an error in `diagnostics`. `name` is the file name used in places.
[[nodiscard]] std::vector<Check> parse_checks(std::string_view toml, const std::string& name,
                                              std::span<const ProbeSpec* const> probes, Diagnostics& diagnostics);
/// The profile of one document, also beside checks. The caller checks whether its launchers exist.
[[nodiscard]] SystemProfile parse_system(std::string_view toml, const std::string& name, Diagnostics& diagnostics);
/// References of `system` against the checks: unknown check, metric or label, unit that can't be converted, `where`
/// that no case of that check can match, a metric that the check does not judge by the profile. `checks` are all that a
/// profile may speak of.
void check_references(const SystemProfile& system, std::span<const Check> checks,
                      std::span<const ProbeSpec* const> probes, Diagnostics& diagnostics);

/// True when the document holds a profile ([system] at the top), alone or with checks.
[[nodiscard]] bool is_system_document(std::string_view toml);
/// True when the document holds checks ([check.NAME]), alone or with a profile, or neither.
[[nodiscard]] bool is_check_document(std::string_view toml);

/// Check files among `paths`: files as they are, folders searched for *.toml (not below `systems/` and `selftest/`),
/// sorted. A path that does not exist is an error (kind `usage`).
[[nodiscard]] Result<std::vector<fs::path>> find_check_files(std::span<const std::string> paths);
/// Every *.toml file below `folder`, checks and profiles, sorted; not below `selftest/`, and no hidden ones. Fails with
/// kind `usage` when it can't be searched.
[[nodiscard]] Result<std::vector<fs::path>> find_config_files(const fs::path& folder);

}  // namespace muster
