/// Readings between pairs, as matrices: who sends is the row, who receives the column. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/matrix.hpp"
#include "model/plan.hpp"
#include "model/record.hpp"
#include "muster/report.hpp"

namespace muster {

/// Beyond so many ranks a matrix has a row per node.
inline constexpr std::size_t most_matrix_ranks = 1024;

/// One for each metric and labels that has readings with a peer, in the order of first appearance. Readings of peers
/// that are not in the world are left out.
[[nodiscard]] std::vector<Matrix> matrices_of(const CaseRecord& record, const ProbeSpec& probe, const World& world,
                                              std::size_t most_ranks = most_matrix_ranks);

}  // namespace muster
