/// Readings between pairs, as matrices: who sends is the row, who receives the column. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/plan.hpp"
#include "model/record.hpp"
#include "muster/report.hpp"

namespace muster {

struct Matrix {
  std::string metric;
  std::string unit;
  Labels where;                    ///< of all its readings; labels that tell pairs apart are left out
  bool is_of_nodes = false;        ///< rows and columns are nodes: the median over the pairs of ranks
  std::vector<std::string> names;  ///< of rows: host names of ranks (rank = row), or of nodes
  std::vector<float> values;       ///< row-major medians; not a number: not measured
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

/// Beyond so many ranks a matrix has a row per node.
inline constexpr std::size_t most_matrix_ranks = 1024;

/// One for each metric and labels that has readings with a peer, in the order of first appearance. Readings of peers
/// that are not in the world are left out.
[[nodiscard]] std::vector<Matrix> matrices_of(const CaseRecord& record, const ProbeSpec& probe, const World& world,
                                              std::size_t most_ranks = most_matrix_ranks);

/// The bytes of a file: one line of JSON (`muster_matrix`: 1, metric, unit, where, rows: `rank` or `node`, size, names,
/// type: `float32`), a line feed, then size x size values, little endian, row by row.
[[nodiscard]] std::string to_file(const Matrix& matrix);

}  // namespace muster
