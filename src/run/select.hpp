/// From checks and options to a plan. Pure, apart from the contents of `Site`.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/plan.hpp"

namespace muster {

struct SelectOptions {
  std::vector<std::string> names;  ///< -n: regular expressions; a case matches when any does (on check name or case id)
  std::vector<std::string> tags;   ///< -t: a case has all of them
  std::string or_tag;              ///< cases with this tag are chosen, too; empty: none
  std::vector<std::string> excludes;  ///< -x: regular expressions on name, id
  std::vector<std::string> settings;  ///< -S check.param=value; check may be `*`
  bool default_only = false;  ///< no paths were given: only checks tagged `default`, unless -n or -t choose others
  std::string system;         ///< NAME[:PARTITION]; empty: found
  std::string environment;
  std::optional<int> ranks_per_node;
  std::string launch;  ///< line of --launch, in place of those of the checks; empty: theirs
  std::optional<Seconds> timeout;
  int repeat = 1;
  bool per_node = false;  ///< one case for each node, of that node alone; all of them in one launch
  std::vector<std::string>
      rerun_prefix;  ///< what the rerun command starts with: muster run, its paths and site options
};

/// What the binding of a launch depends on.
struct BindRequest {
  std::string binding;  ///< Check::bind
  RanksSpec ranks;
  int ranks_per_node = 1;
  bool is_for_line = false;  ///< what `muster bind` would write beside a line of the user's own
};

/// What a line of the user's own starts.
struct LineWorld {
  std::vector<std::string> nodes;
  int ranks_per_node = 1;
  std::optional<Finding> unable;  ///< why nothing started
};

/// What is known of where the launches will go.
struct Site {
  std::string launcher;              ///< name
  std::string launcher_why;          ///< why it was taken although it can do less than others; empty: it was asked for
  int launcher_most_ranks = 0;       ///< 0: any
  std::vector<std::string> nodes;    ///< empty: this machine
  std::string host;                  ///< this machine's name, for cases of one node
  int cores = 1;                     ///< per node: physical cores we may use
  int cpus_per_core = 1;             ///< as the scheduler counts CPUs
  bool one_thread_per_core = false;  ///< the site's pages leave the other hardware threads alone
  bool is_part_of_node = false;      ///< the job has fewer CPUs of a node than `cores`
  int simulated_ranks = 0;  ///< ranks of a node that a simulated machine is described with; 0: the node is real
  int numa_domains = 1;
  int gpus = 0;
  std::optional<int> tasks_per_node;  ///< that the allocation was made for
  /// How the ranks of a launch are bound; empty: the default. Fails with kind `usage` where the check asks for what the
  /// profile does not have. docs/bind.md
  std::function<Result<JobBinding>(const BindRequest&)> bind;
  std::map<std::string, LineWorld> lines = {};  ///< by JobShape::line; one that is missing was not started yet
};

/// The checks that names, tags and excludes leave, in file order; for `muster list`. An empty set is an error as in
/// make_plan. (A name that only matches a case id selects nothing here.)
[[nodiscard]] Result<std::vector<const Check*>> select_checks(const std::vector<Check>& checks,
                                                              const SelectOptions& options);

/// Cases in file order, launches by shape. Fails with kind `usage` for an empty selection, a bad regular
/// expression, an unknown check, parameter or value in a setting, an unknown system, partition or environment; with
/// per_node when all that is chosen needs several nodes together.
[[nodiscard]] Result<Plan> make_plan(const std::vector<Check>& checks, const SystemProfile& system,
                                     const SelectOptions& options, const Site& site,
                                     std::span<const ProbeSpec* const> probes);

}  // namespace muster
