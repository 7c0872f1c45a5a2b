#include "probes/device_visibility/vendor_judges.hpp"

#include <algorithm>
#include <vector>

#include "model/gpu_vendor.hpp"

namespace muster::visibility {

namespace {

int place_of_judges(const VendorJudges* judges) {
  return terms_of_vendor(judges->vendor).place;
}

}  // namespace

std::span<const VendorJudges* const> vendor_judges() {
  static const std::vector<const VendorJudges*> sorted = [] {
    const auto listed = listed_vendor_judges();
    std::vector<const VendorJudges*> all(listed.begin(), listed.end());
    std::stable_sort(all.begin(), all.end(),
                     [](const auto* a, const auto* b) { return place_of_judges(a) < place_of_judges(b); });
    return all;
  }();
  return sorted;
}

void judge_by_vendors(void (*VendorJudges::*step)(const NodeView&, Findings&), const Nodes& nodes, Findings& findings) {
  for (const VendorJudges* vendor : vendor_judges())
    if (vendor->*step != nullptr)
      for (const NodeView& node : nodes) (vendor->*step)(node, findings);
}

}  // namespace muster::visibility
