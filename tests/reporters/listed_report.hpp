/// The run of sample_report.hpp with what only a run of today has: each rank's readings, and where it stood.
#pragma once

#include <fmt/format.h>

#include "reporters/sample_report.hpp"

namespace muster::sample {

inline void list_ranks(CaseResult& result) {
  for (int rank = 0; rank < result.ranks; ++rank) {
    RankRow row{rank, rank < 4 ? "nid001" : "nid002", {}};
    if (rank != 3) row.facts = {{"data.device", fmt::format("GPU 0000:0{}:00.0", rank % 4 + 1)}};
    result.rank_rows.push_back(row);
  }
}

/// Rank by rank, and a metric between pairs that nobody judged.
inline RunReport listed_report() {
  auto run = report();
  auto& result = run.cases[2];
  list_ranks(result);
  for (auto& row : result.metrics)
    for (int rank = 0; rank < 8; ++rank) {
      const bool is_judged = row.judged > 0;
      const double middle = rank == 5 ? row.over.min : row.over.median + rank / 100.0;
      const auto verdict = !is_judged ? Verdict::skip : rank == 5 ? Verdict::fail : Verdict::pass;
      row.readings.push_back(
          {rank, is_judged ? -1 : (rank + 4) % 8, summary(20, middle - 1, middle, middle + 0.5), verdict});
    }
  result.metrics[0].readings[7].summary = {};
  return run;
}

}  // namespace muster::sample
