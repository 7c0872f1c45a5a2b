/// Preloaded into ranks of MPICH 4.0 and 4.1: rank 1 spins at the start of MPI_Finalize, and the others wait for it in
/// the process manager, as with UCX (src/run/stuck_finalize.hpp).
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sched.h>

extern "C" int MPI_Finalize() {
  const char* rank = std::getenv("PMI_RANK");
  while (rank != nullptr && std::strcmp(rank, "1") == 0) ::sched_yield();
  auto* real = reinterpret_cast<int (*)()>(::dlsym(RTLD_NEXT, "MPI_Finalize"));
  return real();
}
