/// What can be said of a plug-in's file without running any of it.
#pragma once

#include <string>
#include <string_view>

#include "base/files.hpp"
#include "muster/result.hpp"

namespace muster {

/// Nobody but root, ourselves and whoever installed muster could have written it: such files are run with our rights.
/// Fails with kind `file`: what is wrong and what to do.
[[nodiscard]] Result<void> hold_trusted(const fs::path& file);

/// It is a library for this kind of machine, built for this muster. `file` only for the words of the error.
[[nodiscard]] Result<void> hold_fitting(std::string_view bytes, const std::string& file);

/// Both, of a file that is there.
[[nodiscard]] Result<void> hold_plugin(const fs::path& file);

}  // namespace muster
