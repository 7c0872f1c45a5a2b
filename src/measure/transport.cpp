#include "measure/transport.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"
#include "measure/own_sockets.hpp"
#include "measure/reading_facts.hpp"
#include "model/fact_fields.hpp"

namespace muster::p2p {

namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem))
    names.push_back(entry->path().filename().string());
  return names;
}

/// Of a line of /proc/net/dev: eight numbers on what came in, bytes first, and eight on what went out.
double bytes_of(std::string_view line) {
  double sum = 0;
  int column = 0;
  for (const std::string& word : split(line, ' ')) {
    if (word.empty()) continue;
    if (column == 0 || column == 8) sum += leading_number<double>(word).value_or(0);
    ++column;
  }
  return sum;
}

double counter(const fs::path& file) {
  const auto text = read_file(file, 4096);
  return text ? leading_number<double>(*text).value_or(0) : 0;
}

template <class Act>
void each_port(const fs::path& root, Act act) {
  const fs::path devices = root / "sys/class/infiniband";
  for (const std::string& device : names_in(devices))
    for (const std::string& port : names_in(devices / device / "ports"))
      act(device + "/" + port, devices / device / "ports" / port);
}

}  // namespace

Counters read_counters(const fs::path& root) {
  Counters traffic;
  const std::string text = read_file(root / "proc/net/dev", 1u << 20).value_or("");
  for (const std::string_view line : lines(text))
    if (const auto colon = line.find(':'); colon != std::string_view::npos)
      traffic[std::string(trim(line.substr(0, colon)))] = bytes_of(line.substr(colon + 1));
  each_port(root, [&](const std::string& name, const fs::path& port) {
    // Counted in units of four bytes (InfiniBand Architecture Specification, volume 1, PortXmitData).
    traffic[name] = 4 * (counter(port / "counters/port_xmit_data") + counter(port / "counters/port_rcv_data"));
  });
  return traffic;
}

std::vector<std::string> fast_ports(const fs::path& root) {
  std::vector<std::string> ports;
  each_port(root, [&](const std::string& name, const fs::path& port) {
    const auto state = read_file(port / "state", 4096);
    if (state && state->find("ACTIVE") != std::string::npos) ports.push_back(name);
  });
  for (const std::string& name : names_in(root / "sys/class/cxi")) ports.push_back(name);
  return ports;
}

bool is_port(std::string_view carrier) {
  return carrier.find('/') != std::string_view::npos;
}

Traffic read_traffic() {
  return {read_counters(), own_socket_bytes()};
}

std::string carrier_of(LinkClass link, const Traffic& before, const Traffic& after, double bytes) {
  std::optional<double> through_sockets;
  if (before.sockets && after.sockets) through_sockets = *after.sockets - *before.sockets;
  std::string most;
  double moved = 0;
  for (const auto& [name, now] : after.interfaces) {
    if (link != LinkClass::network && name != "lo" && !is_port(name)) continue;
    const auto then = before.interfaces.find(name);
    double here = then == before.interfaces.end() ? 0 : now - then->second;
    // What goes through lo goes out and in again.
    if (name == "lo") here /= 2;
    if (through_sockets && !is_port(name)) here = std::min(here, *through_sockets);
    if (here > moved) most = name, moved = here;
  }
  if (bytes > 0 && moved >= 0.9 * bytes) return most;
  return link != LinkClass::network && moved < 0.1 * bytes ? "memory" : "unknown";
}

void Carriers::add(LinkClass link, const std::string& carrier, double bytes) {
  bytes_[{link, carrier}] += bytes;
}

std::vector<Fact> Carriers::facts() const {
  std::vector<Fact> facts;
  for (const auto& [key, bytes] : bytes_)
    facts.push_back(to_fact("transport", CarriedBytes{std::string(to_string(key.first)), key.second, bytes * 1e-9}));
  return facts;
}

}  // namespace muster::p2p
