#include "run/listening_ports.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <vector>

#include "base/files.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"

namespace muster {

namespace {

constexpr std::string_view listening = "0A";

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
  return colon == address.npos ? std::nullopt : parse_number<unsigned long>(address.substr(colon + 1), 16);
}

}  // namespace

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

bool has_network_of_this_node(int pid) {
  std::error_code problem;
  return fs::read_symlink(fmt::format("/proc/{}/ns/net", pid), problem) ==
         fs::read_symlink("/proc/self/ns/net", problem);
}

bool has_another_network(int pid) {
  std::error_code problem;
  (void)fs::read_symlink(fmt::format("/proc/{}/ns/net", pid), problem);
  return !problem && !has_network_of_this_node(pid);
}

std::optional<OverloadedPort> parse_overloaded_port(std::string_view tcp, const std::set<std::string>& inodes,
                                                    std::size_t most) {
  // Local address, remote address, state, queues, ..., inode.
  constexpr std::size_t local = 1, remote = 2, state = 3, inode = 9;
  // The kernel lists a connection twice at times, where others come and go while it is read.
  std::map<unsigned long, std::set<std::pair<std::string_view, std::string_view>>> connections;
  std::set<unsigned long> ports;
  for (const std::string_view line : lines(tcp)) {
    const auto row = columns(line);
    const auto port = row.size() > inode ? port_in(row[local]) : std::nullopt;
    if (!port) continue;
    if (row[state] != listening)
      connections[*port].insert({row[local], row[remote]});
    else if (inodes.count(std::string(row[inode])) != 0)
      ports.insert(*port);
  }
  std::optional<OverloadedPort> worst;
  for (const auto port : ports)
    if (const auto count = connections[port].size(); count > most && (!worst || count > worst->connections))
      worst = OverloadedPort{static_cast<int>(port), count};
  return worst;
}

std::optional<ForeignCaller> parse_foreign_caller(std::string_view tcp, const std::set<std::string>& inodes,
                                                  bool (*is_foreign)(uid_t user)) {
  constexpr std::size_t local = 1, remote = 2, state = 3, user = 7, inode = 9;
  std::set<unsigned long> ports;
  for (const std::string_view line : lines(tcp))
    if (const auto row = columns(line);
        row.size() > inode && row[state] == listening && inodes.count(std::string(row[inode])) != 0)
      if (const auto port = port_in(row[local])) ports.insert(*port);
  // This end of connections to them, also of those that are not accepted yet: another host has the same port numbers.
  std::set<std::string_view> here;
  for (const std::string_view line : lines(tcp)) {
    const auto row = columns(line);
    const auto port = row.size() > inode && row[state] != listening ? port_in(row[local]) : std::nullopt;
    if (port && ports.count(*port) > 0) here.insert(row[local]);
  }
  for (const std::string_view line : lines(tcp)) {
    const auto row = columns(line);
    const auto port = row.size() > inode && row[inode] != "0" ? port_in(row[remote]) : std::nullopt;
    if (!port || ports.count(*port) == 0 || here.count(row[remote]) == 0) continue;
    const auto number = leading_number<unsigned>(row[user]);
    if (number && is_foreign(*number)) return ForeignCaller{static_cast<int>(*port), *number};
  }
  return std::nullopt;
}

namespace {

constexpr std::size_t most_table_bytes = 256u << 20;

/// `find(text)` of the tables of the process, IPv4 first.
template <class Find>
auto in_tables(int pid, Find find) {
  decltype(find(std::string_view())) found;
  for (const char* family : {"tcp", "tcp6"})
    if (const auto text = read_file(fmt::format("/proc/{}/net/{}", pid, family), most_table_bytes); text && !found)
      found = find(*text);
  return found;
}

}  // namespace

std::optional<ForeignCaller> find_foreign_caller(const std::vector<int>& pids) {
  struct Network {
    int pid = 0;
    std::set<std::string> inodes;
  };
  std::map<std::string, Network> networks;
  for (const int pid : pids) {
    std::error_code problem;
    Network& network = networks[fs::read_symlink(fmt::format("/proc/{}/ns/net", pid), problem).string()];
    network.pid = pid;
    network.inodes.merge(sockets_of(pid));
  }
  for (const auto& [name, network] : networks) {
    const std::set<std::string>& inodes = network.inodes;
    if (const auto found = in_tables(
            network.pid, [&](std::string_view tcp) { return parse_foreign_caller(tcp, inodes, is_other_user); }))
      return found;
  }
  return std::nullopt;
}

bool has_any_port(std::string_view command_line, const std::set<int>& ports) {
  return std::any_of(ports.begin(), ports.end(), [&](int port) {
    const std::string mark = fmt::format(":{}", port);
    for (std::size_t at = command_line.find(mark); at != command_line.npos; at = command_line.find(mark, at + 1))
      if (const std::size_t end = at + mark.size();
          end >= command_line.size() || command_line[end] < '0' || command_line[end] > '9')
        return true;
    return false;
  });
}

bool is_called_with(int pid, const std::set<int>& ports) {
  const auto line = read_file(fmt::format("/proc/{}/cmdline", pid));
  return line && has_any_port(*line, ports);
}

bool is_called_with(int pid, const std::vector<std::string>& hosts, const std::set<int>& ports) {
  const auto line = read_file(fmt::format("/proc/{}/cmdline", pid));
  const auto words = line ? split(*line, '\0') : std::vector<std::string>();
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return has_any_port(word, ports) && std::any_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
             return !host.empty() && word.find(host) != word.npos;
           });
  });
}

std::set<int> free_ports(std::set<int> ports) {
  constexpr std::size_t local = 1, state = 3;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    const auto text = read_file(table, most_table_bytes);
    if (!text) continue;
    for (const std::string_view line : lines(*text))
      if (const auto row = columns(line); row.size() > state && row[state] == listening)
        if (const auto port = port_in(row[local])) ports.erase(static_cast<int>(*port));
  }
  return ports;
}

std::set<int> listening_ports(int pid) {
  return listening_ports(pid, sockets_of(pid));
}

std::set<int> listening_ports(int pid, const std::set<std::string>& inodes) {
  constexpr std::size_t local = 1, state = 3, inode = 9;
  std::set<int> ports;
  for (const char* family : {"tcp", "tcp6"}) {
    const auto text = read_file(fmt::format("/proc/{}/net/{}", pid, family), most_table_bytes);
    if (!text) continue;
    for (const std::string_view line : lines(*text))
      if (const auto row = columns(line);
          row.size() > inode && row[state] == listening && inodes.count(std::string(row[inode])) != 0)
        if (const auto port = port_in(row[local])) ports.insert(static_cast<int>(*port));
  }
  return ports;
}

std::optional<OverloadedPort> find_overloaded_port(int pid, std::size_t most) {
  const auto inodes = sockets_of(pid);
  return in_tables(pid, [&](std::string_view tcp) { return parse_overloaded_port(tcp, inodes, most); });
}

}  // namespace muster
