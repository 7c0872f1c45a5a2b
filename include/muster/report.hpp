/// The run report: the one value that every report format is drawn from. Published as reports/schema/report-1.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muster/launcher.hpp"
#include "muster/observation.hpp"
#include "muster/verdict.hpp"

namespace muster {

/// Which bound was applied; see docs/glossary.md.
enum class BoundKind : std::uint8_t { reference, limit, peers, history };

[[nodiscard]] std::string_view to_string(BoundKind kind);

/// One bound against one value.
struct BoundOutcome {
  BoundKind kind = BoundKind::reference;
  Verdict verdict = Verdict::unmeasured;  ///< pass, fail or unmeasured
  std::optional<double> least;            ///< lowest value inside the bound, in the metric's unit
  std::optional<double> most;             ///< highest
  std::string text;                       ///< `reference 150.0 -10 % (checks/systems/lumi.toml:31)`
  friend bool operator==(const BoundOutcome&, const BoundOutcome&) = default;
};

/// One reading of one rank that is not a pass, in full.
struct Item {
  std::string metric;
  std::string unit;
  Labels where;
  int rank = -1;
  int peer = -1;
  std::string node;
  Summary summary;
  Verdict verdict = Verdict::unmeasured;
  std::vector<BoundOutcome> bounds;
  friend bool operator==(const Item&, const Item&) = default;
};

/// One reading of one rank, of the metric, unit and labels of the row that lists it.
struct RankReading {
  int rank = -1;
  int peer = -1;  ///< the other rank of a link; -1: none
  Summary summary;
  Verdict verdict = Verdict::skip;  ///< by the row's bounds; skip: reported, not judged
  friend bool operator==(const RankReading&, const RankReading&) = default;
};

/// All readings of one metric and one set of labels in a case, over ranks (or over the ranks of one node).
/// `over` summarises the ranks' medians.
struct MetricRow {
  std::string metric;
  std::string unit;
  Labels where;
  std::string node;     ///< empty: the whole case
  Summary over;         ///< n = readings
  int worst_rank = -1;  ///< the rank with the value furthest in the bad direction; -1: no direction
  int judged = 0;       ///< readings that a bound was applied to
  int passed = 0;
  std::string bound;  ///< text of the bounds; empty when reported only, and in rows of a node
  /// The bounds as numbers, `verdict` being the worst of all readings, an end only where it is the same for all of
  /// them. Empty when reported only, and in rows of a node.
  std::vector<BoundOutcome> bounds = {};
  /// By node, rank and peer. Empty in rows of a node, and in a case with more than most_listed_readings.
  std::vector<RankReading> readings = {};
  friend bool operator==(const MetricRow&, const MetricRow&) = default;
};

/// What one node did in a case.
struct NodeRow {
  std::string node;
  int ranks = 0;
  Verdict verdict = Verdict::unmeasured;
  std::vector<MetricRow> metrics;
  friend bool operator==(const NodeRow&, const NodeRow&) = default;
};

/// Where a rank of a case stood, and on what: the facts that the probe's `reported_facts` names, sorted by key. Values
/// of a key that it gave several times are joined with `; `.
struct RankRow {
  int rank = -1;
  std::string node;
  std::vector<Fact> facts;
  friend bool operator==(const RankRow&, const RankRow&) = default;
};

/// Beyond so many readings a case has them in its rows only, summed up by node and over all.
inline constexpr std::size_t most_listed_readings = 10'000;
/// Beyond this number of ranks a case does not contain the placement of each.
inline constexpr std::size_t most_listed_ranks = 10'000;

/// The tail of what a rank's program printed; untrusted text, already printable.
struct RankOutput {
  int rank = -1;
  std::string node;
  std::string text;
  friend bool operator==(const RankOutput&, const RankOutput&) = default;
};

/// One repetition of a case.
struct Repetition {
  int index = 1;
  Verdict verdict = Verdict::unmeasured;
  std::string reason;
  double seconds = 0;
  int launch = -1;  ///< index into RunReport::launches; -1: never launched
  friend bool operator==(const Repetition&, const Repetition&) = default;
};

/// A file beside the report with every reading of a metric between pairs: src/evaluate/matrices.hpp has its form.
struct MatrixFile {
  std::string metric;
  Labels where;
  std::string rows;  ///< what a row and a column stand for: `rank` or `node`
  int size = 0;      ///< rows, and columns
  std::string file;  ///< below the run folder
  friend bool operator==(const MatrixFile&, const MatrixFile&) = default;
};

struct CaseResult {
  std::string id;  ///< stable, short: `hello%3f2a9c1d`
  std::string check;
  std::string probe;
  std::string summary;  ///< of the check
  std::string place;    ///< file:line:column of the check
  std::vector<std::string> tags;
  std::vector<std::pair<std::string, std::string>> params;
  std::vector<std::string> swept;  ///< names of the swept params, which distinguish this case from its siblings
  std::string system;
  std::string partition;
  std::string environment;
  int nodes = 0;
  int ranks = 0;
  std::string node = {};  ///< with --per-node: the one that the case is about; empty: all of the launch

