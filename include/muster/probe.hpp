/// What the author of a probe implements. docs/tutorial-first-probe.md walks through it; src/probes/hello.cpp is
/// the commented template.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/comm.hpp"
#include "muster/observation.hpp"
#include "muster/params.hpp"
#include "muster/result.hpp"
#include "muster/verdict.hpp"

namespace muster {

enum class Better : std::uint8_t { higher, lower, neither };

[[nodiscard]] std::string_view to_string(Better better);

/// A named quantity with unit and direction.
struct MetricSpec {
  std::string_view name;
  std::string_view unit;  ///< `GB/s` (10^9), `us`, `s`, `cores`, `1`; see docs/glossary.md
  Better better = Better::neither;
  std::string_view help;
  bool is_timing = true;   ///< not judged where timing cannot mean anything (ranks sharing a core)
  bool has_limit = false;  ///< readings may have one `<name>.capable` beside them: what the hardware can do
  /// Of a rate of errors, which is 0 where all is well: from here on it fails where it is more than ten times the
  /// median of earlier passing runs of the same item, whether a check asks for history or not. 0: of no such rate.
  double error_floor = 0;
};

/// A label that readings of this probe carry and `where` may name.
struct LabelSpec {
  std::string_view name;
  std::string_view help;
  std::string_view param =
      {};                   ///< the parameter its values come from, if any: a `where` outside of them matches nothing
  bool is_of_pair = false;  ///< determined by the pair of ranks (their link class): one matrix has all of its values
};

/// The place of a rank in the job. With --per-node a case is about one node, and these are the numbers of its ranks
/// there; `launch_rank` and `launch_size` are what the launcher gave them.
struct RankPlace {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  ///< among the ranks of this node
  int local_size = 1;  ///< ranks on this node
  int node_index = 0;  ///< 0 .. nodes-1, in the order of the lowest rank of each node
  int node_count = 1;
  std::string host;      ///< network name of the node
  int launch_rank = -1;  ///< in a launch that is larger than the case; -1: it is not
  int launch_size = 0;   ///< as above; 0: it is not

  [[nodiscard]] bool is_part_of_launch() const { return launch_size > 0; }
  /// What launchers know them as.
  [[nodiscard]] int rank_in_launch() const { return launch_size > 0 ? launch_rank : rank; }
  [[nodiscard]] int size_of_launch() const { return launch_size > 0 ? launch_size : world_size; }
  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

/// The flight recorder as a probe sees it. Each call is a few stores into mapped memory; call it freely, before
/// every step that could hang. A report of a rank that hung or died contains the last values written.
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// What this rank is about to do: `barrier`, `gather`, `send`. At most 31 characters are kept.
  virtual void step(std::string_view name) = 0;
  /// Progress within the step, counted from 0. A rank with a smaller one than its peers is behind.
  virtual void iteration(std::uint64_t index) = 0;
  /// The rank this one is about to wait for; -1: all ranks.
  virtual void peer(int rank) = 0;
  /// A child's process group, so that it can be ended with the launch; 0: none.
  virtual void child_group(int process_group) = 0;
};

/// What `prepare` may leave for `run`: memory, open files.
struct ProbeState {
  virtual ~ProbeState() = default;
};

/// The accelerators that a partition's profile promises on every node.
struct GpuExpectation {
  int count = 0;
  std::string vendor;  ///< as `gpus.vendor` of a profile names it; empty: any
  std::string name;    ///< regular expression; empty: any
  friend bool operator==(const GpuExpectation&, const GpuExpectation&) = default;
};

/// Links between two GPUs of a node, which are numbered as their compute runtime counts them.
struct GpuLinkExpectation {
  int first = 0;
  int second = 0;
  int links = 0;
  friend bool operator==(const GpuLinkExpectation&, const GpuLinkExpectation&) = default;
};

/// The network cards that a partition's profile promises on every node.
struct NicExpectation {
  int count = 0;
  std::string name;  ///< regular expression of interface or adapter: `^hsn`; empty: any
  double rate = 0;   ///< Gbit/s of each; 0: not given
  friend bool operator==(const NicExpectation&, const NicExpectation&) = default;
};

/// How a partition's profile wants ranks bound; docs/bind.md. Empty: not given.
struct BindExpectation {
  std::string policy;              ///< `gpu`, `cores`, `spread`, `compact`
  bool smt = false;                ///< all hardware threads of a core, not only the first
  std::string select;              ///< who gives each rank its GPU: `wrapper`, `map_gpu`
  std::vector<std::string> masks;  ///< that the site publishes, by local rank, as it writes them; empty: none
  bool is_far_noted = false;       ///< the site leaves ranks far from their GPUs: noted, not a fault
  friend bool operator==(const BindExpectation&, const BindExpectation&) = default;
};

/// Processors of a node according to the profile. Empty and 0: not set.
struct CpuExpectation {
  std::string architecture;  ///< `x86_64`, `aarch64`
  std::string model;         ///< regular expression
  int smt = 0;               ///< logical CPUs of a core
  int domains = 0;           ///< NUMA domains that have CPUs
  friend bool operator==(const CpuExpectation&, const CpuExpectation&) = default;
};

enum class Must : std::uint8_t {
  set,      ///< whatever its value
  unset,    ///< not even empty
  equal,    ///< set, to one of the values
  differ,   ///< not set, or to none of the values
  address,  ///< not set, or an IPv4 address of the interface `values[0]` on rank 0's node, or a name of it
};
[[nodiscard]] std::string_view to_string(Must must);

/// A variable that jobs on a system must or must not have.
struct VariableExpectation {
  std::string name;
  Must must = Must::set;
  std::vector<std::string> values;
  int nodes = 1;         ///< on fewer it does not matter
  bool is_note = false;  ///< not a fault, but reported as a note
  std::string why;       ///< what goes wrong otherwise, a sentence without a full stop
  std::string source;    ///< origin of the rule
  friend bool operator==(const VariableExpectation&, const VariableExpectation&) = default;
};

/// How a login node of the system is recognised.
struct LoginExpectation {
  std::string host;  ///< regular expression
  int gpus = 0;      ///< that it has; a node with more is none
  friend bool operator==(const LoginExpectation&, const LoginExpectation&) = default;
};

/// The partition's profile of each of its nodes, and of programs there. All empty on a system without a
/// profile.
struct ExpectedNode {
  int cores = 0;                    ///< physical cores; 0: not given
  std::vector<int> reserved_cores;  ///< logical CPUs kept for the system
  std::optional<GpuExpectation> gpus;
  std::optional<BindExpectation> bind = std::nullopt;
  std::optional<NicExpectation> nics = std::nullopt;
  std::vector<std::string> plugins = {};  ///< network plugins that must be loadable: `ofi`
  std::string plugins_from = {};          ///< what to do where they are not; a remedy
  /// Environments ([[environment]]) whose container has them; empty: the node itself has them.
  std::vector<std::string> plugins_in = {};
  std::optional<CpuExpectation> cpu = std::nullopt;
  std::vector<VariableExpectation> variables = {};
  std::optional<LoginExpectation> login = std::nullopt;
  std::vector<GpuLinkExpectation> gpu_links = {};  ///< NVLink or xGMI; pairs that are not named are not judged
  /// Why an expectation is not verified, by its key (`gpus`, `domains`, `variable NCCL_NET`): nothing fails by it.
  std::map<std::string, std::string> unverified = {};
  friend bool operator==(const ExpectedNode&, const ExpectedNode&) = default;
};
inline const ExpectedNode no_expectations{};

/// A finding that rests on the profile's `key` becomes a note where the profile marks the key as unverified.
void soften(const ExpectedNode& node, std::string_view key, Finding& finding);

struct PrepareContext {
  const Params& params;
  const RankPlace& place;
  Recorder& recorder;
  std::string_view timing_doubt = {};  ///< as CaseView: not empty, and measuring for long is a waste
  std::string_view check_folder = {};  ///< where the check file lies on the driver's node; absolute
};

struct RunContext {
  const Params& params;
  const RankPlace& place;
  Recorder& recorder;
  Comm& comm;
  ProbeState* state;                           ///< what this rank's `prepare` returned; may be nullptr
  std::string_view timing_doubt = {};          ///< as CaseView
  std::string_view check_folder = {};          ///< as PrepareContext
  const ExpectedNode& node = no_expectations;  ///< as CaseView
};

/// What the judge of a probe gets: all that was observed in one case. Pure data; safe to keep no pointer into.
struct CaseView {
  const Params& params;
  std::span<const RankPlace> ranks;              ///< index = rank
  std::span<const Observation* const> observed;  ///< index = rank; nullptr: that rank stayed silent
  const ExpectedNode& node;                      ///< what the profile promises
  std::string_view timing_doubt = {};            ///< why timing means nothing here (ranks share cores); empty: it does

