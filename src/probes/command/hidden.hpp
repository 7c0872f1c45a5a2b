/// Variables of the rank that its program does not get.
#pragma once

#include <string>
#include <vector>

namespace muster::program {

/// Names in our environment: what would let the program speak for the rank; what a torchrun left, whose store is not
/// there; and for a launcher (mpirun, mpiexec, srun), which starts ranks of its own, what the launcher of our ranks
/// set.
[[nodiscard]] std::vector<std::string> hidden_from(const std::string& program);

}  // namespace muster::program
