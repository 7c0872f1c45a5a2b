#include "stats/culprits.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "stats/culprits_pairs.hpp"

namespace muster {

namespace {

using namespace culprits;

std::vector<SuspectPart> units_against(PairTable& table, const DecodeSettings& settings,
                                       const std::vector<ClassLevel>& levels) {
  hold_against(table, levels);
  return name_units(table, settings);
}

/// Names units; then measures the level again without them, and looks again.
std::vector<SuspectPart> decode_units(PairTable& table, const DecodeSettings& settings, int slow_units,
                                      std::vector<ClassLevel>& levels) {
  levels = find_levels(table, settings, slow_units);
  auto parts = units_against(table, settings, levels);
  if (parts.empty()) return parts;
  const auto better = levels_of_the_rest(table, settings, levels);
  auto again = units_against(table, settings, better);
  levels = better;
  return again;
}

int count_units(std::vector<SuspectPart> parts) {
  join_roles(parts);
  return static_cast<int>(parts.size());
}

/// Names groups; then measures the level again without what they explain, and names units again.
void name_groups(PairTable& table, const DecodeSettings& settings, Culprits& found) {
  constexpr std::size_t most_groups = 4;
  while (found.groups.size() < most_groups && name_group(table, settings, found)) {
    found.levels = levels_of_the_rest(table, settings, found.levels);
    hold_against(table, found.levels);
    found.parts.clear();
    explain_found(table, found);
    found.parts = name_units(table, settings);
  }
}

/// Two or three units are not measure of each other when all of their readings are slow: only a reference sees it.
void name_by_reference(const PairTable& table, const DecodeSettings& settings, Culprits& found) {
  for (const ClassReference& reference : settings.references) {
    if (!std::isfinite(reference.value) || reference.value <= 0) continue;
    const double expected = settings.is_lower_better ? -std::log(reference.value) : std::log(reference.value);
    SuspectPart part;
    part.kind = PartKind::either;
    part.is_both_ways = true;
    std::vector<SeenReading> seen;
    for (const Pair& pair : table.pairs) {
      for (const LinkReading& reading : table.readings_of(pair)) {
        if (reading.class_id != reference.class_id || reading.is_alone) continue;
        seen.push_back({reading.round, expected - reading.speed});
        part.ends.push_back(pair.low);
        part.ends.push_back(pair.high);
      }
    }
    std::sort(part.ends.begin(), part.ends.end());
    part.ends.erase(std::unique(part.ends.begin(), part.ends.end()), part.ends.end());
    const double least = slowness_of(settings.least_slowdown) + 2 * settings.noise_floor;
    const bool is_all = std::all_of(seen.begin(), seen.end(), [&](const auto& one) { return one.slowness >= least; });
    if (seen.empty() || part.ends.size() > 3 || !is_all) continue;
    part.from = part.ends[0];
    part.to = part.ends[1];
    count_readings(part, seen, least);
    part.score = slowness_of(part.slowdown) / settings.noise_floor;
    found.parts.push_back(std::move(part));
  }
}

/// Those that are not there yet.
void add_cells(std::vector<LinkCell>& cells, std::span<const LinkCell> more) {
  std::set<std::pair<int, int>> known;
  for (const LinkCell& cell : cells) known.insert({cell.from, cell.to});
  for (const LinkCell& cell : more)
    if (known.insert({cell.from, cell.to}).second) cells.push_back(cell);
}

/// Of what was measured alone, these cells only.
std::vector<LinkSample> with_repeats_of(std::span<const LinkSample> samples, std::span<const LinkCell> cells) {
  std::set<std::pair<int, int>> wanted;
  for (const LinkCell& cell : cells) wanted.insert({cell.from, cell.to});
  std::vector<LinkSample> kept;
  std::ranges::copy_if(samples, std::back_inserter(kept), [&](const LinkSample& sample) {
    return !sample.is_alone || wanted.contains({sample.from, sample.to});
  });
  return kept;
}

/// `contended`: pairs that may share a part of the network.
Culprits decode_once(std::span<const LinkSample> samples, const DecodeSettings& asked,
                     std::vector<LinkCell>& contended) {
  Culprits found;
  DecodeSettings settings = asked;
  settings.noise_floor = std::max(asked.noise_floor, asked.seen_noise);
  PairTable table = pair_table(samples, settings.is_lower_better);
  if (table.readings.empty()) return found;
  const bool has_rates = table.present_units >= enough_for_rates;
  std::vector<SplitClass> splits;
  if (has_rates) {
    found.direction_loss = -std::expm1(remove_direction(table));
    remove_trend(table);
    splits = split_classes(table);
  }
  const int most = most_slow_units(table.present_units);
  found.parts = decode_units(table, settings, most, found.levels);
  // Most units slow: the level taken as healthy is a few fast pairs. Then the middle is the level.
  if (count_units(found.parts) > std::max(most, table.present_units / 3))
    found.parts = decode_units(table, settings, 0, found.levels);
  if (has_rates) {
    name_groups(table, settings, found);
    leave_out_chance(table, settings, found);
    join_groups(table, found);
    contended = contended_cells(table, settings, found.contention);
  }
  found.seen_from = seen_from(table, settings, found.levels);
  if (has_rates) found.seen_from = std::min(found.seen_from, seen_by_counts(table, settings, found));
  found.seen_from_if_quiet = seen_from_if_quiet(table, asked, found.levels);
  // For thousands of units noise is known well enough, and all pairs of each are too many to look at once more.
  constexpr int few_units = 64;
  if (found.parts.empty() && table.present_units <= few_units)
    found.seen_from = std::min(found.seen_from, seen_by_order(table, settings, found.levels));
  found.seen_from = std::max(found.seen_from, least_seen(table, settings, found.levels));
  if (found.parts.empty() && found.groups.empty()) found.parts = name_by_order(table, settings, found.levels);
  join_roles(found.parts);
  name_links(table, settings, found);
  name_by_reference(table, settings, found);
  for (ClassLevel& level : found.levels) {
    level.expected = std::exp(settings.is_lower_better ? -level.expected : level.expected);
    for (const SplitClass& split : splits)
      if (split.class_id == level.class_id) level.class_id = split.of;
  }
  return found;
}

}  // namespace

Culprits decode_culprits(std::span<const LinkSample> samples, const DecodeSettings& settings) {
  std::vector<LinkSample> rounds;
  for (const LinkSample& sample : samples)
    if (!sample.is_alone) rounds.push_back(sample);
  std::vector<LinkCell> contended;
  Culprits found = decode_once(rounds, settings, contended);
  if (rounds.size() == samples.size()) {
    add_cells(found.worth_repeating, contended);
    return found;
  }
  Contention contention = found.contention;
  auto chosen = without_contention(samples, contended, settings, contention);
  if (chosen.empty()) chosen = with_repeats_of(samples, found.worth_repeating);
  found = decode_once(contended.empty() ? samples : chosen, settings, contended);
  found.contention = contention;
  return found;
}

}  // namespace muster