  /// What the rank observed, if it measured; else nullptr.
  [[nodiscard]] const Observation* measured(std::size_t rank) const {
    const Observation* seen = rank < observed.size() ? observed[rank] : nullptr;
    return seen != nullptr && seen->state == ObservationState::measured ? seen : nullptr;
  }
};

/// The result of a probe's judge. Without a finding and without evidence a case is `unmeasured`, never `pass`.
struct ProbeJudgement {
  std::vector<Finding> findings;
  std::vector<std::string> evidence;  ///< sentences that support a pass: "8 masks are disjoint"
};

/// Local: no communication. May fail, which becomes a finding about this rank; then no rank runs.
using PrepareFunction = Result<std::unique_ptr<ProbeState>> (*)(const PrepareContext&);
/// Called on every rank after all agreed. May communicate; must take part in every collective step that the other
/// ranks take, also when something is wrong: note it in the observation and go on. Decides nothing.
using RunFunction = Result<Observation> (*)(RunContext&);
/// Pure: no clock, disk or network. Called by the driver. Only observations of state `measured` are its business;
/// silent ranks and failed ones are judged by the frame.
using JudgeFunction = ProbeJudgement (*)(const CaseView&);

/// One probe. Define `extern const ProbeSpec probe_<file name>{...};` in src/probes/<file name>.cpp; nothing else
/// needs an edit. (`extern`: a plain const has internal linkage and would be invisible to the generated table.)
struct ProbeSpec {
  std::string_view name;
  std::string_view summary;
  std::span<const ParamSpec> params = {};
  std::span<const MetricSpec> metrics = {};
  std::span<const LabelSpec> labels = {};
  PrepareFunction prepare = nullptr;
  RunFunction run = nullptr;
  JudgeFunction judge = nullptr;
  Subject subject = Subject::none;      ///< of findings of its metrics' bounds
  bool takes_declared_metrics = false;  ///< the check file declares further metrics (probe `command`)
  /// Keys of facts for the placement and device of a rank: a report keeps them for each rank.
  std::span<const std::string_view> reported_facts = {};
  /// Each rank needs at most those of its own node: where a node can't prepare, the others are measured all the same,
  /// each by itself, as with --per-node.
  bool is_about_nodes = false;
  /// It reads and judges the error counters of ports by itself: those that the frame reads around its cases are
  /// ignored.
  bool judges_link_errors = false;
};

/// Every probe that was built in, by name. Generated from the folder.
[[nodiscard]] std::span<const ProbeSpec* const> all_probes();
/// nullptr when there is none of that name.
[[nodiscard]] const ProbeSpec* find_probe(std::string_view name);

}  // namespace muster
