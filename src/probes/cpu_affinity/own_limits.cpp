#include "probes/cpu_affinity/own_limits.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.hpp"

namespace muster::affinity {

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
  return CpuMask::parse_list(policy.substr(blank + 1)).value_or(CpuMask());
}

CpuMask read_allowed_memory(const fs::path& root) {
  constexpr std::string_view key = "Mems_allowed_list:";
  const auto status = read_file(root / "proc/self/status", 1u << 20);
  for (const std::string_view line : status ? lines(*status) : std::vector<std::string_view>()) {
    if (line.substr(0, key.size()) != key) continue;
    return CpuMask::parse_list(trim(line.substr(key.size()))).value_or(CpuMask());
  }
  return {};
}

std::map<int, CpuMask> read_numa_domains(const fs::path& root) {
  std::map<int, CpuMask> domains;
  const fs::path folder = root / "sys/devices/system/node";
  const auto numbers = CpuMask::parse_list(read_line(folder / "has_cpu"));
  for (const int number : numbers ? numbers->cpus() : std::vector<int>()) {
    const auto cpus = CpuMask::parse_list(read_line(folder / fmt::format("node{}", number) / "cpulist"));
    if (cpus && !cpus->empty()) domains[number] = *cpus;
  }
  return domains;
}

}  // namespace muster::affinity
