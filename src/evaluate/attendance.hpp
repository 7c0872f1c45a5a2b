/// Participation of ranks in a case, and findings on those that did not report.
#pragma once

#include <string_view>
#include <vector>

#include "evaluate/rank_map.hpp"
#include "model/record.hpp"

namespace muster {

struct Attendance {
  std::vector<const Observation*> observed;  ///< index = rank; nullptr: nothing, or nothing that can be believed
  int measured = 0;                          ///< ranks whose probe ran to its end
  std::vector<Finding> findings;             ///< false ranks, then not prepared, failed, silent
  std::vector<std::string> notes;

  [[nodiscard]] bool has_measured(std::size_t rank) const {
    return observed[rank] != nullptr && observed[rank]->state == ObservationState::measured;
  }
  [[nodiscard]] bool is_complete() const { return !observed.empty() && measured == static_cast<int>(observed.size()); }
};

/// What was asked can't be done on any node: neither this rank nor its node is at fault. Fact `refused` names the
/// parameter, `error` is the reason.
[[nodiscard]] bool is_refusal(const Observation& one);

/// Why a rank has no reading of `metric` is reported by the judge of its probe: its program was not started, ended as
/// it should not, or printed a value that can't be read. Fact `no_reading` names the metric; `*` is any.
[[nodiscard]] bool has_no_reading(const Observation& one, std::string_view metric);

/// A rank that reported twice is not believed at all: which of the two would count must not depend on the order in
/// which they arrived. Silence is not a finding of its own where the frame has already given the reason
/// (`record.findings`).
[[nodiscard]] Attendance attend(const CaseRecord& record, const RankMap& places);

}  // namespace muster
