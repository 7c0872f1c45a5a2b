/// Examples of checks (TOML: [[good]] and [[bad]]) -> values. docs/selftest.md has every key.
#pragma once

#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "model/example.hpp"

namespace muster {

/// The examples of one document; every mistake is an error in `diagnostics`. Whether checks, machines and faults exist
/// is checked by the caller.
[[nodiscard]] std::vector<Example> parse_examples(std::string_view toml, const std::string& name,
                                                  Diagnostics& diagnostics);

/// Files of examples and of profiles for them: *.toml in folders `selftest` below `paths`, or beside them where they
/// are files; sorted. None is not an error.
[[nodiscard]] std::vector<fs::path> find_example_files(std::span<const std::string> paths);

}  // namespace muster
