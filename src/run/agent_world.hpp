/// How the ranks of a launch get to know each other: who is where, and whether timing can mean anything.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_mask.hpp"
#include "model/record.hpp"
#include "muster/comm.hpp"
#include "run/flight_recorder.hpp"

namespace muster {

/// The description of a rank that is sent to all others.
struct Introduction {
  int pid = 0;
  std::string host;
  std::string boot_id;    ///< of the kernel: nodes that share it are one machine under several names
  CpuMask cores;          ///< the physical cores it may run on, each by its lowest CPU
  std::string simulated;  ///< the machine that it pretends to be on; empty: it does not
  int local_rank = -1;    ///< the launcher's number on its node; -1: unknown
  friend bool operator==(const Introduction&, const Introduction&) = default;
};

[[nodiscard]] Introduction introduce_myself();
[[nodiscard]] ByteVector encode(const Introduction& introduction);
[[nodiscard]] Result<Introduction> decode_introduction(std::span<const std::byte> bytes);

/// RankMap from host names: a node is a host name. Index = rank. Where ranks of one name have different kernels and the
/// launcher gives them the same local rank, several machines have that name, and each is a node.
[[nodiscard]] std::vector<RankPlace> place_ranks(const std::vector<Introduction>& ranks);
/// `simulated machine lumi-g`, `4 ranks share 2 cores on nid001`, `4 ranks on nid001 and nid002 share 2 cores of one
/// machine`, or empty.
[[nodiscard]] std::string find_timing_doubt(const std::vector<Introduction>& ranks);
/// The same of each node by itself, in the order of the lowest rank of each: what ranks on other machines do is not its
/// doubt. Empty where there is none of any.
[[nodiscard]] std::vector<std::string> find_node_doubts(const std::vector<Introduction>& ranks);

/// Collective. The world, complete on rank 0; `place` is the caller's own on every rank. With MUSTER_MACHINE set,
/// the caller is on a simulated machine from then on; where that can't be had, all ranks fail.
struct Introduced {
  World world;  ///< on rank 0; elsewhere only its doubts
  RankPlace place;
  std::vector<int> on_node;  ///< the ranks of the caller's node, in order
  std::string simulated_on;  ///< a node with a rank that is on a simulated machine; empty: none is
  std::string real_on;       ///< one with a rank that is not
};
[[nodiscard]] Result<Introduced> introduce(Comm& comm, FlightRecorder& recorder,
                                           const Introduction& mine = introduce_myself());

}  // namespace muster
