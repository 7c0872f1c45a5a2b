#include "run/crowded_port.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::string_view listening = "0A";

std::optional<unsigned long> hex_number(std::string_view text) {
  unsigned long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::vector<std::string_view> columns(std::string_view line) {
  std::vector<std::string_view> found;
  for (std::size_t at = line.find_first_not_of(' '); at != line.npos; at = line.find_first_not_of(' ', at)) {
    const auto end = std::min(line.find(' ', at), line.size());
    found.push_back(line.substr(at, end - at));
    at = end;
  }
  return found;
}

std::optional<unsigned long> port_in(std::string_view address) {
  const auto colon = address.rfind(':');
  return colon == address.npos ? std::nullopt : hex_number(address.substr(colon + 1));
}

std::set<std::string> sockets_of(int pid) {
  std::set<std::string> inodes;
  std::error_code error;
  for (fs::directory_iterator at(fmt::format("/proc/{}/fd", pid), error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    const auto target = fs::read_symlink(at->path(), gone).string();
    if (target.starts_with("socket:[") && target.ends_with(']')) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

}  // namespace

std::optional<CrowdedPort> parse_crowded_port(std::string_view tcp, const std::set<std::string>& inodes,
                                              std::size_t most) {
  // Local address, remote address, state, queues, ..., inode.
  constexpr std::size_t local = 1, state = 3, inode = 9;
  std::map<unsigned long, std::size_t> connections;
  std::set<unsigned long> ports;
  for (const std::string_view line : lines(tcp)) {
    const auto row = columns(line);
    const auto port = row.size() > inode ? port_in(row[local]) : std::nullopt;
    if (!port) continue;
    if (row[state] != listening)
      ++connections[*port];
    else if (inodes.count(std::string(row[inode])) != 0)
      ports.insert(*port);
  }
  std::optional<CrowdedPort> worst;
  for (const auto port : ports)
    if (const auto count = connections[port]; count > most && (!worst || count > worst->connections))
      worst = CrowdedPort{static_cast<int>(port), count};
  return worst;
}

std::optional<CrowdedPort> find_crowded_port(int pid, std::size_t most) {
  constexpr std::size_t most_bytes = 256u << 20;
  const auto inodes = sockets_of(pid);
  for (const char* family : {"tcp", "tcp6"})
    if (const auto text = read_file(fmt::format("/proc/{}/net/{}", pid, family), most_bytes))
      if (auto found = parse_crowded_port(*text, inodes, most)) return found;
  return std::nullopt;
}

}  // namespace muster
