#include "evaluate/matrices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "evaluate/possible.hpp"
#include "model/series.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

/// Labels that all readings of one matrix have in common.
Labels common_labels(const Labels& where, const ProbeSpec& probe) {
  Labels common;
  for (const auto& label : where) {
    const auto spec = std::find_if(probe.labels.begin(), probe.labels.end(),
                                   [&](const LabelSpec& one) { return one.name == label.first; });
    if (spec == probe.labels.end() || !spec->is_of_pair) common.push_back(label);
  }
  return common;
}

struct Cell {
  std::size_t row = 0;
  std::size_t column = 0;
  friend auto operator<=>(const Cell&, const Cell&) = default;
};

struct Growing {
  Matrix matrix;
  std::map<Cell, std::vector<double>> cells;
};

std::string unit_of(const Reading& reading, const ProbeSpec& probe) {
  if (!reading.unit.empty()) return reading.unit;
  for (const MetricSpec& metric : probe.metrics)
    if (metric.name == reading.metric) return std::string(metric.unit);
  return {};
}

std::vector<std::string> names_of(const World& world, bool is_of_nodes) {
  std::vector<std::string> names;
  for (const RankPlace& place : world.ranks) {
    if (!is_of_nodes)
      names.push_back(place.host);
    else if (static_cast<std::size_t>(place.node_index) == names.size())
      names.push_back(place.host);
  }
  return names;
}

Matrix finish(Growing&& growing) {
  Matrix matrix = std::move(growing.matrix);
  const std::size_t size = matrix.names.size();
  matrix.values.assign(size * size, std::numeric_limits<float>::quiet_NaN());
  for (const auto& [cell, values] : growing.cells)
    if (cell.row < size && cell.column < size)
      matrix.values[cell.row * size + cell.column] = static_cast<float>(*median(values));
  return matrix;
}

}  // namespace

std::vector<Matrix> matrices_of(const CaseRecord& record, const ProbeSpec& probe, const World& world,
                                std::size_t most_ranks) {
  const bool is_of_nodes = world.ranks.size() > most_ranks;
  std::vector<Growing> growing;
  const auto index_of = [&](int rank) {
    return is_of_nodes ? static_cast<std::size_t>(world.ranks[static_cast<std::size_t>(rank)].node_index)
                       : static_cast<std::size_t>(rank);
  };
  const auto is_known = [&](int rank) { return rank >= 0 && static_cast<std::size_t>(rank) < world.ranks.size(); };
  const Plausible kept = plausible(record, probe, world);
  for (const Observation& seen : kept.of(record).observations) {
    if (!is_known(seen.rank) || seen.state != ObservationState::measured) continue;
    for (const Reading& reading : seen.readings) {
      if (!is_known(reading.peer) || reading.summary.n == 0 || !std::isfinite(reading.summary.median)) continue;
      // What is possible stands beside what was measured; it is not a measurement.
      if (base_metric(reading.metric) != reading.metric) continue;
      const Labels where = common_labels(reading.where, probe);
      auto at = std::find_if(growing.begin(), growing.end(), [&](const Growing& one) {
        return one.matrix.metric == reading.metric && one.matrix.where == where;
      });
      if (at == growing.end()) {
        at = growing.insert(growing.end(), Growing{});
        at->matrix = {reading.metric, unit_of(reading, probe), where, is_of_nodes, names_of(world, is_of_nodes), {}};
      }
      at->cells[{index_of(seen.rank), index_of(reading.peer)}].push_back(reading.summary.median);
    }
  }
  std::vector<Matrix> matrices;
  for (Growing& one : growing) matrices.push_back(finish(std::move(one)));
  return matrices;
}

}  // namespace muster
