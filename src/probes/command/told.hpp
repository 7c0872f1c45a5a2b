/// The report of a program: a finding with reason, culprits and remedy, or a sentence that supports a pass.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "muster/probe.hpp"

namespace muster::program {

inline constexpr std::string_view finding_start = R"({"finding")";
inline constexpr std::string_view evidence_start = R"({"evidence")";

/// The content of a line `{"<kind>": ...}`: of a finding its object as JSON, of evidence its sentence. Fails with kind
/// `protocol`, in words that follow the line's name: `has no reason`.
[[nodiscard]] Result<std::string> read_told(std::string_view kind, std::string_view line);

/// A finding of a rank's program, and whether it is marked as the consequence of another.
struct Told {
  Finding finding;
  bool is_consequence = false;
};
/// `text` is the result of read_told. Without culprits it is the rank that printed it; ranks that the job does not have
/// are left out.
[[nodiscard]] Told to_told(const std::string& text, const RankPlace& teller, std::span<const RankPlace> ranks);

}  // namespace muster::program
