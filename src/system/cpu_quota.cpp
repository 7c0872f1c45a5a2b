#include "system/cpu_quota.hpp"

#include <cstdlib>

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// nullopt: no number, or one below zero, which means no limit.
std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || !(value >= 0)) return std::nullopt;
  return value;
}

/// Version 2: `150000 100000` or `max 100000`.
std::optional<double> quota_in(const fs::path& folder) {
  std::optional<double> quota, period;
  if (const auto words = split(read_line(folder / "cpu.max"), ' '); words.size() == 2) {
    quota = number_of(words[0]);
    period = number_of(words[1]);
  } else {
    quota = number_of(read_line(folder / "cpu.cfs_quota_us"));
    period = number_of(read_line(folder / "cpu.cfs_period_us"));
  }
  if (!quota || !period || *period <= 0) return std::nullopt;
  return *quota / *period;
}

void take_tighter(const fs::path& folder, const std::string& group, std::optional<CpuQuota>& tightest) {
  const auto cpus = quota_in(folder);
  if (cpus && (!tightest || *cpus < tightest->cpus)) tightest = CpuQuota{*cpus, group};
}

}  // namespace

std::optional<CpuQuota> read_cpu_quota(const fs::path& root) {
  std::optional<CpuQuota> tightest;
  const auto groups = read_file(root / "proc/self/cgroup", 1u << 16);
  for (const std::string_view line : groups ? lines(*groups) : std::vector<std::string_view>()) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1));
    const auto names = split(controllers, ',');
    if (!controllers.empty() && !is_in("cpu", names)) continue;
    // Version 1 mounts a hierarchy by its controllers' names or has a link of the controller's.
    fs::path top = root / "sys/fs/cgroup" / controllers;
    if (std::error_code error; !controllers.empty() && !fs::exists(top, error)) top = root / "sys/fs/cgroup/cpu";
    const fs::path own = fs::path(line.substr(second + 1)).relative_path();
    for (fs::path group = own; !group.empty(); group = group.parent_path())
      take_tighter(top / group, "/" + group.string(), tightest);
    take_tighter(top, "/", tightest);  // in a container this is its own
  }
  return tightest;
}

}  // namespace muster
