// Preloaded into ranks of any MPI: behaves as Intel's MPI does behind the launcher of another one. MPI_Init ends the
// program.
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
int MPI_Get_library_version(char* version, int* length);
int MPI_Init(int* argc, char*** argv);
}

int MPI_Get_library_version(char* version, int* length) {
  constexpr char text[] = "Intel(R) MPI Library 2021.18 for Linux* OS\n";
  std::memcpy(version, text, sizeof text);
  *length = sizeof text - 1;
  return 0;
}

int MPI_Init(int*, char***) {
  std::fputs("Abort(1090831) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Init: Unknown error class\n", stderr);
  std::exit(15);
}
