#include "app/gate/connections.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/files.hpp"
#include "base/lists.hpp"
#include "base/units.hpp"
#include "model/matrix.hpp"
#include "run/per_node.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

std::uint64_t size_of(const MatrixFile& file) {
  const auto size = parse_bytes(label_of(file.where, "size"));
  return size ? size->count : 0;
}

/// What a case knows best: one way goes before both, large messages before small ones. nullptr: nothing.
const MatrixFile* best_matrix(const CaseResult& result) {
  const MatrixFile* best = nullptr;
  for (const MatrixFile& file : result.matrices) {
    const bool is_speed = file.metric == "bandwidth" || file.metric == "bidirectional";
    // What was looked at again alone are the pairs that looked bad.
    if (!is_speed || find_label(file.where, "alone")) continue;
    const auto rank = [](const MatrixFile& one) { return std::pair(one.metric == "bandwidth", size_of(one)); };
    if (best == nullptr || rank(*best) < rank(file)) best = &file;
  }
  return best;
}

std::optional<Matrix> read_matrix(const RunReport& report, const MatrixFile& file) {
  const auto bytes = read_file(fs::path(report.folder) / file.file);
  if (!bytes) return std::nullopt;
  auto matrix = matrix_from_file(*bytes);
  if (!matrix || matrix->unit != "GB/s") return std::nullopt;
  return std::move(*matrix);
}

/// Of a row: the node that its name means.
std::vector<std::optional<std::size_t>> places(const Matrix& matrix, const std::vector<std::string>& nodes) {
  std::map<std::string, std::optional<std::size_t>> known;
  std::vector<std::optional<std::size_t>> all;
  for (const std::string& name : matrix.names) {
    const auto [at, is_new] = known.try_emplace(name);
    for (std::size_t node = 0; is_new && node < nodes.size() && !at->second; ++node)
      if (is_same_node(nodes[node], name)) at->second = node;
    all.push_back(at->second);
  }
  return all;
}

NodeConnections to_connections(const Matrix& matrix, const std::vector<std::string>& nodes) {
  const auto place = places(matrix, nodes);
  std::map<NodePair, std::vector<double>> cells;
  for (std::size_t row = 0; row < place.size(); ++row)
    for (std::size_t column = 0; column < place.size(); ++column)
      if (place[row] && place[column] && place[row] != place[column])
        cells[{*place[row], *place[column]}].push_back(static_cast<double>(matrix.values[row * place.size() + column]));
  NodeConnections connections(nodes.size());
  for (const auto& [ends, values] : cells)
    if (const auto middle = median(values)) connections.put(ends.first, ends.second, *middle);
  return connections;
}

/// The first of a report's cases that has such a matrix.
const CaseResult* connecting_case(const RunReport& report) {
  const auto found = std::find_if(report.cases.begin(), report.cases.end(),
                                  [](const CaseResult& result) { return best_matrix(result) != nullptr; });
  return found == report.cases.end() ? nullptr : &*found;
}

}  // namespace

NodeConnections connections_of(std::span<const RunReport> reports, const std::vector<std::string>& nodes) {
  NodeConnections all(nodes.size());
  std::map<NodePair, double> best;
  for (const RunReport& report : reports) {
    const CaseResult* result = connecting_case(report);
    const auto matrix = result == nullptr ? std::nullopt : read_matrix(report, *best_matrix(*result));
    if (!matrix) continue;
    const auto measured = to_connections(*matrix, nodes);
    for (std::size_t a = 0; a < nodes.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (const auto value = measured.between(a, b)) best[{a, b}] = std::max(best[{a, b}], *value);
  }
  for (const auto& [ends, value] : best) all.put(ends.first, ends.second, value);
  return all;
}

std::vector<std::string> connection_cases(std::span<const RunReport> reports) {
  std::vector<std::string> ids;
  for (const RunReport& report : reports)
    if (const CaseResult* result = connecting_case(report))
      if (!is_in(result->id, ids)) ids.push_back(result->id);
  return ids;
}

}  // namespace muster
