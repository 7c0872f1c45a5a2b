/// Machine descriptions (TOML) -> values. docs/machines.md has every key.
#pragma once

#include <string>
#include <string_view>

#include "config/config.hpp"
#include "model/machine_description.hpp"

namespace muster {

/// The machine of one document. Every mistake is an error in `diagnostics`, with its place and what to write.
[[nodiscard]] MachineDescription parse_machine(std::string_view toml, const std::string& name,
                                               Diagnostics& diagnostics);
/// True when the document describes a machine ([machine] at the top).
[[nodiscard]] bool is_machine_document(std::string_view toml);

}  // namespace muster
