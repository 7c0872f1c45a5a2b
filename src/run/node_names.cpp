#include "run/node_names.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <set>

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

std::string slurm_name_of(const NodeProvenance& node) {
  const auto fact =
      std::find_if(node.facts.begin(), node.facts.end(), [](const Fact& one) { return one.key == "slurm_node"; });
  return fact == node.facts.end() ? std::string() : fact->value;
}

bool is_called(const std::string& asked, const NodeProvenance& node) {
  return is_same_node(asked, node.node) || (is_this_node(asked) && is_this_node(node.node)) ||
         asked == slurm_name_of(node);
}

}  // namespace

std::optional<Finding> wrong_names(const std::vector<std::string>& asked, const World& world) {
  Names missing = asked;
  Names foreign;
  for (const auto& node : world.nodes) {
    const auto count = std::erase_if(missing, [&](const auto& name) { return is_called(name, node); });
    const bool is_known =
        count > 0 || std::any_of(asked.begin(), asked.end(), [&](const auto& name) { return is_called(name, node); });
    if (!is_known) foreign.push_back(node.node);
  }
  std::erase_if(foreign, [&](const auto& host) {
    return std::erase_if(missing, [&](const auto& name) { return have_one_address(name, host); }) > 0;
  });
  if (missing.empty() || foreign.empty()) return {};
  for (auto& host : foreign) host = printable_line(host, 80);
  Finding finding;
  finding.verdict = Verdict::fail;
  finding.reason = fmt::format("ranks on {} report the host name{} {}", human_list(missing),
                               foreign.size() == 1 ? "" : "s", human_list(foreign));
  for (const auto& name : missing) finding.culprits.push_back({CulpritKind::node, name, name, -1});
  finding.remedy =
      fmt::format("set the host name of {} (hostnamectl) to the requested name, or name the node by its own host name",
                  human_list(missing));
  return finding;
}

}  // namespace muster
