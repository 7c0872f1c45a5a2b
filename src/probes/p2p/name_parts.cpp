#include "probes/p2p/name_parts.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace muster::p2p {

namespace {

/// Names of units: nodes by host name, ranks by number and host.
class Units {
 public:
  Units(const CaseView& view, bool are_nodes) : view_(view), are_nodes_(are_nodes) {}

  [[nodiscard]] std::string name(int unit) const {
    const RankPlace& place = place_of(unit);
    return are_nodes_ ? place.host : fmt::format("rank {} on {}", place.rank, place.host);
  }
  /// Short, for a link: `nid001`, `rank 3`.
  [[nodiscard]] std::string end(int unit) const {
    const RankPlace& place = place_of(unit);
    return are_nodes_ ? place.host : fmt::format("rank {}", place.rank);
  }
  [[nodiscard]] Culprit culprit(int unit) const {
    const RankPlace& place = place_of(unit);
    if (are_nodes_) return node_culprit(place.host);
    return rank_culprit(place.rank, place.host);
  }

 private:
  [[nodiscard]] const RankPlace& place_of(int unit) const {
    for (const RankPlace& place : view_.ranks)
      if ((are_nodes_ ? place.node_index : place.rank) == unit) return place;
    return view_.ranks.front();
  }
  const CaseView& view_;
  bool are_nodes_;
};

constexpr std::size_t most_of_group = 32;

std::vector<std::string> names_of(const std::vector<int>& of, const Units& units) {
  std::vector<std::string> names;
  for (const int unit : of) names.push_back(units.name(unit));
  return names;
}

std::vector<std::string> short_names_of(const std::vector<int>& of, const Units& units) {
  std::vector<std::string> names;
  for (const int unit : of) names.push_back(units.end(unit));
  return names;
}

std::string claim(const SuspectPart& part, const Units& units) {
  const std::vector<std::string> ends = names_of(part.ends, units);
  switch (part.kind) {
    case PartKind::node:
      return fmt::format("{} is slow both ways", ends.front());
    case PartKind::sender:
      return fmt::format("{} is slow when it sends", ends.front());
    case PartKind::receiver:
      return fmt::format("{} is slow when it receives", ends.front());
    case PartKind::link:
      return fmt::format("the link {} {} {} is slow", units.name(part.from), part.is_both_ways ? "<->" : "->",
                         units.name(part.to));
    case PartKind::either:
      if (part.from < 0) return fmt::format("one of {} is slow", join(ends, ", "));
      return fmt::format("{}, or the link {} {} {} itself, is slow", join(ends, " or "), units.end(part.from),
                         part.is_both_ways ? "<->" : "->", units.end(part.to));
    case PartKind::group:
      return part.far_ends.empty()
                 ? fmt::format("what {} share (rack, switch or uplink) is slow: they are fast among each other",
                               human_list(ends, most_of_group))
                 : fmt::format("the way between {} and {} is slow", human_list(ends, most_of_group),
                               human_list(names_of(part.far_ends, units), most_of_group));
  }
  return {};
}

/// In GB/s where all links are of one class, and so have one level.
std::string evidence(const SuspectPart& part, const Decoded& decoded, const std::string& size) {
  const auto& levels = decoded.culprits.levels;
  const std::string where = fmt::format("{}, {}", size, decoded.is_between_nodes ? "between nodes" : "within nodes");
  std::string text = levels.size() == 1 ? fmt::format("{:.3g} GB/s, comparable ones reach {:.3g}",
                                                      levels[0].expected * (1 - part.slowdown), levels[0].expected)
                                        : fmt::format("{:.0f} % slower than comparable ones", part.slowdown * 100);
  text += fmt::format(" ({}), in {} of {} readings", where, part.slow, part.readings);
  if (part.rounds > 1 && part.is_intermittent())
    text += fmt::format(", intermittent: {} of {} rounds", part.slow_rounds, part.rounds);
  if (part.is_repeated) text += ", again when measured alone";
  return text;
}

std::string remedy(const SuspectPart& part, const Decoded& decoded) {
  if (part.kind == PartKind::either)
    return "run again with one more node of the same kind, which distinguishes the two";
  if (part.kind == PartKind::group)
    return "check the switch, uplink or cables that these nodes share: each of them is fast with the others of its "
           "side";
  if (part.kind == PartKind::link && decoded.is_between_nodes)
    return "check the switch ports and cables between the two: both are fast with all others";
  if (decoded.is_between_nodes)
    return "check that node's network adapter, its cable and its driver (link rate, width and error counters: ethtool, "
           "ibstat, perfquery, cxi_stat), and keep it out of jobs until then";
  return "check what else runs on that rank's cores, their clock, and the memory of their NUMA domain";
}

std::string ranks_of(const RailUnit& unit) {
  std::vector<std::string> numbers;
  for (const int rank : unit.ranks) numbers.push_back(std::to_string(rank));
  return fmt::format("{} {}", numbers.size() == 1 ? "rank" : "ranks", human_list(numbers));
}

/// What the NIC of ranks is taken for, and why.
std::string assumption(const RailUnit& unit) {
  const std::string nics = human_list(unit.rail.nics);
  if (unit.rail.is_counted)
    return fmt::format(
        "assumed: the NIC with the address of their connections, {}, whose own counters do not show those bytes", nics);
  return unit.rail.nics.size() == 1 ? fmt::format("assumed: the NIC nearest to {}, {}", ranks_of(unit), nics)
                                    : fmt::format("assumed: one of those nearest to {}: {}", ranks_of(unit), nics);
}

/// Beside an assumed NIC, what was measured: the paths of its ranks. No node is drained for a path.
void add_paths(const RailUnit& unit, const std::string& host, Finding& finding) {
  finding.culprits.push_back({CulpritKind::link, ranks_of(unit) + " <-> other nodes", "", -1});
  for (const int rank : unit.ranks) finding.culprits.push_back(rank_culprit(rank, host));
}

}  // namespace

