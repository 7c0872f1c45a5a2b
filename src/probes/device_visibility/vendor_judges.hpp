/// What a vendor's libraries and drivers report beyond what all GPUs have, and how it is judged. Of each vendor in
/// `src/device/<vendor>/judges/judges.cpp`, which the build finds.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "measure/node_devices.hpp"

namespace muster::visibility {

/// Each adds what it finds; nullptr: the vendor has no such thing. In the order in which they are called.
struct VendorJudges {
  std::string_view vendor;                                      ///< GpuVendor::name
  void (*libraries)(const NodeView& node, Findings& findings);  ///< absent, broken, disagrees with the kernel
  void (*versions)(const NodeView& node, Findings& findings);   ///< of driver and libraries
  void (*health)(const NodeView& node, Findings& findings);     ///< of each GPU
  void (*siblings)(const NodeView& node, Findings& findings);   ///< GPUs of a node against each other
  void (*sources)(const NodeView& node, Findings& findings);    ///< of each GPU, where sources may disagree
  void (*links)(const NodeView& node, Findings& findings);      ///< between GPUs, from both ends
  void (*nodes)(const Nodes& nodes, Findings& findings);        ///< against each other
  std::string (*evidence)(const Nodes& nodes);                  ///< what only its library knows; empty: nothing
};

/// By GpuVendor::place.
[[nodiscard]] std::span<const VendorJudges* const> vendor_judges();
/// As the build found them.
[[nodiscard]] std::span<const VendorJudges* const> listed_vendor_judges();

/// Calls that step of every vendor that has one.
void judge_by_vendors(void (*VendorJudges::*step)(const NodeView&, Findings&), const Nodes& nodes, Findings& findings);

}  // namespace muster::visibility
