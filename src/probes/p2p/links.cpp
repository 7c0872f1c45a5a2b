#include "probes/p2p/links.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "stats/stats.hpp"

namespace muster::p2p {

namespace {

bool is_between_nodes(const RankLink& link) {
  return link.link == LinkClass::network;
}

/// What the pairs of ranks of two nodes (or other units) reached in one round, on average. They share adapters, and
/// seldom fairly: their speeds are not independent readings, their sum is one.
std::vector<RankLink> node_links(std::span<const RankLink> links, std::span<const int> node_of) {
  std::map<std::tuple<int, int, bool, int>, std::vector<const RankLink*>> meetings;
  for (const RankLink& link : links)
    meetings[{node_of[static_cast<std::size_t>(link.from)], node_of[static_cast<std::size_t>(link.to)], link.is_alone,
              link.round}]
        .push_back(&link);
  std::vector<RankLink> all;
  for (const auto& [meeting, pairs] : meetings) {
    RankLink sum = *pairs.front();
    std::tie(sum.from, sum.to, sum.is_alone, sum.round) = meeting;
    const auto n = static_cast<double>(pairs.size());
    sum.value = sum.spread = 0;
    for (const RankLink* pair : pairs) {
      sum.value += pair->value / n;
      sum.spread += pair->spread / n / std::sqrt(n);
    }
    all.push_back(sum);
  }
  return all;
}

/// The decoder proposes 32 links, and about as many cells to show whether they share a path. Where pairs share a part
/// of the network, more: two pairs of each unit in both directions.
constexpr int most_repeats = 64;
constexpr int most_repeats_of_unit = 4;

template <class T>
std::vector<T> values_of(const ByteVector& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// What wobbles within a reading wobbles between readings; and three readings of one link, alone, should be alike.
/// The error of a reading's median would be smaller, but then healthy nodes that share busy cores were named in 3 cases
/// of 16, else in none.
double noise_of(std::span<const RankLink> links) {
  constexpr double range_of_three = 1.693;  // of normal values, in standard deviations: 3 / sqrt(pi)
  std::vector<double> spreads;
  std::map<std::pair<int, int>, std::vector<double>> repeats;
  for (const RankLink& link : links) {
    spreads.push_back(link.spread);
    if (link.is_alone && link.value > 0) repeats[{link.from, link.to}].push_back(std::log(link.value));
  }
  std::vector<double> ranges;
  for (const auto& [link, values] : repeats) {
    if (values.size() < 3) continue;
    const auto [low, high] = std::minmax_element(values.begin(), values.begin() + 3);
    ranges.push_back((*high - *low) / range_of_three);
  }
  return std::max(median(spreads).value_or(0), median(ranges).value_or(0));
}

std::vector<RankPair> first_with_first(const LinkCell& cell, std::span<const int> node_of) {
  std::vector<int> ranks[2];
  for (std::size_t rank = 0; rank < node_of.size(); ++rank)
    for (const int end : {0, 1})
      if (node_of[rank] == (end == 0 ? cell.from : cell.to)) ranks[end].push_back(static_cast<int>(rank));
  std::vector<RankPair> pairs;
  for (std::size_t i = 0; i < std::min(ranks[0].size(), ranks[1].size()); ++i)
    pairs.push_back({ranks[0][i], ranks[1][i], 0});
  return pairs;
}

int count_nodes(std::span<const int> node_of) {
  return static_cast<int>(std::set<int>(node_of.begin(), node_of.end()).size());
}

/// The pairs of ranks that stand for a cell, all those of two nodes in the round in which they were slowest: read again
/// with fewer, they would have the adapter to themselves, and look well. Of nodes that have not met: the first rank of
/// each with the other's first, and so on.
std::vector<RankPair> ranks_of(const LinkCell& cell, bool are_nodes, std::span<const RankLink> links,
                               std::span<const int> node_of) {
  if (!are_nodes) return {{cell.from, cell.to, 0}};
  const auto is_of_cell = [&](const RankLink& link) {
    return is_between_nodes(link) && !link.is_alone && node_of[static_cast<std::size_t>(link.from)] == cell.from &&
           node_of[static_cast<std::size_t>(link.to)] == cell.to;
  };
  const RankLink* slowest = nullptr;
  for (const RankLink& link : links)
    if (is_of_cell(link) && (slowest == nullptr || link.value < slowest->value)) slowest = &link;
  if (slowest == nullptr) return first_with_first(cell, node_of);
  std::vector<RankPair> pairs;
  for (const RankLink& link : links)
    if (is_of_cell(link) && link.round == slowest->round) pairs.push_back({link.from, link.to, 0});
  return pairs;
}

}  // namespace

std::vector<int> nodes_of(const std::vector<Spot>& spots) {
  std::vector<int> node_of;
  for (const Spot& spot : spots) node_of.push_back(spot.node);
  return node_of;
}

std::vector<Decoded> decode_links(std::span<const RankLink> links, std::span<const int> node_of,
                                  const DecodeSettings& settings) {
  std::vector<RankLink> kinds[2];
  for (const RankLink& link : links) kinds[is_between_nodes(link) ? 1 : 0].push_back(link);
  kinds[1] = node_links(kinds[1], node_of);
  std::vector<Decoded> all;
  for (const bool are_nodes : {false, true}) {
    const auto& same = kinds[are_nodes ? 1 : 0];
    DecodeSettings with_noise = settings;
    with_noise.seen_noise = noise_of(same);
    std::vector<LinkSample> samples;
    for (const RankLink& link : same)
      samples.push_back({link.from, link.to, link.round, link.value, static_cast<int>(link.link), link.is_alone});
    if (!samples.empty()) all.push_back({are_nodes, decode_culprits(samples, with_noise)});
  }
  return all;
}

Decoded decode_rails(std::span<const RankLink> links, std::span<const int> unit_of, std::span<const int> name_of,
                     const DecodeSettings& settings) {
  std::vector<RankLink> between;
  for (const RankLink& link : links)
    if (is_between_nodes(link) && !link.is_alone) between.push_back(link);
  between = node_links(between, unit_of);
  DecodeSettings with_noise = settings;
  with_noise.seen_noise = noise_of(between);
  std::vector<LinkSample> samples;
  for (const RankLink& link : between) {
    const bool is_one_name = name_of[static_cast<std::size_t>(link.from)] == name_of[static_cast<std::size_t>(link.to)];
    samples.push_back({link.from, link.to, link.round, link.value, is_one_name ? 1 : 0, false});
  }
  return {true, decode_culprits(samples, with_noise)};
}

Result<std::vector<RankPair>> choose_links(Comm& comm, const std::vector<Spot>& spots, std::span<const RankLink> mine,
                                           const DecodeSettings& settings, Look look) {
  auto gathered = comm.gather(std::as_bytes(mine), 0);
  if (!gathered) return tl::unexpected(gathered.error());
  std::vector<RankPair> chosen;
  if (comm.rank() == 0) {
    std::vector<RankLink> links;
    for (const ByteVector& one : *gathered)
      for (const RankLink& link : values_of<RankLink>(one)) links.push_back(link);
    const std::vector<int> node_of = nodes_of(spots);
    int groups = 0;
    for (const Decoded& decoded : decode_links(links, node_of, settings)) {
      const bool is_contended = decoded.culprits.contention.slow > 0;
      if (look == Look::without_contention && !is_contended) continue;
      const int units = decoded.is_between_nodes ? count_nodes(node_of) : static_cast<int>(node_of.size());
      const int most =
          look == Look::first && is_contended ? std::max(most_repeats, most_repeats_of_unit * units) : most_repeats;
      for (const LinkCell& cell : decoded.culprits.worth_repeating) {
        if (groups >= most) break;
        for (RankPair pair : ranks_of(cell, decoded.is_between_nodes, links, node_of)) {
          pair.group = groups;
          chosen.push_back(pair);
        }
        ++groups;
      }
    }
  }
  auto reported = comm.broadcast(std::as_bytes(std::span(chosen)), 0);
  if (!reported) return tl::unexpected(reported.error());
  return values_of<RankPair>(*reported);
}

}  // namespace muster::p2p
