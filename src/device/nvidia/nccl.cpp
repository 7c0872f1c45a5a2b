// NCCL: what it is called, and what to do where it is unusable.
#include "device/collective_table.hpp"

namespace muster {

CollectiveLibrary open_nccl(const CallWatch& watch) {
  auto library = open_collective_library({"libnccl.so.2"}, "NCCL", watch);
  if (library.report.state == LibraryState::broken)
    library.remedy =
        "see which libnccl.so.2 that is (LD_LIBRARY_PATH, modules) and that it is of NCCL 2.7 or later, built for the "
        "CUDA of the node's driver";
  return library;
}

}  // namespace muster
