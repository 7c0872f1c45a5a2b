#include "evaluate/device_names.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "evaluate/rank_map.hpp"

namespace muster {

namespace {

/// The only device whose readings a rank reported, by its fact `tested` (address, UUID, name); empty: none, or several.
std::vector<std::string> device_of(const Observation* seen) {
  std::vector<std::string> found;
  for (const Fact& fact : seen == nullptr ? std::vector<Fact>() : seen->facts) {
    if (fact.key != "tested") continue;
    if (!found.empty()) return {};
    found = split(printable_line(fact.value, 200), ' ');
  }
  return found.size() < 2 ? std::vector<std::string>() : found;
}

}  // namespace

void name_device(Finding& finding, const Attendance& attendance) {
  const std::vector<Culprit> ranks = finding.culprits;
  for (const Culprit& culprit : ranks) {
    if (culprit.kind != CulpritKind::rank || finding.culprits.size() >= most_culprits) continue;
    const auto rank = static_cast<std::size_t>(culprit.rank);
    const auto device = rank < attendance.observed.size() ? device_of(attendance.observed[rank]) : device_of(nullptr);
    if (device.empty()) continue;
    if (finding.culprits.size() == ranks.size())
      finding.reason += fmt::format("; rank {} has GPU {} ({})", culprit.rank, device[0], device[1]);
    finding.culprits.push_back({CulpritKind::device, "GPU " + device[0], culprit.node, culprit.rank});
  }
}

}  // namespace muster
