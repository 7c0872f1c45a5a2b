/// The text format of Prometheus: names, labels, families of series.
/// https://prometheus.io/docs/instrumenting/exposition_formats/ and https://prometheus.io/docs/practices/naming/
#pragma once

#include <cstddef>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

/// Of a family, so many series are written; the rest is counted. A file that a metrics server reads every few seconds
/// must not grow with the size of a cluster.
inline constexpr std::size_t most_series = 5'000;

/// Lower case, digits and underscores, none of them doubled or at an end: `busbw.capable` -> `busbw_capable`,
/// `rankTime` -> `rank_time`. At most 80 characters; `unnamed` when nothing is left.
[[nodiscard]] std::string snake_case(std::string_view name);

/// The base unit of a unit that muster knows, as it stands in names, and the factor to it: GB/s -> bytes_per_second,
/// 1e9. No name for plain numbers; unknown units keep their name in snake case.
struct BaseUnit {
  std::string name;
  double factor = 1;
};
[[nodiscard]] BaseUnit base_unit(std::string_view unit);

/// In the order in which they are shown.
using SeriesLabels = std::vector<std::pair<std::string, std::string>>;

/// Series by family, written in one go: what belongs to a family must stand together.
class Exposition {
 public:
  /// `help` is a sentence; the first one of a family is kept. All families are gauges.
  /// Not finite, or a series that is there already: left out and counted.
  void add(const std::string& family, const std::string& help, const SeriesLabels& labels, double value);
  /// Families in the order in which they came.
  void write(std::ostream& out) const;
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

 private:
  struct Family {
    std::string name;
    std::string help;
    std::vector<std::pair<std::string, double>> series;  ///< labels in braces, value
    std::set<std::string> known;                         ///< of these labels
  };
  std::vector<Family> families_;
  std::map<std::string, std::size_t> index_;
  std::size_t left_out_ = 0;
};

}  // namespace muster
