/// Readings that no hardware can give. Pure.
#pragma once

#include <optional>
#include <vector>

#include "model/plan.hpp"
#include "model/record.hpp"
#include "muster/probe.hpp"

namespace muster {

/// A record without what can't be.
struct Plausible {
  std::optional<CaseRecord> changed;  ///< nullopt: nothing had to be taken out
  std::vector<Finding> findings;  ///< `unmeasured`, one for each metric, with the number measured and the one possible

  [[nodiscard]] const CaseRecord& of(const CaseRecord& record) const { return changed ? *changed : record; }
};

/// A probe that knows the best that hardware can do reports it as `<metric>.possible`, with the labels and the peer of
/// the reading: the most where higher is better, the least where lower is. A reading that is better by more than 5 %
/// loses its value. Of a program it is the `maximum` that the check of `item` declares, nullptr: nothing is declared.
/// On a simulated machine whose times mean nothing, none is looked at.
[[nodiscard]] Plausible plausible(const CaseRecord& record, const ProbeSpec& probe, const World& world,
                                  const Case* item = nullptr);

}  // namespace muster
