// Pictures: pairs of ranks, and placement of ranks.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <optional>

#include "base/files.hpp"
#include "base/text.hpp"
#include "model/matrix.hpp"
#include "reporters/common/phrases.hpp"
#include "reporters/html/parts.hpp"

namespace muster::html {

namespace {

constexpr std::size_t most_rows[] = {1024, 512};  // a screen has hardly more pixels; where there is no room, fewer
constexpr std::size_t most_fine_rows = 192;       // up to here two bytes for a value

bool is_of_pair(const std::string& label) {
  return label == "link" || label == "cpu_link";
}

Labels common_labels(const Labels& where) {
  Labels common;
  for (const auto& label : where)
    if (!is_of_pair(label.first)) common.push_back(label);
  return common;
}

/// If the file beside the report is missing: only the readings with a peer.
std::optional<Matrix> from_readings(const CaseResult& result, const MatrixFile& wanted) {
  const auto size = result.rank_rows.size();
  if (wanted.rows != "rank" || size < 2 || size > 1024) return {};
  Matrix matrix{wanted.metric, {}, wanted.where, false, {}, {}};
  for (const auto& rank : result.rank_rows) matrix.names.push_back(rank.node);
  matrix.values.assign(size * size, std::numeric_limits<float>::quiet_NaN());
  bool is_empty = true;
  for (const auto& row : result.metrics) {
    if (row.metric != wanted.metric || common_labels(row.where) != wanted.where) continue;
    matrix.unit = row.unit;
    for (const auto& one : row.readings) {
      if (one.rank < 0 || one.peer < 0 || one.summary.n == 0) continue;
      if (static_cast<std::size_t>(one.rank) >= size || static_cast<std::size_t>(one.peer) >= size) continue;
      matrix.values[static_cast<std::size_t>(one.rank) * size + static_cast<std::size_t>(one.peer)] =
          static_cast<float>(one.summary.median);
      is_empty = false;
    }
  }
  return is_empty ? std::nullopt : std::optional(std::move(matrix));
}

std::optional<Matrix> matrix_of(const PageWriter& writer, const CaseResult& result, const MatrixFile& wanted) {
  // A name that leads out of the folder is not one of ours.
  const std::filesystem::path name(wanted.file);
  const bool is_below = name.is_relative() && wanted.file.find("..") == std::string::npos;
  if (is_below && !writer.report.folder.empty()) {
    const auto bytes = read_file(std::filesystem::path(writer.report.folder) / name, std::size_t{80} << 20);
    if (bytes)
      if (auto matrix = matrix_from_file(*bytes); matrix && !matrix->names.empty()) return std::move(*matrix);
  }
  return from_readings(result, wanted);
}

/// What is timed is worse the longer it takes.
bool is_less_better(const Matrix& matrix) {
  return matrix.unit == "us" || matrix.unit == "ms" || matrix.unit == "s" || matrix.unit == "ns";
}

/// A matrix with the worst of every block of `step` x `step`: one slow node must not vanish among its neighbours.
std::vector<float> thinned(const Matrix& matrix, std::size_t step) {
  if (step == 1) return matrix.values;
  const std::size_t size = matrix.names.size();
  const std::size_t rows = (size + step - 1) / step;
  const bool less = is_less_better(matrix);
  std::vector<float> few(rows * rows, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      const float value = matrix.values[i * size + j];
      float& worst = few[i / step * rows + j / step];
      if (std::isfinite(value) && (!std::isfinite(worst) || (less ? value > worst : value < worst))) worst = value;
    }
  return few;
}

struct Levels {
  float least = std::numeric_limits<float>::infinity();
  float most = 0;
  unsigned count = 255;  ///< the highest value means: not measured
};

Levels levels_of(const std::vector<float>& values, bool is_fine) {
  Levels levels;
  if (is_fine) levels.count = 65535;
  for (const float value : values) {
    if (!std::isfinite(value) || value <= 0) continue;
    levels.least = std::min(levels.least, value);
    levels.most = std::max(levels.most, value);
  }
  return levels;
}

/// Equal steps of the logarithm: with 254 of them a range of 1 to 10 is known to 1 %.
std::string packed(const std::vector<float>& values, const Levels& levels) {
  std::string bytes;
  const double span = std::log(static_cast<double>(levels.most) / static_cast<double>(levels.least));
  for (const float value : values) {
    unsigned level = levels.count;
    if (std::isfinite(value) && value > 0) {
      const double share =
          span > 0 ? std::log(static_cast<double>(value) / static_cast<double>(levels.least)) / span : 0;
      level = static_cast<unsigned>(std::lround(share * (levels.count - 1)));
    }
    bytes += static_cast<char>(level & 0xffU);
    if (levels.count > 255) bytes += static_cast<char>(level >> 8U);
  }
  return bytes;
}

/// How many rows become one; 0: there is no room.
std::size_t take_rows(PageWriter& writer, std::size_t size) {
  for (const std::size_t most : most_rows) {
    const std::size_t step = (size + most - 1) / most;
    const std::size_t rows = (size + step - 1) / step;
    if (writer.rooms.matrices.take(300 + 5 * size + rows * rows * (size <= most_fine_rows ? 2 : 1) * 4 / 3))
      return step;
  }
  return 0;
}

/// True if it was written.
bool write_matrix(PageWriter& writer, const Matrix& matrix, const MatrixFile& file) {
  const bool is_fine = matrix.names.size() <= most_fine_rows;
  if (levels_of(matrix.values, is_fine).most <= 0) return false;
  const std::size_t step = take_rows(writer, matrix.names.size());
  if (step == 0) return false;
  const auto values = thinned(matrix, step);
  const Levels levels = levels_of(values, is_fine);
  JsonText& out = writer.out;
  out.begin_object();
  out.member("metric", matrix.metric);
  out.member("unit", matrix.unit);
  write_labels(out, matrix.where);
  out.member("rows", matrix.is_of_nodes ? "node" : "rank");
  out.member("file", file.file);
  out.member("step", step);
  out.member("size", matrix.names.size());
  out.list("nodes", matrix.names, [&](const std::string& name) { out.number(writer.nodes.find(name)); });
  out.member("least", static_cast<double>(levels.least));
  out.member("most", static_cast<double>(levels.most));
  out.member("bytes", is_fine ? 2 : 1);
  out.key("levels");
  out.raw('"' + base64(packed(values, levels)) + '"');
  out.end_object();
  return true;
}

}  // namespace

void write_matrices(PageWriter& writer, const CaseResult& result) {
  if (result.matrices.empty()) return;
  JsonText& out = writer.out;
  out.key("matrices");
  out.begin_list();
  std::size_t left_out = 0;
  for (const auto& file : result.matrices) {
    const auto matrix = matrix_of(writer, result, file);
    if (!matrix || !write_matrix(writer, *matrix, file)) ++left_out;
  }
  out.end_list();
  if (left_out > 0)
    writer.left_out.push_back(fmt::format("{} of {}: no room, or no file beside the report",
                                          counted(left_out, left_out == 1 ? "matrix" : "matrice"), title(result)));
}

void write_ranks(PageWriter& writer, const CaseResult& result) {
  const auto& ranks = result.rank_rows;
  if (ranks.empty()) return;
  Names keys;
  for (const auto& rank : ranks)
    for (const auto& fact : rank.facts) keys.of(fact.key);
  if (!writer.rooms.ranks.take(ranks.size() * 6 * (1 + keys.all().size()))) {
    writer.left_out.push_back(
        fmt::format("the placement of the {} of {}", counted(ranks.size(), "rank"), title(result)));
    return;
  }
  std::vector<std::vector<int>> columns(keys.all().size(), std::vector<int>(ranks.size(), -1));
  for (std::size_t at = 0; at < ranks.size(); ++at)
    for (const auto& fact : ranks[at].facts)
      columns[static_cast<std::size_t>(keys.find(fact.key))][at] = writer.texts.of(fact.value);
  JsonText& out = writer.out;
  out.list("rank_nodes", ranks, [&](const RankRow& rank) { out.number(writer.nodes.find(rank.node)); });
  if (columns.empty()) return;
  out.key("rank_facts");
  out.begin_object();
  for (std::size_t key = 0; key < columns.size(); ++key)
    out.list(keys.all()[key], columns[key], [&](int value) { out.number(value); });
  out.end_object();
}

}  // namespace muster::html
