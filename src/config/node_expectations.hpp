/// [partition.node]: what a profile promises of each node.
#pragma once

#include <string>
#include <vector>

#include "config/fields.hpp"
#include "model/check.hpp"

namespace muster {

/// Reads `entry` into `partition.node` and `partition.machine`.
void read_node(const Entry& entry, PartitionProfile& partition, DocumentErrors& errors);

/// The keys that `node` sets, as [[unverified]] names them: `gpus`, `cpu.domains`, `variable NCCL_NET`.
[[nodiscard]] std::vector<std::string> expectation_keys(const ExpectedNode& node);

}  // namespace muster
