/// What the files of this folder share; includes <mpi.h>.
#pragma once

#include <mpi.h>

#include "comm/mpi/mpi_comm.hpp"

namespace muster {

struct MpiComm::Handle {
  MPI_Comm comm = MPI_COMM_NULL;
};

/// The error value of an MPI return code; `function` says where.
[[nodiscard]] Result<void> checked(int code, const char* function);

}  // namespace muster
