#include "measure/link_class.hpp"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include "base/names.hpp"
#include "base/number.hpp"
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
  Spot spot;
  if (fields.size() != 7 || !read_number(fields[0], spot.node) || !read_number(fields[1], spot.pid) ||
      !read_number(fields[2], spot.cache) || !read_number(fields[3], spot.numa) ||
      !read_number(fields[4], spot.kernel) || !read_number(fields[5], spot.pid_space))
    return std::nullopt;
  auto mask = CpuMask::parse_list(fields[6]);
  if (!mask) return std::nullopt;
  spot.mask = std::move(*mask);
  return spot;
}

/// A number for the text of a file that is the same for all who share something; 0: it can't be read.
std::uint64_t number_of(const fs::path& file) {
  const auto text = read_file(file, 4096);
  if (!text || text->empty()) return 0;
  // FNV-1a, 64 bits.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : *text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return std::max<std::uint64_t>(hash, 1);
}

bool share_cpus(const Spot& a, const Spot& b) {
  const bool is_same_machine = a.node == b.node || (a.kernel != 0 && a.kernel == b.kernel);
  return is_same_machine && a.mask.intersects(b.mask);
}

}  // namespace

constexpr std::string_view link_class_names[] = {"cache", "numa", "node", "network"};

std::string_view to_string(LinkClass link) {
  return enum_name(link_class_names, link);
}

LinkClass class_of(const Spot& a, const Spot& b) {
  if (a.node != b.node) return LinkClass::network;
  if (a.cache >= 0 && a.cache == b.cache) return LinkClass::cache;
  if (a.numa >= 0 && a.numa == b.numa) return LinkClass::numa;
  return LinkClass::node;
}

Spot spot_here(const RankPlace& place, const Topology& topology, const fs::path& root) {
  Spot spot;
  spot.node = place.node_index;
  spot.pid = ::getpid();
  spot.kernel = number_of(root / "proc/sys/kernel/random/boot_id");
  struct stat space {};
  if (::stat((root / "proc/self/ns/pid").c_str(), &space) == 0) spot.pid_space = space.st_ino;
  spot.mask = topology.allowed;
  spot.cache = group_of(spot.mask, topology.cache_masks);
  spot.numa = group_of(spot.mask, topology.numa_masks);
  return spot;
}

Result<std::vector<Spot>> exchange_spots(Comm& comm, const Spot& mine) {
  const std::string text = fmt::format("{} {} {} {} {} {} {}", mine.node, mine.pid, mine.cache, mine.numa, mine.kernel,
                                       mine.pid_space, mine.mask.list());
  auto texts = comm.all_gather(std::as_bytes(std::span(text)));
  if (!texts) return tl::unexpected(texts.error());
  std::vector<Spot> spots;
  for (const ByteVector& one : *texts) {
    auto spot = parse_spot({reinterpret_cast<const char*>(one.data()), one.size()});
    if (!spot)
      return fail(ErrorKind::system, "placement", fmt::format("rank {} reported no readable one", spots.size()));
    spots.push_back(std::move(*spot));
  }
  return spots;
}

OwnCpuTime::OwnCpuTime(const std::vector<Spot>& spots, std::size_t self) {
  for (const Spot& spot : spots) {
    if (!share_cpus(spot, spots[self])) continue;
    pids_.push_back(spot.pid);
    // A number of another space would name another process here.
    is_readable_ = is_readable_ && spot.pid_space == spots[self].pid_space;
  }
}

std::optional<double> OwnCpuTime::seconds() const {
  if (!is_readable_) return std::nullopt;
  double sum = 0;
  for (const int pid : pids_) {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return std::nullopt;
    sum += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  return sum;
}

}  // namespace muster::p2p
