/// What links the GPUs of a node, and the ways that NCCL or RCCL take round it. docs/methods/p2p.md, "Which way".
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "device/collective_log.hpp"
#include "device/inventory.hpp"
#include "muster/probe.hpp"

namespace muster::p2p {

/// A rank's GPU, as sent to all others; trivially copied.
struct GpuPlace {
  int node = -1;
  bool is_known = false;  ///< it has an address
  PciAddress address;
};

/// NVLink or xGMI between two GPUs.
struct GpuLink {
  std::string kind;  ///< `nvlink`, `xgmi`
  double rate = 0;   ///< GB/s in one direction of all that are up; 0: unknown
};

/// Of one rank's GPU.
class GpuLinks {
 public:
  GpuLinks() = default;
  /// `places`: index = rank. Pure.
  GpuLinks(Inventory inventory, std::vector<GpuPlace> places, int self);

  /// To the GPU of another rank; nullopt: it is on another node, or no link was reported.
  [[nodiscard]] std::optional<GpuLink> to(int rank) const;
  /// The rank's data lies on another GPU than this one's; false where that is not known.
  [[nodiscard]] bool is_other_gpu(int rank) const;
  /// Whether the links of this rank's GPU surely end in its node: those of vendors that link no nodes,
  /// and those of a GPU for which no fabric of several nodes is reported.
  [[nodiscard]] bool end_in_node() const;
  /// GB/s in one direction of all links to GPUs of the other ranks, where all ranks are on one node; 0: not so, or not
  /// known of one of them.
  [[nodiscard]] double together() const;
  /// Facts `data.detour`: `OTHER WAY KIND`, once for each.
  [[nodiscard]] std::vector<Fact> detours(const Connections& connections) const;

 private:
  [[nodiscard]] const Device* device_of(int rank) const;

  Inventory inventory_;
  std::vector<GpuPlace> places_;
  int self_ = -1;
};

/// Data that goes round a link, by the library's own log.
void find_detours(const CaseView& view, std::vector<Finding>& findings);

/// Readings of a metric of the largest of `sizes`, if that is 1 MiB or more, below the share `least_of_link` of
/// `<metric>.capable`. One finding for all. Nothing where data is known to bypass links: that finding is more precise.
void find_below_links(const CaseView& view, std::string_view metric, std::vector<Finding>& findings);

}  // namespace muster::p2p
