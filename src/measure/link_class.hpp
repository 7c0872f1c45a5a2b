/// What lies between two ranks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_mask.hpp"
#include "base/files.hpp"
#include "muster/comm.hpp"
#include "muster/probe.hpp"
#include "system/system.hpp"

namespace muster::p2p {

enum class LinkClass : std::uint8_t {
  cache,    ///< both ranks stay below one last-level cache
  numa,     ///< both stay in one NUMA domain
  node,     ///< one node
  network,  ///< two nodes
};

[[nodiscard]] std::string_view to_string(LinkClass link);

/// Where a rank runs, as sent to all others.
struct Spot {
  int node = 0;
  int pid = 0;
  int cache = -1;            ///< number of the one last-level cache that its mask lies below; -1: none or several
  int numa = -1;             ///< likewise, NUMA domain
  std::uint64_t kernel = 0;  ///< same number, same running kernel: containers may be nodes and share it; 0: not known
  std::uint64_t pid_space = 0;  ///< what `pid` counts in
  CpuMask mask;
  friend bool operator==(const Spot&, const Spot&) = default;
};

[[nodiscard]] LinkClass class_of(const Spot& a, const Spot& b);

/// This rank's spot, from its mask and the topology of its node.
[[nodiscard]] Spot spot_here(const RankPlace& place, const Topology& topology, const fs::path& root = "/");

/// Collective: the spots of all ranks, in rank order. Fails with kind `system` for a spot that can't be read.
[[nodiscard]] Result<std::vector<Spot>> exchange_spots(Comm& comm, const Spot& mine);

/// CPU time so far, in seconds, of all processes of the spots that share a CPU with spot `self`: what a
/// ContaminationWatch of its mask must not take for others' work. nullopt when one of them can't be read: then
/// the owner of the work is unknown.
class OwnCpuTime {
 public:
  OwnCpuTime(const std::vector<Spot>& spots, std::size_t self);
  [[nodiscard]] std::optional<double> seconds() const;

 private:
  std::vector<int> pids_;
  bool is_readable_ = true;
};

}  // namespace muster::p2p