Finding name_part(const CaseView& view, const SuspectPart& part, const Decoded& decoded, const std::string& size) {
  const Units units(view, decoded.is_between_nodes);
  Finding finding;
  finding.reason = fmt::format("{}: {}", claim(part, units), evidence(part, decoded, size));
  if (part.kind == PartKind::link)
    finding.culprits.push_back(
        {CulpritKind::link,
         fmt::format("{} {} {}", units.end(part.from), part.is_both_ways ? "<->" : "->", units.end(part.to)), "", -1});
  else if (part.kind == PartKind::group)
    // The way, and none of the nodes.
    finding.culprits.push_back(
        {CulpritKind::link,
         fmt::format("{} <-> {}", human_list(short_names_of(part.ends, units), 4),
                     part.far_ends.empty() ? "all others" : human_list(short_names_of(part.far_ends, units), 4)),
         "", -1});
  else
    for (const int end : part.ends) finding.culprits.push_back(units.culprit(end));
  finding.remedy = remedy(part, decoded);
  return finding;
}

Finding name_rail(const CaseView& view, const SuspectPart& part, const SlowRails& rails, const std::string& size) {
  const RailUnit& unit = rails.units[static_cast<std::size_t>(part.ends.front())];
  const std::string& host = view.ranks[static_cast<std::size_t>(unit.ranks.front())].host;
  const std::string ranks = ranks_of(unit);
  const std::string nic = unit.is_assumed() ? "NIC of " + ranks : "NIC " + human_list(unit.rail.nics);
  const char* way = part.kind == PartKind::node     ? "is slow both ways"
                    : part.kind == PartKind::sender ? "is slow when it sends"
                                                    : "is slow when it receives";
  Finding finding;
  finding.reason = fmt::format("{}{} of {} {}: {} ({})", unit.is_assumed() ? "the " : "", nic, host, way,
                               evidence(part, rails.decoded, size), unit.is_assumed() ? assumption(unit) : ranks);
  finding.culprits.push_back({CulpritKind::device, nic, host, -1});
  if (unit.is_assumed()) add_paths(unit, host, finding);
  finding.remedy = fmt::format(
      "look at that NIC of {}, its cable and its port of the switch (link rate, width and error counters: ethtool, "
      "ibstat, perfquery, cxi_stat)",
      host);
  return finding;
}

}  // namespace muster::p2p
