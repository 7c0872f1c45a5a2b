/// A metric between pairs of ranks or nodes, and the file beside a report that holds it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "muster/observation.hpp"
#include "muster/result.hpp"

namespace muster {

struct Matrix {
  std::string metric;
  std::string unit;
  Labels where;                    ///< of all its readings; labels that distinguish pairs are left out
  bool is_of_nodes = false;        ///< rows and columns are nodes: the median over the pairs of ranks
  std::vector<std::string> names;  ///< of rows: host names of ranks (rank = row), or of nodes
  std::vector<float> values;       ///< row-major medians; not a number: not measured
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

/// The bytes of a file: one line of JSON (`muster_matrix`: 1, metric, unit, where, rows: `rank` or `node`, size, names,
/// type: `float32`), a line feed, then size x size values, little endian, row by row.
[[nodiscard]] std::string to_file(const Matrix& matrix);
/// What to_file wrote. Fails with kind `file` on anything else, without naming the file; takes at most 4,096 rows.
[[nodiscard]] Result<Matrix> matrix_from_file(std::string_view bytes);

}  // namespace muster
