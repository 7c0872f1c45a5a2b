/// Readings from a program's own output: what the patterns of the parameter `metric` find, line by line.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/program_metric.hpp"
#include "muster/observation.hpp"
#include "probes/command/written.hpp"

namespace muster::program {

class PatternReadings {
 public:
  /// `metrics` as the parameter has them, `wanted`: patterns of which each must be found in a line of the output.
  /// Fails with kind `usage`, naming the parameter.
  [[nodiscard]] static Result<PatternReadings> make(const std::vector<std::string>& metrics,
                                                    const std::vector<std::string>& wanted);

  /// A line of the program's output.
  void take_line(std::string_view line);
  /// Remembers what is in the files, so that read_files() takes nothing that an earlier run wrote. Before any rank
  /// starts its program: ranks may share a file. `folder`: of the check file, which `{check}` in a name
  /// stands for.
  void note_files(std::string_view folder);
  /// After the program has ended.
  void read_files();

  /// The numbers, one reading for each metric and set of labels, in the order of the output; and the facts
  /// `bad_metric_value` (what a pattern took for a number), `unwritten` (files) and `unprinted` (patterns of `wanted`),
  /// and no_reading() of each metric with one of them.
  void deliver(Observation& seen) const;

 private:
  struct Metric {
    ProgramMetric asked;
    Pattern pattern;
    PatternGroups groups;
    FileBefore before;
  };
  struct Found {
    std::string metric;
    Labels where;
    std::vector<double> samples;
    std::string unit;
  };
  void take(const Metric& metric, std::string_view line);
  void add(const Metric& metric, Labels where, double value);
  void add_fact(const Metric& metric, const char* key, std::string what);

  std::vector<Metric> metrics_;
  std::vector<Pattern> wanted_;
  std::vector<std::string> wanted_texts_;
  std::vector<char> is_found_;  ///< index as in wanted_
  std::vector<Found> found_;
  std::map<std::pair<std::string, Labels>, std::size_t> index_;  ///< into found_
  std::vector<Fact> facts_;
  std::set<std::string> unread_;  ///< metrics with a fact
};

}  // namespace muster::program