  Verdict verdict = Verdict::unmeasured;
  std::string reason;  ///< of the verdict: the first finding's, or the evidence for a pass
  std::vector<Culprit> culprits;
  std::string remedy;
  std::string follows;            ///< id of the case that explains all that is wrong here; empty: stands for itself
  std::vector<Finding> findings;  ///< all of them, causes before consequences
  std::vector<std::string> evidence;
  std::vector<std::string> notes;  ///< `timing not judged: 16 ranks share 2 cores`
  Argv rerun;                      ///< the command that runs just this case again

  std::vector<MetricRow> metrics;
  std::vector<NodeRow> node_rows;
  std::vector<RankRow> rank_rows;  ///< index = rank; empty beyond most_listed_ranks
  std::vector<Item> items;         ///< everything that is not a pass
  std::vector<RankOutput> outputs;
  std::vector<MatrixFile> matrices;
  std::vector<Repetition> repetitions;
  double seconds = 0;  ///< of the representative repetition (the worst, then the first)
  friend bool operator==(const CaseResult&, const CaseResult&) = default;
};

/// Where and with what a node took part. Facts are keyed (`kernel`, `cpu`, `cores`, `memory`, `mpi`,
/// `env.OMP_NUM_THREADS`).
struct NodeProvenance {
  std::string node;
  std::vector<Fact> facts;
  friend bool operator==(const NodeProvenance&, const NodeProvenance&) = default;
};

struct LaunchRecord {
  std::string launcher;  ///< name and banner
  Argv argv;
  std::vector<std::string> nodes;
  int ranks = 0;
  double seconds = 0;
  std::string outcome;  ///< `finished`, or a sentence about how it ended
  std::vector<std::string> cases;
  friend bool operator==(const LaunchRecord&, const LaunchRecord&) = default;
};

struct RunReport {
  static constexpr int schema_version = 1;
  std::string run_id;
  std::string muster_version;
  std::string started;  ///< RFC 3339, UTC
  double seconds = 0;
  Argv command_line;
  std::string host;  ///< where the driver ran
  std::string user;
  std::string system;
  std::string system_place;  ///< file of the profile
  std::string folder;        ///< run folder; empty when the report is not from a folder
  Verdict verdict = Verdict::unmeasured;
  int exit_status = 2;
  std::string interrupted;             ///< `SIGINT`, or empty
  std::string simulated;               ///< machines that nodes only pretended to be: `lumi-g`; empty: all were real
  std::vector<Fact> variables;         ///< MUSTER_* in the environment of the driver, sorted by name; as root, HOME and
                                       ///< PATH where they led to places of other users
  std::vector<std::string> notes;      ///< what concerns the run as a whole: disk full, nodes lost
  std::vector<std::string> unwritten;  ///< reports that could not be written, with the reason; in no report file
  std::vector<NodeProvenance> nodes;
  std::vector<LaunchRecord> launches;
  std::vector<CaseResult> cases;
  friend bool operator==(const RunReport&, const RunReport&) = default;
};

/// The machines that the participating nodes simulated, joined; empty: all were real.
[[nodiscard]] std::string simulated_by(const std::vector<NodeProvenance>& nodes);

/// Cases per verdict, in the order of Verdict.
struct Tally {
  int counts[5] = {};
  [[nodiscard]] int of(Verdict verdict) const { return counts[static_cast<int>(verdict)]; }
  [[nodiscard]] int total() const { return counts[0] + counts[1] + counts[2] + counts[3] + counts[4]; }
};

[[nodiscard]] Tally tally(const std::vector<CaseResult>& cases);
/// 0 all pass (at least one, skips aside) · 1 some fail · 2 some error or unmeasured, or nothing but skips.
[[nodiscard]] int exit_status(const std::vector<CaseResult>& cases);

}  // namespace muster
