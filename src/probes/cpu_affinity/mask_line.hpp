/// The binding that the ranks of a node should have, as options to paste.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "system/layout.hpp"

namespace muster::affinity {

struct Wish {
  const Layout& layout;
  CpuMask usable;             ///< of the node, without what is reserved
  std::vector<CpuMask> near;  ///< of each rank of the node in their order: its GPU's CPUs; empty: near to nothing
  int cores = 0;              ///< for each rank; 0: its fair share
};

/// For each rank one hardware thread of each of its cores: near to its GPU, else spread over the NUMA domains in their
/// order, each rank inside one of them. Empty where there are fewer cores than ranks, or than wished for.
[[nodiscard]] std::vector<CpuMask> right_masks(const Wish& wish);

/// `srun --cpu-bind=mask_cpu:0xfe,0xfe00`.
[[nodiscard]] std::string srun_line(const std::vector<CpuMask>& masks);
/// For Open MPI: a mapping where one says it all, else the lines of a rankfile (`rank 0=nid001 slot=1-7`).
[[nodiscard]] std::string mpirun_line(const Wish& wish, const std::vector<CpuMask>& masks,
                                      const std::vector<int>& ranks, std::string_view host);

}  // namespace muster::affinity
