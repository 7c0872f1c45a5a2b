/// What the console shows, as text: the head, one line per case, a block per case that needs a look, the summary.
/// Every text ends in a newline or is empty.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "muster/report.hpp"
#include "reporters/common/blocks.hpp"
#include "reporters/common/ink.hpp"

namespace muster {

/// Of the verdict that begins a line.
inline constexpr std::size_t verdict_columns = 10;

/// How wide to write, and in which colours.
struct Page {
  Ink ink;
  std::size_t width = 80;
};

/// Version, system, shape, launcher; where the results go.
[[nodiscard]] std::string head_text(const RunReport& report, const Page& page);
/// `pass       hello%3f2a9c1d    0.4 s  8 ranks answered`; titles are padded to `title_columns`.
[[nodiscard]] std::string case_line(const CaseResult& result, std::size_t title_columns, const Page& page);
/// The lines of one case on many nodes (--per-node), those in trouble first: a line for each of the first eight, one
/// for the nodes of all others, and one for those that are well.
[[nodiscard]] std::string node_lines(const std::vector<CaseResult>& results, std::size_t title_columns,
                                     const Page& page);
/// The text of a case of one node as it would be of any node, to find equal ones.
[[nodiscard]] std::string without_node(const CaseResult& result, std::string_view text);
/// Why a case is not a pass, who, with what evidence, what to do, and how to run it again. Cases that came to the same
/// end for the same reason are named; what an earlier block has on who and what to do is not repeated.
[[nodiscard]] std::string case_block(const Block& block, const Page& page);
/// Cases per verdict with names, nodes when they differ, notes, and where the report is.
[[nodiscard]] std::string summary_text(const RunReport& report, const Page& page);

/// `label` in a margin of `margin_columns`, then the text wrapped beside it; nothing when there is no text.
[[nodiscard]] std::string entry(std::string_view label, std::string_view text, const Page& page);
inline constexpr std::size_t margin_columns = 13;

}  // namespace muster
