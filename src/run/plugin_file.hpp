/// Properties of a plug-in's file that can be read without executing it.
#pragma once

#include <string>
#include <string_view>

#include "base/files.hpp"
#include "base/trusted_path.hpp"
#include "muster/result.hpp"

namespace muster {

/// It is a library for this kind of machine, built for this muster. `file` only for the words of the error.
[[nodiscard]] Result<void> hold_fitting(std::string_view bytes, const std::string& file);

/// Opens a file that fits, and that only root, the caller and the owner of the running program could have written: it
/// is run with our rights. To be loaded by the descriptor (loadable_name): another file may have its name by then.
/// Fails with kind `file`: what is wrong and what to do.
[[nodiscard]] Result<OwnedDescriptor> hold_plugin(const fs::path& file);

}  // namespace muster
