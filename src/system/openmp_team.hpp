/// Where the threads of an OpenMP program would run that this process started now.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_mask.hpp"

namespace muster {

struct OpenMpTeam {
  std::string runtime;         ///< library that made it: `libgomp.so.1`
  std::vector<CpuMask> masks;  ///< that the kernel enforces on each thread, by thread number
};

/// Opens the OpenMP runtime of this node and has it start one team, according to OMP_*. All of it happens in a thread
/// of its own: with OMP_PROC_BIND a runtime binds the thread that loads it, and with it whatever that thread starts.
/// Nothing of this process is bound to a runtime at link time for the same reason. The team is gone on return.
/// Fails with kind `system` when there is no runtime.
[[nodiscard]] Result<OpenMpTeam> measure_openmp_team();

}  // namespace muster
