/// Preloaded into ranks of MPICH as libmpi_crash.so: rank 1 crashes in its MPI where it waits for the others, as UCX
/// and libfabric can when a connection is lost.
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

extern "C" int MPI_Allreduce(const void* in, void* out, int count, int type, int operation, int ranks) {
  using Function = int (*)(const void*, void*, int, int, int, int);
  static int calls = 0;
  const char* rank = std::getenv("PMI_RANK");
  // Read at run time, or a compiler could see that it is null.
  static volatile int* volatile lost = nullptr;
  if (rank != nullptr && std::strcmp(rank, "1") == 0 && ++calls == 3) *lost = 1;
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "MPI_Allreduce"))(in, out, count, type, operation, ranks);
}
