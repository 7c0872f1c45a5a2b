/// The report of a program: a finding with reason, culprits and remedy, or a sentence that supports a pass.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/probe.hpp"

namespace muster::program {

inline constexpr std::string_view finding_start = R"({"finding")";
inline constexpr std::string_view evidence_start = R"({"evidence")";

/// The content of a line `{"<kind>": ...}`: of a finding its object as JSON, of evidence its sentence. Fails with kind
/// `protocol`, in words that follow the line's name: `has no reason`.
[[nodiscard]] Result<std::string> read_result_line(std::string_view kind, std::string_view line);

/// A finding of a rank's program, and whether it is marked as the consequence of another.
struct ProgramFinding {
  Finding finding;
  bool is_consequence = false;
  bool names_nothing = false;  ///< the program gave no culprit
  bool names_place = false;    ///< it gave a node, a rank or a part of one
};
/// `text` is the result of read_result_line. Without culprits it is the rank that printed it; ranks that the job does
/// not have are left out.
[[nodiscard]] ProgramFinding to_program_finding(const std::string& text, const RankPlace& teller,
                                                std::span<const RankPlace> ranks);

/// Findings of all ranks. Those that name more than half of the nodes, or the only one, are held against none of them:
/// their culprits lose the node, and a node becomes `program`; so does the rank that gave no culprit, where each does.
/// Likewise those of rank 0 alone, unless they name a node, a rank or a part of one: then rank 0 is a culprit, too.
/// Consequences are counted by themselves. `tellers`: the rank of each; `nodes`: on which programs were started.
void spare_nodes(std::vector<ProgramFinding>& all, const std::vector<std::size_t>& tellers,
                 std::span<const RankPlace> ranks, std::size_t nodes, const std::string& program);

}  // namespace muster::program
