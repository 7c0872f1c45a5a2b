#include "system/cpu_quota.hpp"

#include <cstdlib>

#include "base/text.hpp"
#include "system/control_groups.hpp"

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

}  // namespace

std::optional<CpuQuota> read_cpu_quota(const fs::path& root) {
  std::optional<CpuQuota> tightest;
  for (const ControlGroup& group : control_groups("cpu", root)) {
    const auto cpus = quota_in(group.folder);
    if (cpus && (!tightest || *cpus < tightest->cpus)) tightest = CpuQuota{*cpus, group.name};
  }
  return tightest;
}

}  // namespace muster
