/// The parts of the data that a page holds. docs/reports.md describes its layout; reports/templates/ reads it.
#pragma once

#include <string>
#include <vector>

#include "reporters/html/json_text.hpp"
#include "reporters/html/shown.hpp"

namespace muster::html {

/// How much of each kind a page holds, in bytes; together they keep it below 15 MB.
struct Rooms {
  Room cases{2'500'000};        ///< the text of each case
  Room node_values{3'500'000};  ///< metrics by node
  Room readings{1'000'000};     ///< of single ranks
  Room matrices{5'500'000};
  Room ranks{700'000};  ///< where ranks stood
  Room facts{700'000};  ///< provenance
};

/// What all parts share while one page is written.
struct Draft {
  const RunReport& report;
  Names nodes;
  std::vector<Shown> cases = {};
  Names texts = {};  ///< facts, whose values repeat
  Rooms rooms = {};
  std::vector<std::string> left_out = {};  ///< sentences for the reader
  JsonText out = {};
};

/// The whole document, one line.
[[nodiscard]] std::string data_of(const RunReport& report);

void write_run(Draft& draft);
/// Nodes with their facts, column by column.
void write_nodes(Draft& draft);
void write_launches(Draft& draft);
void write_cases(Draft& draft);
/// Index = case, row of its first member: whether the values of each node fit.
using Wanted = std::vector<std::vector<bool>>;
[[nodiscard]] Wanted choose_rows(Draft& draft);
void write_metrics(Draft& draft, const Shown& shown, const std::vector<bool>& wanted);
void write_summary(JsonText& out, const Summary& summary);
void write_bounds(JsonText& out, const std::vector<BoundOutcome>& bounds);
void write_labels(JsonText& out, const Labels& where);
/// Where each rank stood.
void write_ranks(Draft& draft, const CaseResult& result);
/// From the files beside the report, and where there is none from the readings.
void write_matrices(Draft& draft, const CaseResult& result);

}  // namespace muster::html
