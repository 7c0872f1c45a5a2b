#include "measure/domains.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "base/number.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "system/control_groups.hpp"
#include "system/meminfo.hpp"

namespace muster::memory_bandwidth {

namespace {

constexpr std::uint64_t mebibyte = 1u << 20;
constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

CpuMask mask_of(const fs::path& file) {
  return CpuMask::parse_list(read_line(file)).value_or(CpuMask());
}

fs::path cpu_folder(const fs::path& root, int cpu) {
  return root / "sys/devices/system/cpu" / fmt::format("cpu{}", cpu);
}

CpuMask one_per_core(const CpuMask& cpus, const fs::path& root) {
  CpuMask chosen;
  CpuMask taken;
  for (const int cpu : cpus.cpus()) {
    if (taken.has(cpu)) continue;
    chosen.add(cpu);
    taken = taken | mask_of(cpu_folder(root, cpu) / "topology/thread_siblings_list");
  }
  return chosen;
}

/// One CPU of each core that has none in `allowed`.
CpuMask untouched(const CpuMask& cpus, const CpuMask& allowed, const fs::path& root) {
  CpuMask cores;
  for (const int cpu : one_per_core(cpus, root).cpus()) {
    CpuMask siblings = mask_of(cpu_folder(root, cpu) / "topology/thread_siblings_list");
    siblings.add(cpu);
    if (!siblings.intersects(allowed)) cores.add(cpu);
  }
  return cores;
}

struct Cache {
  int level = 0;
  std::string shared_by;
  std::uint64_t bytes = 0;
};

Cache last_cache(int cpu, const fs::path& root) {
  Cache last;
  for (int index = 0; index < 16; ++index) {
    const fs::path folder = cpu_folder(root, cpu) / "cache" / fmt::format("index{}", index);
    const auto level = parse_number<std::uint64_t>(read_line(folder / "level"));
    if (!level) break;
    std::string size = read_line(folder / "size");
    if (size.empty() || size.back() != 'K' || read_line(folder / "type") == "Instruction") continue;
    size.pop_back();
    const auto kibibytes = parse_number<std::uint64_t>(size);
    if (!kibibytes || static_cast<int>(*level) <= last.level) continue;
    last = {static_cast<int>(*level), read_line(folder / "shared_cpu_list"), *kibibytes << 10};
  }
  return last;
}

std::uint64_t cache_of(const CpuMask& cpus, const fs::path& root) {
  std::set<std::string> counted;
  std::uint64_t bytes = 0;
  for (const int cpu : cpus.cpus()) {
    const Cache cache = last_cache(cpu, root);
    if (cache.bytes > 0 && counted.insert(cache.shared_by).second) bytes += cache.bytes;
  }
  return bytes;
}

/// What the group in `folder` may still take: version 2's file names, then version 1's.
std::uint64_t headroom(const fs::path& folder) {
  for (const auto& [limit, used] :
       {std::pair("memory.max", "memory.current"), std::pair("memory.limit_in_bytes", "memory.usage_in_bytes")}) {
    const auto most = parse_number<std::uint64_t>(read_line(folder / limit));
    const auto now = parse_number<std::uint64_t>(read_line(folder / used));
    if (most && now) return *most > *now ? *most - *now : 0;
  }
  return unlimited;
}

std::uint64_t headroom_of_groups(const fs::path& root) {
  std::uint64_t least = unlimited;
  for (const ControlGroup& group : control_groups("memory", root)) least = std::min(least, headroom(group.folder));
  return least;
}

}  // namespace

std::vector<Domain> read_domains(const CpuMask& allowed, const fs::path& root) {
  std::vector<Domain> domains;
  for (const int number : mask_of(root / "sys/devices/system/node/has_cpu").cpus()) {
    const CpuMask all = mask_of(root / "sys/devices/system/node" / fmt::format("node{}", number) / "cpulist");
    const CpuMask near = all & allowed;
    if (!near.empty())
      domains.push_back({std::to_string(number), one_per_core(near, root), untouched(all, allowed, root), 0});
  }
  if (domains.empty()) domains.push_back({"0", one_per_core(allowed, root), closed_cores(allowed, root), 0});
  for (Domain& domain : domains) domain.cache = cache_of(domain.cpus, root);
  return domains;
}

CpuMask closed_cores(const CpuMask& allowed, const fs::path& root) {
  return untouched(mask_of(root / "sys/devices/system/cpu/online"), allowed, root);
}

std::uint64_t read_available_memory(const fs::path& root) {
  return std::min(read_meminfo("MemAvailable:", root), headroom_of_groups(root));
}

Result<Size> choose_size(std::uint64_t asked, std::uint64_t cache, int threads, std::uint64_t available) {
  if (asked > 0) {
    if (available > 0 && asked > available / 3)
      return fail(ErrorKind::system, "memory",
                  fmt::format("three arrays of {} don't fit into {:.3g} GiB of free memory", format_bytes({asked}),
                              static_cast<double>(available) / (1u << 30)));
    return Size{asked, "as asked"};
  }
  const std::uint64_t wanted = cache > 0 ? times_of_cache * cache : 128 * mebibyte;
  const std::uint64_t by_time = static_cast<std::uint64_t>(std::max(threads, 1)) * 256 * mebibyte;
  const std::uint64_t by_memory = available > 0 ? available / 24 / mebibyte * mebibyte : unlimited;
  const std::string caches = cache > 0 ? fmt::format("last-level cache of {}", format_bytes({cache}))
                                       : std::string("last-level cache, whose size is unknown");
  if (std::min(by_memory, by_time) == 0) return fail(ErrorKind::system, "memory", "less than 24 MiB are free");
  if (wanted <= std::min(by_memory, by_time))
    return Size{wanted, cache > 0 ? "4 x the " + caches : "a guess: " + caches};
  if (by_memory <= by_time) return Size{by_memory, "bounded by free memory, less than 4 x the " + caches};
  return Size{by_time, "bounded by time, less than 4 x the " + caches};
}

}  // namespace muster::memory_bandwidth
