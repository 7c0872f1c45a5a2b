/// What is kept of a run when its folder is gone: verdicts by node, values by node, device and link, and provenance.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/item.hpp"
#include "muster/report.hpp"
#include "muster/result.hpp"

namespace muster {

/// What a value may be used for.
enum class ValueUse : std::uint8_t {
  basis,    ///< of a pass: later runs are compared with it
  outside,  ///< measured, but what it belongs to did not pass
  untimed,  ///< ranks shared cores or the machine was simulated: shown, and compared with nothing
};
[[nodiscard]] std::string_view to_string(ValueUse use);

/// What values over time belong to: equal here means that they may be compared.
struct SeriesKey {
  std::string case_id;  ///< without the node of --per-node
  std::string shape;    ///< `4 ranks per node`; of what all ranks do together `8 ranks on 2 nodes`
  std::string simulated;
  std::string metric;
  Labels where;  ///< without those that distinguish devices
  MeasuredItem item;
  friend auto operator<=>(const SeriesKey&, const SeriesKey&) = default;
};

/// Of the same item wherever it is.
[[nodiscard]] SeriesKey without_nodes(SeriesKey key);
/// Whether it depends on nothing but CPUs and memory of one node: not on a device, nor on a network.
[[nodiscard]] bool is_of_cpus(const SeriesKey& key);

/// One value in one run: the readings of all ranks of its item, folded into one.
struct PastValue {
  SeriesKey key;
  std::string unit;
  int better = 0;            ///< 1: higher is, -1: lower is, 0: neither, or unknown
  double value = 0;          ///< median over the readings' medians
  double spread = 0;         ///< their MAD, unscaled; 0 of a single one
  int readings = 1;          ///< ranks, or pairs of ranks
  std::int64_t samples = 0;  ///< of all readings
  double noise = 0;          ///< median over the readings' own MADs, unscaled
  ValueUse use = ValueUse::basis;
  friend bool operator==(const PastValue&, const PastValue&) = default;
};

struct NodeVerdict {
  std::string node;
  Verdict verdict = Verdict::unmeasured;
  friend bool operator==(const NodeVerdict&, const NodeVerdict&) = default;
};

/// A metric of an item of which all samples were disturbed: it was measured, and has no value.
struct DisturbedItem {
  std::string metric;
  std::string item;
  friend auto operator<=>(const DisturbedItem&, const DisturbedItem&) = default;
};

struct PastCase {
  std::string id;
  std::string check;
  Verdict verdict = Verdict::unmeasured;
  std::string reason;
  int nodes = 0;
  int ranks = 0;
  std::vector<NodeVerdict> on_nodes;
  std::vector<std::string> devices;           ///< UUIDs that its failing findings blame
  std::vector<DisturbedItem> disturbed = {};  ///< each once, sorted
  friend bool operator==(const PastCase&, const PastCase&) = default;
};

struct PastRun {
  std::string run_id;
  std::string started;  ///< RFC 3339, UTC
  double seconds = 0;
  std::string host;
  std::string user;
  std::string system;
  std::string muster_version;
  Argv command_line;
  std::string folder;
  Verdict verdict = Verdict::unmeasured;
  int exit_status = 2;
  std::string interrupted;
  std::string simulated;
  std::string skipped;  ///< why nothing was run at all; empty: it was
  std::vector<NodeProvenance> nodes;
  std::vector<PastCase> cases;
  std::vector<PastValue> values;
  friend bool operator==(const PastRun&, const PastRun&) = default;
};

/// Nodes that are virtual machines (fact `hypervisor`): a hypervisor chooses where their CPUs run, on two threads of a
/// core, on two cores or on two sockets, anew in each run or within one.
[[nodiscard]] std::set<std::string> virtual_nodes(const PastRun& run);

/// Something done to a node because of what was found.
struct NodeAction {
  std::string time;  ///< RFC 3339, UTC
  std::string node;
  std::string action;   ///< `drain`, `resume`
  std::string reason;   ///< as the scheduler was given it
  std::string owner;    ///< tag by which muster knows its own
  std::string outcome;  ///< `done`, or what went wrong; `dry run`
  std::string run_id;   ///< of the run that it follows from; may be empty
  friend bool operator==(const NodeAction&, const NodeAction&) = default;
};

/// One line of an export each. Texts become printable.
[[nodiscard]] nlohmann::json to_json(const PastRun& run);
[[nodiscard]] Result<PastRun> past_run_from_json(const nlohmann::json& json);
[[nodiscard]] nlohmann::json to_json(const PastCase& one);
[[nodiscard]] Result<PastCase> past_case_from_json(const nlohmann::json& json);
[[nodiscard]] nlohmann::json to_json(const NodeAction& action);
[[nodiscard]] Result<NodeAction> node_action_from_json(const nlohmann::json& json);

}  // namespace muster
