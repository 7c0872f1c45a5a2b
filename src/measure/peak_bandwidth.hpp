/// What the hardware can do at most: the ways between host and GPU and between GPUs as they were found, and the memory
/// of a GPU. GB/s; 0: not known.
#pragma once

#include <string>

#include "device/inventory.hpp"
#include "measure/node_gpus.hpp"

namespace muster::gpu_copy {

/// The way of a GPU to its host, in one direction.
struct HostWay {
  double rate = 0;   ///< as wide and fast as its narrowest link can be; less than this is judged
  double most = 0;   ///< nothing is faster; where sources disagree, the greater; 0: not known
  std::string kind;  ///< `PCIe`, `NVLink-C2C`, `xGMI`
};
[[nodiscard]] HostWay host_way(const SeenGpu& gpu, const Device* device);

/// Of its memory, reads and writes together: its model's, else by width and clock from its runtime.
[[nodiscard]] double memory_rate(const SeenGpu& gpu);

/// What lies between two GPUs of a node: the values of the label `link`.
[[nodiscard]] std::string link_between(const Inventory& node, const Device* from, const Device* to, bool reaches);

/// Of the way between two GPUs of such a `link`, in one direction.
struct PeerWay {
  double kernel = 0;  ///< of all links between them
  double engine = 0;  ///< of what one copy engine uses: over xGMI one link, or more
  double most = 0;    ///< nothing is faster; 0: not known from the links between the two
};
[[nodiscard]] PeerWay peer_way(const Inventory& node, const Device* from, const Device* to, const std::string& link);

/// GB/s that no copy over a `link` of that kind exceeds; 0: not known. `from`, `to`: the ways of the two to their host.
[[nodiscard]] double most_to_peer(const PeerWay& way, const std::string& link, const HostWay& from, const HostWay& to);

/// The label `pages` where pinned memory lies in another NUMA domain than its GPU; -1 and empty: not known.
void add_pages(int near, const std::string& pages, Labels& where);

/// The label that every reading about this GPU has; none where its runtime reports no name.
void add_model(const SeenGpu& gpu, Labels& where);

/// GB/s that no pass over memory of this GPU exceeds: `traffic` bytes are read and written, each byte of its caches
/// saves `saved` of them. 0: not known.
[[nodiscard]] double possible_memory_rate(const SeenGpu& gpu, double traffic, double saved);

/// Adds the reading `<metric>.possible`, as add_capable.
void add_possible(Observation& seen, std::string_view metric, Labels where, double best, int peer_rank = -1);

/// Adds the reading `<metric>.capable` in GB/s with the labels of what is measured; nothing where the rate is 0.
void add_capable(Observation& seen, std::string_view metric, Labels where, double rate, int peer_rank = -1);

}  // namespace muster::gpu_copy
