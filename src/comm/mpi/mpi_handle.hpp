/// What the files of this folder share; includes <mpi.h>.
#pragma once

#include <mpi.h>
#include <vector>

#include "comm/mpi/mpi_comm.hpp"

namespace muster {

struct MpiComm::Handle {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<MPI_Request> requests;  ///< of streams: kept, so that no timed part asks for memory
  /// Ranks share cores, and this MPI keeps a core while it waits: it sleeps between looks instead.
  bool is_patient = false;

  /// Starts an operation and waits for its end; an MPI return code.
  template <class Start>
  [[nodiscard]] int patiently(Start start) const {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(&request);
    return code == MPI_SUCCESS ? wait_asleep(&request) : code;
  }

  /// Waits for the end of an operation that may take minutes: awake for 1 ms, then with pauses of a twentieth of the
  /// time so far, at most 1 ms each. An MPI return code.
  [[nodiscard]] static int wait_awake_then_asleep(MPI_Request* request);

 private:
  static int wait_asleep(MPI_Request* request);
};

/// Whether the driver has more ranks on a node than it has cores, and this MPI does not yield them (MPICH, Intel MPI).
[[nodiscard]] bool must_be_patient();

/// The error value of an MPI return code; `function` is the place.
[[nodiscard]] Result<void> checked(int code, const char* function);

}  // namespace muster
