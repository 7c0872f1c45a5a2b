/// A decoded part, in words: who is slow, by how much, in how many readings, and what to do.
#pragma once

#include <string>

#include "muster/probe.hpp"
#include "probes/p2p/judge_rails.hpp"
#include "probes/p2p/links.hpp"

namespace muster::p2p {

[[nodiscard]] Finding name_part(const CaseView& view, const SuspectPart& part, const Decoded& decoded,
                                const std::string& size);

/// A slow NIC of a node.
[[nodiscard]] Finding name_rail(const CaseView& view, const SuspectPart& part, const SlowRails& rails,
                                const std::string& size);

}  // namespace muster::p2p
