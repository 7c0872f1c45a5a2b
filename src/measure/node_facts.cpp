#include "measure/node_facts.hpp"

#include <algorithm>
#include <sys/resource.h>

#include "base/number.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "system/this_machine.hpp"

namespace muster::environment {

std::string machine_identity(const fs::path& root) {
  if (const auto boot = read_file(root / "proc/sys/kernel/random/boot_id", 4096); boot && !trim(*boot).empty())
    return "boot " + printable_line(trim(*boot), 64);
  if (const auto id = read_file(root / "etc/machine-id", 4096); id && !trim(*id).empty())
    return "machine " + printable_line(trim(*id), 64);
  return {};
}

std::vector<std::string> rdma_devices(const fs::path& root) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(root / "sys/class/infiniband", error), end; !error && at != end; at.increment(error))
    names.push_back(printable_line(at->path().filename().string(), 64));
  std::sort(names.begin(), names.end());
  return names;
}

bool may_lock_freely(const fs::path& root) {
  constexpr unsigned ipc_lock = 14;  // CAP_IPC_LOCK in linux/capability.h
  const auto status = read_file(root / "proc/self/status", 1u << 20);
  if (!status) return false;
  for (std::string_view line : lines(*status)) {
    constexpr std::string_view key = "CapEff:";
    if (line.substr(0, key.size()) != key) continue;
    const auto effective = parse_number<std::uint64_t>(trim(line.substr(key.size())), 16);
    return effective && (*effective >> ipc_lock & 1u) != 0;
  }
  return false;
}

std::array<Limit, limits.size()> read_limits() {
  std::array<Limit, limits.size()> found;
  constexpr std::array which = {RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_CORE};
  for (std::size_t i = 0; i < which.size(); ++i) {
    rlimit limit{};
    // It fails for a bad argument only.
    if (::getrlimit(which[i], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) found[i] = limit.rlim_cur;
    const auto message = this_machine().limits.find(std::string(limits[i].name));
    if (const auto other = message == this_machine().limits.end() ? std::nullopt : parse_limit(message->second))
      found[i] = *other;
  }
  return found;
}

std::string to_text(const Limit& limit) {
  return limit ? std::to_string(*limit) : "unlimited";
}

std::optional<Limit> parse_limit(std::string_view text) {
  if (text == "unlimited") return std::make_optional(Limit());
  const Limit number = parse_number<std::uint64_t>(text);
  return number ? std::make_optional(number) : std::nullopt;
}

std::string limit_words(const Limit& limit, bool is_bytes) {
  if (!limit) return "unlimited";
  if (*limit == 0) return "0";
  return is_bytes ? format_bytes(Bytes{*limit}) : std::to_string(*limit);
}

}  // namespace muster::environment
