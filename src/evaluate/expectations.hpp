/// What the check asks of its metrics, held against all readings of a case.
#pragma once

#include <list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "evaluate/attendance.hpp"
#include "evaluate/bounds.hpp"
#include "evaluate/readings.hpp"

namespace muster {

/// One expectation on one group that it matches.
struct Application {
  const Expectation* asked = nullptr;
  std::size_t group = 0;  ///< index into Readings::groups()
  std::vector<Bound> bounds;
};

struct Expected {
  std::list<Expectation> implied = {};  ///< that no check asks for; applications point to them
  std::vector<Application> applications;
  std::vector<Finding> findings;
  std::vector<std::string> evidence;
  std::vector<std::string> notes;
  std::set<std::pair<std::string, Labels>> of_no_node;  ///< metric and labels with an unconfirmed reference
};

/// What all of it is judged from.
struct CaseInput {
  const Case& item;
  const ProbeSpec& probe;
  const World& world;
  const RankMap& places;
  const Attendance& attendance;
  const PastItems* past = nullptr;  ///< nullptr: nothing is known of earlier runs
  bool is_troubled = false;         ///< the judge of the probe found a cause for which readings may be missing
};

/// `timing is not judged: 16 ranks share 2 cores`; of a world where it is not.
[[nodiscard]] std::string timing_note(const World& world);
/// Marks the samples of `readings` as judged, with their verdicts.
[[nodiscard]] Expected judge_expectations(const CaseInput& input, Readings& readings);

/// One bound against one value.
[[nodiscard]] Verdict judge_value(const Bound& bound, std::size_t sample, double value);
/// All bounds of an application against one sample of its group (`at`: its index there), which notes it. `skip` where
/// all of them pass it over: it is not judged.
[[nodiscard]] Verdict judge_sample(const Application& application, std::size_t at, Sample& sample);
/// How many nodes reported a value of a group, and how many of them are outside of the bound. A node that is judged by
/// itself counts with its like on the others.
struct BoundUse {
  std::size_t nodes = 0;
  std::size_t outside = 0;
};
[[nodiscard]] BoundUse use_of(const Bound& bound, const ReadingGroup& group, const Readings& readings);
/// A reference, or a share of a declared maximum, for a number of a program that muster does not know, which fewer than
/// half of the nodes meet, or the only one does not: the figure may be wrong, and no node is blamed
/// (docs/adr/0016-unconfirmed-references.md).
[[nodiscard]] bool is_unconfirmed(const Bound& bound, const ReadingGroup& group, const Readings& readings);
/// The findings of one application whose samples are not all a pass: one per kind of bound, worst items first.
[[nodiscard]] std::vector<Finding> findings_of(const Application& application, const Readings& readings,
                                               const RankMap& places);

}  // namespace muster
