/// How programs ended, and whether they printed what they should have.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/probe.hpp"
#include "probes/command/blame.hpp"
#include "probes/command/findings.hpp"

namespace muster::program {

[[nodiscard]] std::optional<int> number_fact(const Observation& seen, std::string_view key);
/// False of a rank that could not start its program, or did not because others could not.
[[nodiscard]] bool was_started(const Observation& seen);
/// What is wrong with the end of one rank's program; empty: nothing.
[[nodiscard]] std::string find_fault(const Observation& seen, const Params& params);

/// Of the ranks that measured anything, those on which `is_bad` holds.
template <class Claim>
Blame blame_for(const CaseView& view, Claim is_bad, Blame::Part part = Blame::Part::may_differ) {
  std::vector<std::size_t> all;
  std::vector<std::size_t> bad;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    if (seen == nullptr) continue;
    all.push_back(rank);
    if (is_bad(*seen)) bad.push_back(rank);
  }
  return {view, all, bad, part};
}

/// `has_reported_why`: of an exit, the program has printed the cause itself.
void take_end(const Blame& blame, const CaseView& view, const RankPlace& place, bool has_reported_why,
              Findings& findings);
/// Of a program that ended well.
void take_unprinted(const Blame& blame, const CaseView& view, const RankPlace& place, Findings& findings);

}  // namespace muster::program
