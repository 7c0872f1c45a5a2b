#include "probes/cpu_affinity/own_limits.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.hpp"

namespace muster::affinity {

namespace {

std::string line_of(const fs::path& file) {
  const auto text = read_file(file, 1u << 16);
  return text ? std::string(trim(*text)) : std::string();
}

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
  if (const auto words = split(line_of(folder / "cpu.max"), ' '); words.size() == 2) {
    quota = number_of(words[0]);
    period = number_of(words[1]);
  } else {
    quota = number_of(line_of(folder / "cpu.cfs_quota_us"));
    period = number_of(line_of(folder / "cpu.cfs_period_us"));
  }
  if (!quota || !period || *period <= 0) return std::nullopt;
  return *quota / *period;
}

void take_tighter(const fs::path& folder, const std::string& group, std::optional<Quota>& tightest) {
  const auto cpus = quota_in(folder);
  if (cpus && (!tightest || *cpus < tightest->cpus)) tightest = Quota{*cpus, group};
}

}  // namespace

Result<std::string> read_memory_policy() {
  constexpr std::array names = {"default",        "preferred",          "bind", "interleave", "local",
                                "preferred-many", "weighted-interleave"};
  // A page of bits is the most that the kernel takes; this is the most domains that any kernel knows, and then some.
  std::array<unsigned long, 64> bits{};
  int mode = 0;
  if (::syscall(SYS_get_mempolicy, &mode, bits.data(), bits.size() * sizeof bits[0] * 8, nullptr, 0) != 0)
    return fail(ErrorKind::system, "get_mempolicy", std::strerror(errno));
  const auto kind = static_cast<std::size_t>(mode & 0xfff);  // above it are flags
  CpuMask domains;
  constexpr int width = sizeof bits[0] * 8;
  for (int i = 0; i < static_cast<int>(bits.size()) * width; ++i)
    if ((bits[static_cast<std::size_t>(i / width)] >> (i % width) & 1u) != 0) domains.add(i);
  const std::string name = kind < names.size() ? names[kind] : fmt::format("mode-{}", kind);
  return domains.empty() ? name : name + " " + domains.list();
}

CpuMask domains_in_policy(std::string_view policy) {
  const std::size_t blank = policy.find(' ');
  if (blank == policy.npos) return {};
  const auto domains = CpuMask::parse_list(policy.substr(blank + 1));
  return domains ? *domains : CpuMask();
}

CpuMask read_allowed_memory(const fs::path& root) {
  constexpr std::string_view key = "Mems_allowed_list:";
  const auto status = read_file(root / "proc/self/status", 1u << 20);
  for (const std::string_view line : status ? lines(*status) : std::vector<std::string_view>()) {
    if (line.substr(0, key.size()) != key) continue;
    const auto mask = CpuMask::parse_list(trim(line.substr(key.size())));
    return mask ? *mask : CpuMask();
  }
  return {};
}

std::optional<Quota> read_quota(const fs::path& root) {
  std::optional<Quota> tightest;
  const auto groups = read_file(root / "proc/self/cgroup", 1u << 16);
  for (const std::string_view line : groups ? lines(*groups) : std::vector<std::string_view>()) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1));
    const auto names = split(controllers, ',');
    if (!controllers.empty() && std::find(names.begin(), names.end(), "cpu") == names.end()) continue;
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

std::map<int, CpuMask> read_numa_domains(const fs::path& root) {
  std::map<int, CpuMask> domains;
  const fs::path folder = root / "sys/devices/system/node";
  const auto numbers = CpuMask::parse_list(line_of(folder / "has_cpu"));
  for (const int number : numbers ? numbers->cpus() : std::vector<int>()) {
    const auto cpus = CpuMask::parse_list(line_of(folder / fmt::format("node{}", number) / "cpulist"));
    if (cpus && !cpus->empty()) domains[number] = *cpus;
  }
  return domains;
}

}  // namespace muster::affinity
