// RCCL exports NCCL's very names: it is opened with its symbols kept to itself.
#include "device/collective_table.hpp"

namespace muster {

CollectiveLibrary open_rccl(const CallWatch& watch) {
  auto library = open_collective_library({"librccl.so.1"}, "RCCL", watch);
  if (library.report.state == LibraryState::broken)
    library.remedy =
        "see which librccl.so.1 that is (LD_LIBRARY_PATH, modules) and that it is of the same ROCm as libamdhip64";
  return library;
}

}  // namespace muster
