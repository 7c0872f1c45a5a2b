#include "probes/p2p/judge_rails.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "base/text.hpp"
#include "measure/pair_settings.hpp"

namespace muster::p2p {

namespace {

bool is_unit(const SuspectPart& part) {
  return part.kind == PartKind::node || part.kind == PartKind::sender || part.kind == PartKind::receiver;
}

std::optional<Rail> rail_reported(const CaseView& view, int rank) {
  const Observation* seen = view.observed[static_cast<std::size_t>(rank)];
  const std::string* text = seen == nullptr ? nullptr : seen->fact("rail");
  return text == nullptr ? std::nullopt : parse_rail(*text);
}

/// Infinitely many were moved where the rank does not report it, so that no counter shows them.
RailBytes bytes_reported(const CaseView& view, int rank) {
  const std::string* text = view.observed[static_cast<std::size_t>(rank)]->fact("rail_bytes");
  const auto bytes = text == nullptr ? std::nullopt : parse_rail_bytes(*text);
  return bytes.value_or(RailBytes{std::numeric_limits<double>::infinity(), 0});
}

void add_rank(const CaseView& view, int rank, const Rail& rail, RailUnit& unit) {
  const RailBytes bytes = bytes_reported(view, rank);
  unit.ranks.push_back(rank);
  unit.rail.is_counted = unit.rail.is_counted && rail.is_counted;
  unit.bytes.moved += bytes.moved;
  // Of all processes of the node, so each of its ranks reports the same.
  unit.bytes.shown = std::max(unit.bytes.shown, bytes.shown);
}

/// Ranks that met one of another node.
std::set<int> ranks_of_network(std::span<const RankLink> links) {
  std::set<int> ranks;
  for (const RankLink& link : links)
    if (link.link == LinkClass::network) ranks.insert({link.from, link.to});
  return ranks;
}

/// Units, and of each rank the number of its own; -1: none.
struct Grouped {
  std::vector<RailUnit> units;
  std::vector<int> unit_of;
  std::set<std::string> at_once;  ///< NICs that one rank's messages went over
  bool is_whole = true;           ///< all ranks report theirs
};

Grouped group_ranks(const CaseView& view, std::span<const RankLink> links) {
  Grouped grouped;
  grouped.unit_of.assign(view.ranks.size(), -1);
  std::map<std::pair<int, std::vector<std::string>>, int> numbers;
  for (const int rank : ranks_of_network(links)) {
    const auto rail = rail_reported(view, rank);
    grouped.is_whole = grouped.is_whole && rail;
    if (!rail) continue;
    if (rail->is_counted && rail->nics.size() > 1) grouped.at_once.insert(rail->nics.begin(), rail->nics.end());
    const int node = view.ranks[static_cast<std::size_t>(rank)].node_index;
    const auto [at, is_new] = numbers.try_emplace({node, rail->nics}, static_cast<int>(grouped.units.size()));
    if (is_new) grouped.units.push_back({node, *rail, {}, {}});
    add_rank(view, rank, *rail, grouped.units[static_cast<std::size_t>(at->second)]);
    grouped.unit_of[static_cast<std::size_t>(rank)] = at->second;
  }
  return grouped;
}

std::set<int> nodes_of_units(const std::vector<RailUnit>& units) {
  std::set<int> nodes;
  for (const RailUnit& unit : units) nodes.insert(unit.node);
  return nodes;
}

int count_units(const std::vector<RailUnit>& units, int node) {
  return static_cast<int>(
      std::count_if(units.begin(), units.end(), [&](const RailUnit& unit) { return unit.node == node; }));
}

/// Alike in name: in many networks those reach each other by one switch.
std::vector<int> numbers_of_names(const std::vector<RailUnit>& units) {
  std::map<std::vector<std::string>, int> numbers;
  std::vector<int> names;
  for (const RailUnit& unit : units)
    names.push_back(numbers.try_emplace(unit.rail.nics, static_cast<int>(numbers.size())).first->second);
  return names;
}

bool names_node(std::span<const Decoded> of_nodes, int node) {
  for (const Decoded& decoded : of_nodes)
    for (const SuspectPart& part : decoded.culprits.parts)
      if (decoded.is_between_nodes && is_unit(part) && part.ends.front() == node) return true;
  return false;
}

/// Slow units. All of a node are the node, where that is named as well.
std::vector<SuspectPart> slow_units(const std::vector<RailUnit>& units, const Culprits& culprits,
                                    std::span<const Decoded> of_nodes) {
  std::vector<SuspectPart> slow;
  std::map<int, int> of_node;
  const auto node_of = [&](const SuspectPart& part) { return units[static_cast<std::size_t>(part.ends.front())].node; };
  for (const SuspectPart& part : culprits.parts)
    if (is_unit(part)) slow.push_back(part), ++of_node[node_of(part)];
  std::erase_if(slow, [&](const SuspectPart& part) {
    const int node = node_of(part);
    return of_node[node] >= count_units(units, node) && names_node(of_nodes, node);
  });
  return slow;
}

/// NICs are named alike on nodes that are built alike: those of one name that are slow on a third or more of the nodes
/// that have it are of another kind. What is left out is added to `kinds`.
void leave_out_kinds(const std::vector<RailUnit>& units, std::vector<SuspectPart>& slow, std::set<std::string>& kinds) {
  std::map<std::vector<std::string>, int> all;
  std::map<std::vector<std::string>, int> bad;
  const auto nics_of = [&](const SuspectPart& part) {
    return units[static_cast<std::size_t>(part.ends.front())].rail.nics;
  };
  for (const RailUnit& unit : units) ++all[unit.rail.nics];
  for (const SuspectPart& part : slow) ++bad[nics_of(part)];
  std::erase_if(slow, [&](const SuspectPart& part) {
    const auto nics = nics_of(part);
    if (bad[nics] < 2 || 3 * bad[nics] < all[nics]) return false;
    kinds.insert(nics.begin(), nics.end());
    return true;
  });
}

/// The NICs of a node share what its ranks send: those of more ranks leave less to each.
bool have_as_many_ranks(const std::vector<RailUnit>& units) {
  return std::all_of(units.begin(), units.end(),
                     [&](const RailUnit& unit) { return unit.ranks.size() == units.front().ranks.size(); });
}

std::string none_slow(const SlowRails& rails, const std::string& size) {
  const Culprits& culprits = rails.decoded.culprits;
  std::size_t readings = 0;
  for (const ClassLevel& level : culprits.levels) readings += static_cast<std::size_t>(level.readings);
  const std::string what = fmt::format("{} readings of {} between {} NICs of {} nodes compared", readings, size,
                                       rails.units.size(), nodes_of_units(rails.units).size());
  if (!(culprits.seen_from < 1)) return what + ", too noisy to identify a slow one";
  return fmt::format("{}, no NIC slow by {:.0f} % or more", what, std::ceil(100 * culprits.seen_from));
}

}  // namespace

bool SlowRails::explain(const SuspectPart& of_nodes) const {
  constexpr double margin = 1.5;
  std::map<int, double> expected;  // slowdown, by node
  for (const SuspectPart& part : parts) {
    const RailUnit& unit = units[static_cast<std::size_t>(part.ends.front())];
    if (!unit.is_assumed()) expected[unit.node] += part.slowdown / count_units(units, unit.node);
  }
  return std::any_of(of_nodes.ends.begin(), of_nodes.ends.end(), [&](int node) {
    const auto found = expected.find(node);
    return found != expected.end() && of_nodes.slowdown <= margin * found->second;
  });
}

SlowRails find_slow_rails(const CaseView& view, std::span<const RankLink> links, std::span<const Decoded> of_nodes,
                          const std::string& size) {
  SlowRails rails;
  Grouped grouped = group_ranks(view, links);
  if (!grouped.at_once.empty()) {
    rails.evidence =
        fmt::format("messages of a rank between nodes went over {} at once: NICs were not compared one by one",
                    human_list(std::vector<std::string>(grouped.at_once.begin(), grouped.at_once.end())));
    return rails;
  }
  const std::set<int> nodes = nodes_of_units(grouped.units);
  if (!grouped.is_whole || grouped.units.size() == nodes.size()) return rails;
  if (!have_as_many_ranks(grouped.units)) {
    rails.evidence = "NICs carry the messages of different numbers of ranks: they were not compared one by one";
    return rails;
  }
  rails.units = std::move(grouped.units);
  rails.decoded = decode_rails(links, grouped.unit_of, numbers_of_names(rails.units), decode_settings(view.params));
  rails.parts = slow_units(rails.units, rails.decoded.culprits, of_nodes);
  std::set<std::string> kinds;
  leave_out_kinds(rails.units, rails.parts, kinds);
  if (!kinds.empty()) {
    rails.evidence =
        fmt::format("{} {} slower than the other NICs on a third of the nodes or more",
                    human_list(std::vector<std::string>(kinds.begin(), kinds.end())), kinds.size() == 1 ? "is" : "are");
    return rails;
  }
  const bool is_any_assumed = std::any_of(rails.units.begin(), rails.units.end(), std::mem_fn(&RailUnit::is_assumed));
  const Culprits& found = rails.decoded.culprits;
  const bool is_none = found.parts.empty() && found.groups.empty() && std::isfinite(found.seen_from);
  if (is_none && !is_any_assumed) rails.evidence = none_slow(rails, size);
  return rails;
}

}  // namespace muster::p2p
