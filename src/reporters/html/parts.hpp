/// The parts of the data that a page holds. docs/reports.md describes its layout; reports/templates/ reads it.
#pragma once

#include <string>
#include <vector>

#include "reporters/html/grouped_cases.hpp"
#include "reporters/html/json_text.hpp"

namespace muster::html {

/// How much of each kind a page holds, in bytes; together they keep it below 15 MB.
struct SizeBudgets {
  SizeBudget cases{2'500'000};        ///< the text of each case
  SizeBudget node_values{3'500'000};  ///< metrics by node
  SizeBudget readings{1'000'000};     ///< of single ranks
  SizeBudget matrices{5'500'000};
  SizeBudget ranks{700'000};  ///< where ranks stood
  SizeBudget facts{700'000};  ///< provenance
};

/// What all parts share while one page is written.
struct PageWriter {
  const RunReport& report;
  Names nodes;
  std::vector<CaseGroup> cases = {};
  Names texts = {};  ///< facts, whose values repeat
  SizeBudgets rooms = {};
  std::vector<std::string> left_out = {};  ///< sentences for the reader
  JsonText out = {};
};

/// The whole document, one line.
[[nodiscard]] std::string data_of(const RunReport& report);

void write_run(PageWriter& writer);
/// Nodes with their facts, column by column.
void write_nodes(PageWriter& writer);
void write_launches(PageWriter& writer);
void write_cases(PageWriter& writer);
/// Index = case, row of its first member: whether the values of each node fit.
using Wanted = std::vector<std::vector<bool>>;
[[nodiscard]] Wanted choose_rows(PageWriter& writer);
void write_metrics(PageWriter& writer, const CaseGroup& shown, const std::vector<bool>& wanted);
void write_summary(JsonText& out, const Summary& summary);
void write_bounds(JsonText& out, const std::vector<BoundOutcome>& bounds);
void write_labels(JsonText& out, const Labels& where);
/// Where each rank stood.
void write_ranks(PageWriter& writer, const CaseResult& result);
/// From the files beside the report, and where there is none from the readings.
void write_matrices(PageWriter& writer, const CaseResult& result);

}  // namespace muster::html
