#include "probes/p2p/link_class.hpp"

#include <charconv>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text.hpp"

namespace muster::p2p {

namespace {

/// The one of `groups` that `mask` lies in; -1: none.
int group_of(const CpuMask& mask, const std::vector<CpuMask>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (mask.intersects(groups[i])) return (mask & groups[i]) == mask ? static_cast<int>(i) : -1;
  return -1;
}

std::optional<Spot> parse_spot(std::string_view text) {
  const auto fields = split(text, ' ');
  if (fields.size() != 5) return std::nullopt;
  Spot spot;
  int* numbers[] = {&spot.node, &spot.pid, &spot.cache, &spot.numa};
  for (std::size_t i = 0; i < std::size(numbers); ++i) {
    const std::string& field = fields[i];
    if (std::from_chars(field.data(), field.data() + field.size(), *numbers[i]).ptr != field.data() + field.size())
      return std::nullopt;
  }
  auto mask = CpuMask::parse_list(fields[4]);
  if (!mask) return std::nullopt;
  spot.mask = std::move(*mask);
  return spot;
}

}  // namespace

std::string_view to_string(LinkClass link) {
  switch (link) {
    case LinkClass::cache:
      return "cache";
    case LinkClass::numa:
      return "numa";
    case LinkClass::node:
      return "node";
    case LinkClass::network:
      return "network";
  }
  return "network";
}

LinkClass class_of(const Spot& a, const Spot& b) {
  if (a.node != b.node) return LinkClass::network;
  if (a.cache >= 0 && a.cache == b.cache) return LinkClass::cache;
  if (a.numa >= 0 && a.numa == b.numa) return LinkClass::numa;
  return LinkClass::node;
}

Spot spot_here(const RankPlace& place, const Topology& topology) {
  Spot spot;
  spot.node = place.node_index;
  spot.pid = ::getpid();
  spot.mask = topology.allowed;
  spot.cache = group_of(spot.mask, topology.cache_masks);
  spot.numa = group_of(spot.mask, topology.numa_masks);
  return spot;
}

Result<std::vector<Spot>> exchange_spots(Comm& comm, const Spot& mine) {
  const std::string text = fmt::format("{} {} {} {} {}", mine.node, mine.pid, mine.cache, mine.numa, mine.mask.list());
  auto texts = comm.all_gather(std::as_bytes(std::span(text)));
  if (!texts) return tl::unexpected(texts.error());
  std::vector<Spot> spots;
  for (const ByteVector& one : *texts) {
    auto spot = parse_spot({reinterpret_cast<const char*>(one.data()), one.size()});
    if (!spot) return fail(ErrorKind::system, "placement", fmt::format("rank {} told no readable one", spots.size()));
    spots.push_back(std::move(*spot));
  }
  return spots;
}

OwnCpuTime::OwnCpuTime(const std::vector<Spot>& spots, std::size_t self) {
  for (const Spot& spot : spots)
    if (spot.node == spots[self].node && spot.mask.intersects(spots[self].mask)) pids_.push_back(spot.pid);
}

std::optional<double> OwnCpuTime::seconds() const {
  double sum = 0;
  for (const int pid : pids_) {
    clockid_t clock{};
    timespec time{};
    // Not in a container that has process numbers of its own.
    if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return std::nullopt;
    sum += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  return sum;
}

}  // namespace muster::p2p
