/// What the ranks of one node told, and the judgements on it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_mask.hpp"
#include "muster/probe.hpp"
#include "system/layout.hpp"

namespace muster::affinity {

struct RankMask {
  int rank = 0;
  CpuMask mask;
  CpuMask cores;                 ///< each by its lowest CPU
  CpuMask asked;                 ///< by the launch; empty: it asked for no mask
  std::string asked_by;          ///< `profile lumi`, `--bind auto`
  std::string binder;            ///< `launcher`, `options`, `agent`, `line`
  std::vector<CpuMask> threads;  ///< of the OpenMP team; empty: not measured
  std::string gpu;               ///< PCI address; empty: nobody can tell
  std::string gpu_because;
  std::string memory_policy;  ///< empty: not told
  CpuMask memory;             ///< domains that the control group allows; empty: not told
  double quota = 0;           ///< CPUs; 0: none
  std::string quota_group;
};

/// The ranks of one node.
struct NodeMasks {
  std::string host;
  std::string launcher;         ///< that started them: `srun`, `mpirun`, `mpiexec`; empty: not known
  bool is_inside_step = false;  ///< below a task that srun started
  CpuMask cpus;                 ///< of the node, as far as we may use it
  CpuMask cores;                ///< likewise, each by its lowest CPU
  CpuMask reserved;             ///< kept for the system by the profile, each with its siblings
  std::vector<RankMask> ranks;
  std::vector<std::string> gpus;  ///< addresses of those that may be used
  Layout layout;                  ///< empty: nobody told
};

using Findings = std::vector<Finding>;

/// By node; a rank without a mask is a finding.
[[nodiscard]] std::vector<NodeMasks> masks_by_node(const CaseView& view, Findings& findings);

[[nodiscard]] std::string rank_name(int rank);
/// `CPU 3`, `CPUs 3-5`, `core 0`, `NUMA domains 0-1`.
[[nodiscard]] std::string named(std::string_view word, const CpuMask& set);
[[nodiscard]] Finding about(const NodeMasks& node, std::vector<int> ranks, std::string reason, std::string remedy);
[[nodiscard]] std::vector<int> all_ranks(const NodeMasks& node);
/// `text`, and the options that would bind the ranks of this node right, where they can be told.
[[nodiscard]] std::string with_line(const CaseView& view, const NodeMasks& node, std::string text);

/// What the masks of a node are to each other. `is_last` is set when nothing further can be judged before this is
/// mended.
void judge_sharing(const CaseView& view, const NodeMasks& node, Findings& findings, bool& is_last);
/// What each mask is to the machine. What holds is added to `claims`.
void judge_asked(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_line(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_reserved(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_siblings(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_width(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_domains(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_devices(const CaseView& view, const NodeMasks& node, Findings& findings);
/// What else holds a rank back.
void judge_threads(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_quota(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_memory(const CaseView& view, const NodeMasks& node, Findings& findings);

/// Ranks whose GPU is known and is nobody else's here, with the CPUs near to it.
struct RankGpu {
  const RankMask* rank = nullptr;
  std::string address;
  std::string because;
  CpuMask near;
};
[[nodiscard]] std::vector<RankGpu> gpus_of_ranks(const CaseView& view, const NodeMasks& node);

}  // namespace muster::affinity
