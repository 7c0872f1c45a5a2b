/// The interface that NCCL and RCCL share, and what each is called. Filled in folders of vendors; used by
/// collective_rank.cpp and collectives.cpp alone.
#pragma once

#include <climits>
#include <cstddef>
#include <string_view>

#include "device/collectives.hpp"
#include "device/gpu_table.hpp"

namespace muster {

/// Where rank 0 waits for the others. Handed over BY VALUE.
struct CollectiveId {
  char bytes[128] = {};
};

/// What a communicator is made with; the form of 2.14, which later libraries take by its size and version, as RCCL
/// does. The last number is not a member there but its padding, where later forms have a member: not set.
struct CollectiveConfig {
  std::size_t size = 24;
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
  int not_set = INT_MIN;
};
static_assert(sizeof(CollectiveConfig) == 24);

struct CollectiveTable {
  std::string label;  ///< `NCCL 2.21.5`
  VendorCall<CollectiveId*> new_id;
  VendorCall<void**, int, CollectiveId, int> init;
  VendorCall<void**, int, CollectiveId, int, CollectiveConfig*> meet;  ///< may be absent, as may finalize
  VendorCall<void*> finalize;
  VendorCall<void*, int*> async_error;
  VendorCall<void*> abort, destroy;
  VendorCall<const void*, void*, std::size_t, int, int, void*, void*> all_reduce;
  VendorCall<const void*, std::size_t, int, int, void*, void*> send;
  VendorCall<void*, std::size_t, int, int, void*, void*> receive;
  VendorCall<> group_start, group_end;
  const char* (*words)(int) = nullptr;
  const char* (*last_error)(void*) = nullptr;  ///< nullptr: before 2.13
};

/// The first of `names` that is there.
[[nodiscard]] CollectiveLibrary open_collective_library(std::initializer_list<const char*> names,
                                                        std::string_view label, const CallWatch& watch);
/// 22105 -> `2.21.5`, 2804 -> `2.8.4`.
[[nodiscard]] std::string version_of_collectives(int code);

[[nodiscard]] CollectiveLibrary open_nccl(const CallWatch& watch);
[[nodiscard]] CollectiveLibrary open_rccl(const CallWatch& watch);

}  // namespace muster
