/// The reports of the ranks of one node, and the judgements on them. Pure.
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
  std::string asked_for;         ///< instead of masks: `--bind none`, `--bind cores`; empty: masks, or the default
  std::string nic_policy;        ///< MPICH_OFI_NIC_POLICY; empty: not set
  std::vector<CpuMask> threads;  ///< of the OpenMP team; empty: not measured
  std::string gpu;               ///< PCI address; empty: unknown
  std::string gpu_because;
  std::string memory_policy;  ///< empty: unknown
  CpuMask memory;             ///< domains that the control group allows; empty: unknown
  double quota = 0;           ///< CPUs; 0: none
  std::string quota_group;
};

/// The ranks of one node.
struct NodeMasks {
  std::string host;
  std::string launcher;         ///< that started them, as launcher_of_rank() names it; empty: not known
  bool is_inside_step = false;  ///< below a task that srun started
  CpuMask cpus;                 ///< of the node, as far as we may use it
  CpuMask cores;                ///< likewise, each by its lowest CPU
  CpuMask reserved;             ///< kept for the system by the profile, each with its siblings
  std::vector<RankMask> ranks;
  std::vector<std::string> gpus;  ///< addresses of those that may be used
  Layout layout;                  ///< empty: unknown
};

using Findings = std::vector<Finding>;

/// By node; a rank without a mask is a finding.
[[nodiscard]] std::vector<NodeMasks> masks_by_node(const CaseView& view, Findings& findings);

[[nodiscard]] std::string rank_name(int rank);
/// `CPU 3`, `CPUs 3-5`, `core 0`, `NUMA domains 0-1`.
[[nodiscard]] std::string named(std::string_view word, const CpuMask& set);
[[nodiscard]] Finding about(const NodeMasks& node, std::vector<int> ranks, std::string reason, std::string remedy);
[[nodiscard]] std::vector<int> all_ranks(const NodeMasks& node);
/// `text`, an imperative, behind what the user has to change where it is the user's own choice (`remove --bind none`),
/// and before the options that would bind the ranks of this node right, where they are known.
[[nodiscard]] std::string with_line(const CaseView& view, const NodeMasks& node, std::string text);

/// What the masks of a node are to each other. `is_last` is set when nothing further can be judged before this is
/// mended.
void judge_sharing(const CaseView& view, const NodeMasks& node, Findings& findings, bool& is_last);
/// What each mask is to the machine. What holds is added to `claims`.
void judge_asked(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_line(const CaseView& view, const NodeMasks& node, Findings& findings);
/// Ranks that a launch line gives less than half of the cores of the profile.
void judge_starved(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_reserved(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_siblings(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_width(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_domains(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_devices(const CaseView& view, const NodeMasks& node, Findings& findings);
/// What else holds a rank back.
void judge_threads(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_quota(const CaseView& view, const NodeMasks& node, Findings& findings);
void judge_memory(const CaseView& view, const NodeMasks& node, Findings& findings);

struct RankGpu {
  const RankMask* rank = nullptr;
  std::string address;
  std::string because;
  CpuMask near;  ///< CPUs near to it; not empty
};
/// Ranks whose GPU is known and is that of no other rank here: by the variables of the environment; without any, and
/// with as many usable GPUs on the node as ranks, GPU i of rank i.
[[nodiscard]] std::vector<RankGpu> gpus_of_ranks(const NodeMasks& node);
/// The GPU that rank i has if it takes GPU i, on a node with more GPUs than ranks and no variable that chooses among
/// them. A rank may as well use several.
[[nodiscard]] std::vector<RankGpu> first_gpus(const NodeMasks& node);

}  // namespace muster::affinity
