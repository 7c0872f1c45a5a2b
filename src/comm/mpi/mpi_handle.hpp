/// What the files of this folder share; includes <mpi.h>.
#pragma once

#include <mpi.h>
#include <vector>

#include "comm/mpi/mpi_comm.hpp"

namespace muster {

struct MpiComm::Handle {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<MPI_Request> requests;  ///< of streams: kept, so that no timed part asks for memory
};

/// The error value of an MPI return code; `function` is the place.
[[nodiscard]] Result<void> checked(int code, const char* function);

}  // namespace muster
