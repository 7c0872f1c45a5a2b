/// Checks and system profiles as plain values: the contents of the TOML files, already validated.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/launcher.hpp"
#include "muster/observation.hpp"
#include "muster/params.hpp"
#include "muster/probe.hpp"

namespace muster {

/// nullptr: it has no parameter of that name.
[[nodiscard]] const ParamSpec* find_param(const ProbeSpec& probe, std::string_view name);

/// How many ranks a node gets.
struct RanksSpec {
  enum class Kind { per_node, one_per_node, one_per_core, one_per_numa, one_per_gpu };
  Kind kind = Kind::one_per_core;
  int count = 1;  ///< for per_node; for one_per_gpu: where there is no GPU, 0: one per core
  friend bool operator==(const RanksSpec&, const RanksSpec&) = default;
};

[[nodiscard]] std::string to_string(const RanksSpec& ranks);

/// A known good value. Inside the bound: value*(1+lower) <= x <= value*(1+upper); a missing side is open.
struct Reference {
  double value = 0;
  std::optional<double> lower;  ///< fraction, <= 0
  std::optional<double> upper;  ///< fraction, >= 0
  std::string unit;
  std::string source;  ///< where the figure comes from
  std::string place;   ///< file:line:column
  friend bool operator==(const Reference&, const Reference&) = default;
};

/// Fractions of what the hardware can do.
struct Limit {
  std::optional<double> at_least;
  std::optional<double> at_most;
  friend bool operator==(const Limit&, const Limit&) = default;
};

/// Like items of the same run. Modified z-score 0.6745 (x - median) / MAD (Iglewicz and Hoaglin 1993).
struct Peers {
  double max_z = 5.0;
  double mad_floor = 0.03;  ///< of the median, so that near-identical items are not outliers of each other
  int min_items = 5;
  friend bool operator==(const Peers&, const Peers&) = default;
};

/// Drift against earlier passing runs of the same node, device or link; src/stats/drift.hpp describes the method.
struct Drift {
  int min_runs = 5;
  double max_z = 3.5;
  double least = 0.05;  ///< smaller changes, as a share of the median, are not reported
  double noise = 0.03;  ///< runs are taken to differ by at least this share of the median
  friend bool operator==(const Drift&, const Drift&) = default;
};

/// What a check asks of one metric, where the labels match. Has at least one bound.
struct Expectation {
  std::string metric;
  Labels where;
  std::optional<Reference> reference;
  std::optional<Limit> limit;
  std::optional<Peers> peers;
  std::optional<Drift> history = std::nullopt;
  bool profile_reference = false;  ///< judged by the profile's references; without a match: unmeasured
  std::string place;
  friend bool operator==(const Expectation&, const Expectation&) = default;
};

/// A metric that a check declares for a program (probe `command`).
struct DeclaredMetric {
  std::string name;
  std::string unit;
  Better better = Better::neither;
  std::vector<std::string> labels = {};  ///< that its readings may have
  std::optional<double> maximum = {};    ///< what the hardware can do, in the unit; a larger number has no value
  friend bool operator==(const DeclaredMetric&, const DeclaredMetric&) = default;
};

struct Check {
  std::string name;
  std::string probe;
  std::string summary;
  std::vector<std::string> tags;
  RanksSpec ranks;
  std::string bind;          ///< `none`, `profile`, `auto`, `cores`; empty: as --bind and the profile have it
  std::string launch;        ///< the user's own launch line of its cases; empty: as `ranks` and `bind` have it
  std::string launch_place;  ///< file:line:column
  int min_nodes = 1;         ///< skipped, with this reason, on fewer
  Seconds timeout{60};
  std::map<std::string, ParamValue> params;              ///< given in the file; the rest are the probe's defaults
  std::map<std::string, std::vector<ParamValue>> sweep;  ///< one case per combination
  std::vector<Expectation> expects;
  std::vector<DeclaredMetric> metrics;
  std::string file;
  std::string place;  ///< file:line:column
  friend bool operator==(const Check&, const Check&) = default;
};

/// One reference of a profile: which check, when it applies, which metric.
struct ProfileReference {
  std::string check;
  Labels where;  ///< keys: labels and parameters of the probe, `nodes`, `ranks`, `ranks_per_node`, `binding`
  std::string metric;
  Reference reference;
  friend bool operator==(const ProfileReference&, const ProfileReference&) = default;
};

struct EnvironmentProfile {
  std::string name;
  std::vector<std::string> modules;
  Argv wrapper;                 ///< put in front of the agent; `{image}` and the like are filled by -J
  Environment env;              ///< `{local_rank}` is filled by the agent
  Argv scheduler_options = {};  ///< of jobs that use it, beside the partition's
  friend bool operator==(const EnvironmentProfile&, const EnvironmentProfile&) = default;
};

struct PartitionProfile {
  std::string name;
  bool is_default = false;  ///< used where none is named
  std::string launcher;     ///< empty: the one that is found
  Argv scheduler_options;
  std::vector<std::string> scheduler_refuses;  ///< names of options that make the batch system refuse a job
  Argv launcher_options;
  std::vector<std::string> networks;  ///< of ranks: interfaces (`hsn*`) or networks (`10.1.0.0/16`); empty: all
  int ranks_per_node = 0;  ///< unless the user chooses another number, whatever checks ask for; 0: what they ask for
  ExpectedNode node;
  std::string machine;  ///< the description of its nodes, simulation/machines/<name>.toml; empty: none
  std::vector<ProfileReference> references;
  friend bool operator==(const PartitionProfile&, const PartitionProfile&) = default;
};

/// One way to recognise a system: all that is named must hold. Never a host name alone.
struct DetectClue {
  std::string env;    ///< variable that is set
  std::string value;  ///< regular expression found in its value; empty: any
  std::string file;   ///< that is there
  std::string host;   ///< regular expression found in the host name; empty: any
  friend bool operator==(const DetectClue&, const DetectClue&) = default;
};

struct SystemProfile {
  std::string name;
  bool is_shipped = false;         ///< comes with muster
  std::vector<DetectClue> detect;  ///< any of them will do
  std::vector<EnvironmentProfile> environments;
  std::vector<PartitionProfile> partitions;
  std::string file;
  /// RankMap of the parts of references: `<place of the reference> <part>` -> file:line:column.
  std::map<std::string, std::string> places;
  friend bool operator==(const SystemProfile&, const SystemProfile&) = default;
};

}  // namespace muster
