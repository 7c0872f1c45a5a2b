/// Probes beside those that were built in.
#pragma once

#include <span>
#include <vector>

#include "muster/probe.hpp"

namespace muster {

/// Gives further probes, whose names no other has. Must not ask for the table (all_probes, find_probe).
using ProbeSource = std::vector<const ProbeSpec*> (*)(std::span<const ProbeSpec* const> built_in);

/// To be called at the start of a program, before anybody asks for a probe.
void set_probe_source(ProbeSource source);
/// For the generated table: the built-in ones and those of the source, which is asked once, when the first probe is.
/// What never asks for probes (`muster --version`) opens no files for them.
[[nodiscard]] std::span<const ProbeSpec* const> with_added(std::span<const ProbeSpec* const> built_in);

}  // namespace muster
