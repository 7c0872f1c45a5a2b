/// The GPUs that a rank can use, who of the ranks tests which, and the words that findings about them share. For all
/// probes that execute on GPUs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/gpu.hpp"
#include "device/inventory.hpp"
#include "measure/device_selection.hpp"
#include "muster/probe.hpp"

namespace muster::gpu_copy {

/// A GPU that a runtime shows to this rank.
struct SeenGpu {
  const Gpus* gpus = nullptr;
  int device = 0;
  std::string key;  ///< its UUID, else its address, and its part: the same on all ranks of the node
  int part = -1;    ///< its number among the partitions of a GPU that is divided; -1: it is whole
  int parts = 1;    ///< of that GPU

  [[nodiscard]] const GpuDevice& about() const { return gpus->devices()[static_cast<std::size_t>(device)]; }
};

struct NodeGpus {
  Inventory inventory;  ///< GPUs and libraries alone
  std::vector<GpuRuntime> runtimes;
  std::vector<SeenGpu> seen;
  std::string setting;              ///< the variable that hides every GPU from this rank; empty: none
  std::vector<Fact> unknown_parts;  ///< `part_unknown ADDRESS SEEN OF`: of NamedParts

  [[nodiscard]] const SeenGpu* find(const std::string& key) const;
  /// What the kernel knows of it; nullptr: nothing.
  [[nodiscard]] const Device* known(const SeenGpu& gpu) const;
};

/// The GPU at an address, or that of which a partition is there; nullptr: the kernel shows none.
[[nodiscard]] const Device* known_at(const Inventory& inventory, const PciAddress& address);

/// Which partition each device of AMD's runtime is: they have one address and one UUID, and follow each other as in
/// ROCR. Where KFD and the rank's variables do not show that order, they are counted as they come: right if the rank
/// sees all of a GPU.
struct NamedParts {
  std::vector<int> parts;                ///< of the devices; -1: a whole GPU
  std::map<const Device*, int> unknown;  ///< how many this rank sees, of GPUs of which it is unknown which
};
/// `of_runtime`: in the runtime's order, nullptr: a device that the kernel does not show. Pure.
[[nodiscard]] NamedParts name_parts(const std::vector<const Device*>& of_runtime, const Inventory& inventory,
                                    const gpu_mapping::Variables& variables);

/// Opens the runtimes; every call of theirs is a step of the recorder. `context` outlives the result.
[[nodiscard]] NodeGpus open_node_gpus(RunContext& context);
/// Facts from which `judge_node` knows what there was.
void add_facts(const NodeGpus& node, Observation& seen);

/// Of a rank with the fact `launches_wait`.
inline constexpr std::string_view without_gate =
    "timed without a gate: launches return only when their kernel has ended, as with CUDA_LAUNCH_BLOCKING=1, "
    "AMD_SERIALIZE_KERNEL or a debugger";

/// One GPU alone, or a copy from one to another.
struct Turn {
  int rank = 0;
  std::string gpu;  ///< key
  std::string to;   ///< key; empty: alone
  friend bool operator==(const Turn&, const Turn&) = default;
};

/// What the ranks of all nodes see; index = rank.
struct RankSight {
  int node = 0;
  int local_rank = 0;
  std::vector<std::string> keys;  ///< in the runtime's order
};

/// Each GPU is tested by one rank that sees it: its own where every rank has one, and otherwise evenly shared. Then
/// come all ordered pairs of a node that any rank sees together. Of each node, one turn after the other; nodes do
/// theirs at the same time. Pure.
struct Schedule {
  std::vector<std::vector<Turn>> nodes;  ///< by node index
  std::vector<std::size_t> apart;        ///< pairs of each node that no rank sees together

  /// The rank that tests a GPU of that node; -1: none.
  [[nodiscard]] int owner(int node, const std::string& gpu) const;
  /// The rank that reports on a GPU as a whole (`whole_of` its key): of one that is divided, that which tests the
  /// lowest of its partitions.
  [[nodiscard]] int reporting_rank(int node, const std::string& whole) const;
  [[nodiscard]] std::size_t turns() const;
};
[[nodiscard]] Schedule schedule_of(const std::vector<RankSight>& ranks, bool with_pairs);

/// Collective: the observations of all ranks.
[[nodiscard]] Result<std::vector<RankSight>> exchange_sight(RunContext& context, const NodeGpus& node);

/// The fact of a GPU that this rank tests; `tested_by` reads it.
[[nodiscard]] Fact tested_fact(const SeenGpu& gpu);
/// Its address, or its key where it has none; of a partition `0000:05:00.0/3`.
[[nodiscard]] std::string address_of(const SeenGpu& gpu);

/// Of a partition, the GPU: of `0000:05:00.0/3`, and of keys.
[[nodiscard]] std::string whole_of(const std::string& address);

/// One rank's own GPUs, by address.
struct TestedGpus {
  std::map<std::string, std::string> uuids;
  std::map<std::string, std::string> models;
  std::string only;  ///< address of the last

  /// `GPU 0000:c1:00.0 (GPU-...)`.
  [[nodiscard]] std::string operator()(const std::string& address) const;
  /// Of a GPU or one of its partitions; empty: unknown.
  [[nodiscard]] std::string model_of(const std::string& whole) const;
};
[[nodiscard]] TestedGpus tested_by(const Observation& seen);

[[nodiscard]] Finding about_gpu(const RankPlace& place, Verdict verdict, const std::string& address, std::string reason,
                                std::string remedy);
/// Takes the first word off.
[[nodiscard]] std::string take_word(std::string& text);

/// Findings of all GPU probes on nodes where they can't run: no GPU, no library, one that is unusable; of ranks
/// without a GPU beside others that have one; and of GPUs that no rank sees (judge_nodes.cpp). Returns the number of
/// GPUs that ranks tested; 0 means that there is at least one finding.
[[nodiscard]] std::size_t judge_nodes(const CaseView& view, ProbeJudgement& judgement);

}  // namespace muster::gpu_copy
