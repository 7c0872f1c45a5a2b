/// What will run: cases, and the launches they share. A value; `muster plan` prints it.
#pragma once

#include <string>
#include <vector>

#include "model/check.hpp"

namespace muster {

/// A check on a partition with parameter values. Everything a verdict needs beside the observations.
struct Case {
  std::string id;  ///< `<check>%<8 hex>`, stable over runs: a hash of check, system, partition, environment, params
  std::string check;
  std::string probe;
  std::string summary;
  std::vector<std::string> tags;
  std::string file;
  std::string place;
  Params params;                   ///< complete
  std::vector<std::string> swept;  ///< names of the swept parameters, which distinguish this case from its siblings
  Seconds timeout;
  std::vector<Expectation> expects;
  std::vector<DeclaredMetric> metrics;
  std::vector<ProfileReference> references;  ///< those of the partition that name this check
  std::string system;
  std::string partition;
  std::string environment;
  RanksSpec ranks;
  std::string bind;  ///< as in Check
  int min_nodes = 1;
  ExpectedNode node;
  JobShape shape;    ///< of a case that is about one node: that node
  std::string host;  ///< with --per-node: the node that it is about, which ends its id; empty: all of the launch
  Argv rerun;
  /// Set when the case can't be launched at all (skip or error); it is reported and never started.
  std::vector<Finding> unable;
  friend bool operator==(const Case&, const Case&) = default;
};

/// The id that the cases of all nodes have in common with --per-node: `hello%3f2a9c1d` of `hello%3f2a9c1d@nid003`.
[[nodiscard]] inline std::string common_id(const Case& item) {
  return item.host.empty() ? item.id : item.id.substr(0, item.id.size() - item.host.size() - 1);
}

/// One repetition of one case in a launch.
struct WorkItem {
  int case_index = 0;  ///< into Plan::cases
  int repetition = 1;  ///< from 1
  friend bool operator==(const WorkItem&, const WorkItem&) = default;
};

struct PlannedLaunch {
  JobShape shape;
  std::vector<WorkItem> items;
  friend bool operator==(const PlannedLaunch&, const PlannedLaunch&) = default;
};

struct Plan {
  std::string system;
  std::string system_file;
  std::string launcher;  ///< name of the launcher used for all launches
  std::vector<Case> cases;
  std::vector<PlannedLaunch> launches;
  int repeat = 1;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The `MetricSpec` facts of a metric of a case, be it the probe's or declared by the check.
struct MetricFacts {
  std::string unit;
  Better better = Better::neither;
  bool is_timing = true;
  double error_floor = 0;  ///< as in MetricSpec
};
/// nullopt when neither the probe nor the check knows the metric.
[[nodiscard]] std::optional<MetricFacts> metric_facts(const Case& item, const ProbeSpec& probe,
                                                      std::string_view metric);

}  // namespace muster
