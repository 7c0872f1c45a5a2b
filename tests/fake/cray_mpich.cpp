// Preloaded into ranks of any MPICH: behaves as Cray's does where nobody linked its GPU transport library. Asked for
// messages from GPU memory, MPI_Init ends the program. CRAY_GTL=FILE opens such a library first.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

extern "C" {
int PMPI_Init(int* argc, char*** argv);
int MPI_Init(int* argc, char*** argv);
int MPI_Get_library_version(char* version, int* length);
}

namespace {

[[gnu::constructor]] void open_transport() {
  if (const char* file = std::getenv("CRAY_GTL"); file != nullptr && ::dlopen(file, RTLD_NOW) == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::abort();
  }
}

}  // namespace

int MPI_Get_library_version(char* version, int* length) {
  constexpr char text[] = "MPI VERSION    : CRAY MPICH version 8.1.27.26 (ANL base 3.4a2)\nMPI BUILD INFO : none";
  std::memcpy(version, text, sizeof text);
  *length = sizeof text - 1;
  return 0;
}

int MPI_Init(int* argc, char*** argv) {
  const char* asked = std::getenv("MPICH_GPU_SUPPORT_ENABLED");
  if (asked != nullptr && std::strcmp(asked, "1") == 0 && std::getenv("CRAY_GTL") == nullptr) {
    std::fputs("MPICH_GPU_SUPPORT_ENABLED is set, and there is no GPU transport library\n", stderr);
    std::abort();
  }
  return PMPI_Init(argc, argv);
}
