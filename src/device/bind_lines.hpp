/// A placement as options to paste: for srun, for Open MPI's mpirun, for OpenMP.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/placement.hpp"
#include "muster/launcher.hpp"

namespace muster {

/// `--cpu-bind=mask_cpu:0xfe,0xfe00`.
[[nodiscard]] std::string srun_masks(const Placement& placement);
/// `--gpu-bind=map_gpu:4,5`, or `--gpu-bind=mask_gpu:0x3,0xc` for several each; empty where not every rank has a GPU.
[[nodiscard]] std::string srun_gpus(const Placement& placement);

/// `ROCR_VISIBLE_DEVICES` and the like, by GpuVendor::name; empty: not known.
[[nodiscard]] std::string_view visible_variable(std::string_view vendor);
/// What is put before the program so that each rank sees its GPU alone: `bash -c '...'`. `local_rank` is the variable
/// in which the launcher sets a rank's number on its node. Empty where not every rank has a GPU.
[[nodiscard]] std::string gpu_wrapper(const Placement& placement, std::string_view variable,
                                      std::string_view local_rank);

/// For Open MPI, a line for each rank: `rank 0=nid001 slot=1-7`. Cores are counted as hwloc does. `host` may be `+n0`,
/// the first node of the job.
[[nodiscard]] std::vector<std::string> rankfile(const Layout& layout, const Placement& placement,
                                                const std::vector<int>& ranks, std::string_view host);
/// `--map-by ppr:2:numa:PE=8 --bind-to core` where that puts every rank on just these cores; else empty: a rankfile is
/// needed.
[[nodiscard]] std::string mpirun_mapping(const NodeParts& node, const Placement& placement);

/// What a launcher is asked for one rank. `cores` are those that its CPUs touch, as hwloc counts them.
[[nodiscard]] RankBinding rank_binding(const NodeParts& node, const RankPlacement& seat);

/// A place for each core: `{1}:7`, `{48,112}:16`, `{8}:10:4`, `{1},{9},{73}`.
[[nodiscard]] std::string omp_places(const Layout& layout, const CpuMask& cpus);

}  // namespace muster
