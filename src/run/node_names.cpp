#include "run/node_names.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "run/per_node.hpp"
#include "run/remote_exec.hpp"

namespace muster {

namespace {

using Names = std::vector<std::string>;

/// As text; empty: it does not resolve.
std::set<std::string> addresses_of(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::set<std::string> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    char text[NI_MAXHOST] = {};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      addresses.insert(text);
  }
  return addresses;
}

bool have_one_address(const std::string& name, const std::string& host) {
  const auto addresses = addresses_of(name);
  if (addresses.empty()) return false;
  const auto others = addresses_of(host);
  return std::any_of(addresses.begin(), addresses.end(), [&](const auto& one) { return others.count(one) != 0; });
}

std::string without_domain(const std::string& name) {
  return name.substr(0, name.find('.'));
}

/// As Slurm calls each node of the world, by a variable of its ranks. Empty: not at all, or another node reports that
/// as its host name: a variable of a rank names no other node.
Names slurm_names(const World& world) {
  std::set<std::string> hosts, full;  // `full`: without their domains, of those that have one
  for (const NodeProvenance& node : world.nodes) {
    hosts.insert(node.node);
    if (const auto host = without_domain(node.node); host != node.node) full.insert(host);
  }
  Names names;
  for (const NodeProvenance& node : world.nodes) {
    const auto fact =
        std::find_if(node.facts.begin(), node.facts.end(), [](const Fact& one) { return one.key == "slurm_node"; });
    const std::string name = fact == node.facts.end() ? std::string() : fact->value;
    const bool is_a_host = hosts.count(name) + hosts.count(without_domain(name)) + full.count(name) > 0;
    names.push_back(is_a_host && !is_same_node(name, node.node) ? std::string() : name);
  }
  return names;
}

bool is_called(const std::string& asked, const NodeProvenance& node, const std::string& slurm_name) {
  return is_same_node(asked, node.node) || (is_this_node(asked) && is_this_node(node.node)) || asked == slurm_name;
}

void drop_repeated(Names& names) {
  std::set<std::string> seen;
  std::erase_if(names, [&](const std::string& name) { return !seen.insert(name).second; });
}

/// Those that several nodes report, also with other domains (`nid001`, `nid001.elsewhere`): then the one that was not
/// asked for.
Names shared_names(const std::vector<std::string>& asked, const World& world) {
  Names shared;
  std::set<std::string_view> seen;
  for (const NodeProvenance& node : world.nodes)
    if (!seen.insert(node.node).second) shared.push_back(node.node);
  for (const std::string_view name : seen) {
    const std::string_view host = name.substr(0, name.find('.'));
    if (host == name || seen.count(host) == 0) continue;
    const bool is_right = is_in(name, asked);
    shared.emplace_back(is_right ? host : name);
  }
  drop_repeated(shared);
  return shared;
}

/// The asked nodes that report a shared name and that Slurm calls otherwise.
Names renamed_nodes(const std::vector<std::string>& asked, const World& world, const Names& slurm,
                    const Names& shared) {
  Names renamed;
  for (std::size_t i = 0; i < world.nodes.size(); ++i) {
    const NodeProvenance& node = world.nodes[i];
    const std::string& own = slurm[i];
    const bool is_shared = is_in(node.node, shared);
    if (is_shared && !is_same_node(own, node.node) && is_in(own, asked)) renamed.push_back(own);
  }
  return renamed;
}

}  // namespace

std::optional<Finding> wrong_names(const std::vector<std::string>& asked, const World& world) {
  Names missing = asked;
  Names foreign;
  const Names slurm = slurm_names(world);
  for (std::size_t i = 0; i < world.nodes.size(); ++i) {
    const NodeProvenance& node = world.nodes[i];
    const auto is_its_name = [&](const auto& name) { return is_called(name, node, slurm[i]); };
    const bool is_known =
        std::erase_if(missing, is_its_name) > 0 || std::any_of(asked.begin(), asked.end(), is_its_name);
    if (!is_known) foreign.push_back(node.node);
  }
  std::erase_if(foreign, [&](const auto& host) {
    return std::erase_if(missing, [&](const auto& name) { return have_one_address(name, host); }) > 0;
  });
  Names shared = shared_names(asked, world);
  std::erase_if(shared, [&](const auto& host) { return is_in(host, foreign); });
  for (const auto& name : renamed_nodes(asked, world, slurm, shared)) missing.push_back(name);
  foreign.insert(foreign.end(), shared.begin(), shared.end());
  if (missing.empty() || foreign.empty()) return {};
  for (auto& host : foreign) host = printable_line(host, 80);
  for (auto& host : shared) host = printable_line(host, 80);
  drop_repeated(foreign);
  Finding finding;
  finding.verdict = Verdict::fail;
  finding.reason = fmt::format("ranks on {} report the host name{} {}", human_list(missing),
                               foreign.size() == 1 ? "" : "s", human_list(foreign));
  if (!shared.empty())
    finding.reason += fmt::format(", as ranks on {} do: several nodes of one name", human_list(shared));
  for (const auto& name : missing) finding.culprits.push_back(node_culprit(name));
  finding.remedy =
      fmt::format("set the host name of {} (hostnamectl) to the requested name, or name the node by its own host name",
                  human_list(missing));
  return finding;
}

}  // namespace muster
