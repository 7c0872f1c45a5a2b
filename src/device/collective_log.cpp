#include "device/collective_log.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// What stands behind `mark`; empty: it is not there.
std::string_view behind(std::string_view line, std::string_view mark) {
  const auto at = line.find(mark);
  return at == std::string_view::npos ? std::string_view() : line.substr(at + mark.size());
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// `NET/IB/0/GDRDMA` -> `NET/IB/GDRDMA`, `P2P/CUMEM/read` -> `P2P/CUMEM`, `SHM/direct/direct` -> `SHM`.
std::string way_of(std::string_view via) {
  // RCCL goes on in the same line.
  via = via.substr(0, via.find(" comm "));
  auto parts = split(std::string(trim(via)), '/');
  if (parts.empty() || parts[0].empty()) return {};
  if (parts[0] == "SHM") return "SHM";
  if (parts[0] == "P2P") return parts.size() < 2 ? parts[0] : "P2P/" + parts[1].substr(0, parts[1].find(' '));
  std::erase_if(parts, is_number);
  // Direct pointers, shared buffers: details of a way.
  std::erase_if(parts, [](const std::string& part) { return part == "Shared" || part == "Direct"; });
  return printable_line(join(parts, "/"), 60);
}

/// The rank at the begin of `15[7] -> 0[0]`; -1: none.
int rank_in(std::string_view text) {
  text = trim(text);
  const auto rank = take_number<int>(text);
  return rank && text.starts_with('[') ? *rank : -1;
}

/// Of a line of a channel: ` 00/0 : 15[7] -> 0[0] [receive] via ...`.
Connection connection_in(std::string_view line, std::string way) {
  const std::string_view ranks = behind(behind(line, " Channel "), " : ");
  return {rank_in(ranks), rank_in(behind(ranks, "->")), std::move(way)};
}

std::string provider_of(std::string_view line) {
  for (const std::string_view mark : {"Selected provider is ", "Selected Provider is "}) {
    const std::string_view rest = behind(line, mark);
    if (!rest.empty()) return printable_line(trim(rest.substr(0, rest.find_first_of(" ,("))), 40);
  }
  return {};
}

/// `aws-ofi-rccl 1.4.0`; newer plugins write `Initializing aws-ofi-nccl GitHub-dev`.
std::string plugin_of(std::string_view line) {
  for (const std::string_view mark : {"Using aws-ofi-", "Initializing aws-ofi-"}) {
    const std::string_view rest = behind(line, mark);
    if (!rest.empty()) return printable_line(fmt::format("aws-ofi-{}", trim(rest)), 60);
  }
  return {};
}

}  // namespace

Connections read_connections(std::string_view log) {
  Connections seen;
  for (const std::string_view line : lines(log)) {
    if (line.find("NCCL INFO") == std::string_view::npos) continue;
    if (const auto network = behind(line, "Using network "); !network.empty())
      seen.network = printable_line(trim(network.substr(0, network.find(" comm "))), 60);
    if (auto provider = provider_of(line); !provider.empty()) seen.provider = std::move(provider);
    if (auto plugin = plugin_of(line); !plugin.empty()) seen.plugin = std::move(plugin);
    const auto via = behind(line, " via ");
    // Others use the word in prose: only lines of channels describe a connection.
    if (via.empty() || line.find(" Channel ") == std::string_view::npos) continue;
    const std::string way = way_of(via);
    if (way.empty()) continue;
    ++seen.ways[way];
    if (Connection one = connection_in(line, way); one.from >= 0 && one.to >= 0) seen.between.insert(std::move(one));
  }
  return seen;
}

std::string describe(const Connections& connections) {
  std::vector<std::string> ways;
  for (const auto& [way, count] : connections.ways) ways.push_back(fmt::format("{} {}", count, way));
  if (ways.empty()) return "unknown";
  std::string text = join(ways, ", ");
  if (!connections.network.empty())
    text += fmt::format(" (network {}{}{})", connections.network,
                        connections.provider.empty() ? "" : ", provider " + connections.provider,
                        connections.plugin.empty() ? "" : ", plugin " + connections.plugin);
  return text;
}

bool misses_slingshot(const Connections& connections, const std::vector<std::string>& ports) {
  const auto& ways = connections.ways;
  return !connections.provider.empty() && !connections.provider.starts_with("cxi") &&
         std::any_of(ways.begin(), ways.end(), [](const auto& way) { return way.first.starts_with("NET/"); }) &&
         std::any_of(ports.begin(), ports.end(), [](const std::string& port) { return port.starts_with("cxi"); });
}

bool is_socket(std::string_view way) {
  return way.rfind("NET/Socket", 0) == 0;
}

}  // namespace muster
