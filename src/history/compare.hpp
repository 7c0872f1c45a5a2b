/// Two runs, before and after: what became worse, what became better, what is another thing now. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/past_run.hpp"

namespace muster {

struct VerdictChange {
  std::string case_id;
  std::string check;
  Verdict before = Verdict::unmeasured;
  Verdict after = Verdict::unmeasured;
  std::string reason;              ///< of the later one
  std::vector<std::string> nodes;  ///< whose own verdict changed the same way; the worst first
  bool is_worse = false;
  bool is_less_known = false;  ///< it passed and is unmeasured now: no evidence that it got worse
};

/// Values of one metric, in one check, that moved the same way.
struct MetricChange {
  SeriesKey key;  ///< of the one that moved furthest
  std::string unit;
  std::string subject;  ///< `nid003`, `links of nid003`
  int moved = 1;
  int measured = 1;   ///< of that subject, or in all
  double before = 0;  ///< medians over those that moved
  double after = 0;
  double share = 0;  ///< after / before - 1, of the medians
  bool is_worse = false;
  std::vector<std::string> items;  ///< the furthest first
};

struct FactChange {
  std::string key;     ///< `driver.mlx5_core`
  std::string before;  ///< empty: unknown
  std::string after;
  std::vector<std::string> nodes;
};

/// A metric that one run has of things of which the other has none, though both ran the case, in a job of as many
/// ranks per node, and have their nodes.
struct OneSided {
  std::string case_id;
  std::string metric;
  std::vector<std::string> items;
  bool is_worse = false;       ///< it has gone though the case passed; otherwise its verdict is more informative
  bool is_less_known = false;  ///< it has gone because its samples were disturbed
};

/// A metric of the same things, measured as something else: `link=pcie` where it was `link=nvlink`.
struct Relabelled {
  std::string case_id;
  std::string metric;
  Labels before;
  Labels after;
  std::vector<std::string> items;
};

struct Comparison {
  std::vector<VerdictChange> verdicts;
  std::vector<MetricChange> metrics;
  std::vector<FactChange> facts;
  std::vector<std::string> nodes_gone;
  std::vector<std::string> nodes_new;
  std::vector<std::string> devices_gone;
  std::vector<std::string> devices_new;
  std::vector<std::string> only_before;  ///< ids of cases
  std::vector<std::string> only_after;
  std::vector<OneSided> values_gone;  ///< not measured any more
  std::vector<OneSided> values_new;
  std::vector<Relabelled> relabelled;
  std::vector<std::string> virtual_nodes;  ///< virtual machines whose CPUs or memory got worse: the CPUs may have moved
  int compared = 0;                        ///< values that both runs have
  int with_past = 0;                       ///< of these: their spread from run to run is known by earlier runs
  double seen_from = 0;       ///< detection limit: any is reported if it is worse by this share; 0: none has a bad side
  double half_seen_from = 0;  ///< the same for half of them
  int as_often = 0;           ///< worse than in the earlier run, but as in a sixth of the runs before it or more, or on
                              ///< a virtual machine as in one of them
  int untimed = 0;            ///< of both, and not compared: times that mean nothing
  int without_share = 0;      ///< of both, different, and one of them 0 or below
  int one_sided = 0;          ///< of things that were compared by other labels of the same metric
  int other_shape = 0;        ///< of the earlier run, from jobs that had another shape later
  int other_machine = 0;      ///< of the earlier run, when one of the two was on a simulated machine, or both on two
  std::string shape_before;   ///< of the first such job, `2 ranks on 1 node`
  std::string shape_after;

  [[nodiscard]] bool is_worse() const;
  [[nodiscard]] bool is_empty() const;
};

/// How far a value scatters from run to run, by earlier passing runs.
struct RunSpread {
  double deviation = 0;             ///< standard deviation, as a share of the value
  int runs = 0;                     ///< that it was found from, two or more
  std::vector<double> values = {};  ///< of these runs, and of earlier ones before them; empty: not known
};
/// Without nodes in the keys.
using RunNoise = std::map<SeriesKey, RunSpread>;

/// A value has moved when the logarithm of after / before is further from 0 than chance takes one value or more in a
/// hundred comparisons of two runs (Bonferroni): the confidence intervals of both medians, by their samples and MADs,
/// and what runs differ by anyway. That is known from `noise`, where each variance is shrunk to the median of all by
/// 10 degrees of freedom and the bound is that of Student's t; else it is how far like values (same metric and labels,
/// six at least) scatter between the two runs; and never below 1 % where `noise` has it, 3 % elsewhere. Changes below
/// 5 % are left out, and so is what got worse but is nearer to a sixth of the values in `noise`, or more, than the
/// value before is: a value that is often like that, as where it has two levels, has not changed. On a virtual machine
/// (fact `hypervisor` of the later run) one value in `noise` is enough: where its CPUs run is chosen by its hypervisor,
/// so that exchange between them and memory have levels. Times count as 0.05 us at least: below that a clock read is
/// what differs.
[[nodiscard]] Comparison compare(const PastRun& before, const PastRun& after, const RunNoise& noise = {});

}  // namespace muster
