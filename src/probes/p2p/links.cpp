#include "probes/p2p/links.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "stats/stats.hpp"

namespace muster::p2p {

namespace {

int unit_of(int rank, bool is_between_nodes, std::span<const int> node_of) {
  return is_between_nodes ? node_of[static_cast<std::size_t>(rank)] : rank;
}

template <class T>
std::vector<T> values_of(const ByteVector& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// What wobbles within a reading wobbles between readings; and three readings of one link, alone, should be alike.
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
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (values.size() >= 3) ranges.push_back((*high - *low) / range_of_three);
  }
  return std::max(median(spreads).value_or(0), median(ranges).value_or(0));
}

/// The slowest link that was measured from unit to unit: where only one rank of a node is slow, others would clear it.
RankPair ranks_of(const LinkCell& cell, const Decoded& decoded, std::span<const RankLink> links,
                  std::span<const int> node_of) {
  const RankLink* slowest = nullptr;
  for (const RankLink& link : links)
    if ((link.link == LinkClass::network) == decoded.is_between_nodes &&
        unit_of(link.from, decoded.is_between_nodes, node_of) == cell.from &&
        unit_of(link.to, decoded.is_between_nodes, node_of) == cell.to &&
        (slowest == nullptr || link.value < slowest->value))
      slowest = &link;
  return slowest == nullptr ? RankPair() : RankPair{slowest->from, slowest->to};
}

}  // namespace

std::vector<int> nodes_of(const std::vector<Spot>& spots) {
  std::vector<int> node_of;
  for (const Spot& spot : spots) node_of.push_back(spot.node);
  return node_of;
}

std::vector<Decoded> decode_links(std::span<const RankLink> links, std::span<const int> node_of,
                                  const DecodeSettings& settings) {
  std::vector<Decoded> all;
  for (const bool is_between_nodes : {false, true}) {
    std::vector<RankLink> same;
    for (const RankLink& link : links)
      if ((link.link == LinkClass::network) == is_between_nodes) same.push_back(link);
    DecodeSettings with_noise = settings;
    with_noise.noise_floor = std::max(settings.noise_floor, noise_of(same));
    std::vector<LinkSample> samples;
    for (const RankLink& link : same) {
      samples.push_back({unit_of(link.from, is_between_nodes, node_of), unit_of(link.to, is_between_nodes, node_of),
                         link.round, link.value, static_cast<int>(link.link), link.is_alone});
    }
    if (!samples.empty()) all.push_back({is_between_nodes, decode_culprits(samples, with_noise)});
  }
  return all;
}

Result<std::vector<RankPair>> choose_links(Comm& comm, const std::vector<Spot>& spots, std::span<const RankLink> mine,
                                           const DecodeSettings& settings) {
  auto gathered = comm.gather(std::as_bytes(mine), 0);
  if (!gathered) return tl::unexpected(gathered.error());
  std::vector<RankPair> chosen;
  if (comm.rank() == 0) {
    std::vector<RankLink> links;
    for (const ByteVector& one : *gathered)
      for (const RankLink& link : values_of<RankLink>(one)) links.push_back(link);
    const std::vector<int> node_of = nodes_of(spots);
    for (const Decoded& decoded : decode_links(links, node_of, settings))
      for (const LinkCell& cell : decoded.culprits.worth_repeating)
        if (const auto ranks = ranks_of(cell, decoded, links, node_of); ranks.from >= 0) chosen.push_back(ranks);
    chosen.resize(std::min<std::size_t>(chosen.size(), 32));
  }
  auto told = comm.broadcast(std::as_bytes(std::span(chosen)), 0);
  if (!told) return tl::unexpected(told.error());
  return values_of<RankPair>(*told);
}

}  // namespace muster::p2p
