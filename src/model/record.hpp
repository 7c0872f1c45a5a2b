/// What came back from the ranks: the input of evaluate, and what the spool holds.
#pragma once

#include <string>
#include <vector>

#include "muster/observation.hpp"
#include "muster/probe.hpp"
#include "muster/report.hpp"

namespace muster {

/// The ranks and nodes of a launch, as they introduced themselves.
struct World {
  std::string library;                ///< `Open MPI v4.1.4, ...`
  std::vector<RankPlace> ranks;       ///< index = rank
  std::vector<int> pids;              ///< index = rank
  std::vector<NodeProvenance> nodes;  ///< index = node_index
  std::string timing_doubt;           ///< why timing is not judged: `4 ranks share 2 cores on nid001`; empty: it is
  std::vector<std::string> node_doubts = {};  ///< the same of each node by itself, index = node_index; empty: of none
  friend bool operator==(const World&, const World&) = default;
};

/// One repetition of one case.
struct CaseRecord {
  int case_index = 0;
  int repetition = 1;
  int launch = -1;                        ///< index of the launch record; -1: never launched
  bool finished = false;                  ///< all ranks' observations arrived
  std::vector<Observation> observations;  ///< those that arrived, any order
  std::vector<Finding> findings;          ///< of the frame: hang, node lost, launch failed
  double seconds = 0;
  friend bool operator==(const CaseRecord&, const CaseRecord&) = default;
};

/// Compact binary form of an observation for the wire and the spool (version byte first, little endian).
/// `decode_observation` fails with kind `protocol` on anything else; it never reads past the end and never
/// allocates more than the input can justify.
[[nodiscard]] std::vector<std::byte> encode(const Observation& observation);
[[nodiscard]] Result<Observation> decode_observation(std::span<const std::byte> bytes);

}  // namespace muster
