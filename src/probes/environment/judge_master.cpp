// Whether MASTER_ADDR leads every rank to rank 0's node, and whether MASTER_PORT can be had there.
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.hpp"
#include "measure/network.hpp"
#include "probes/environment/case_view.hpp"

namespace muster::environment {

namespace {

using Addresses = std::set<std::string, std::less<>>;

constexpr std::string_view remedy_address =
    "set MASTER_ADDR to the name or address by which all nodes reach rank 0's node: in a batch script of Slurm "
    "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)";

struct Node {
  std::string host;
  Addresses addresses;
};
using Nodes = std::map<int, Node>;

/// By index; without those that reported no address.
Nodes nodes_of(const EnvironmentView& seen) {
  Nodes nodes;
  for (const SeenRank* rank : seen.ranks()) {
    const auto text = rank->fact("interfaces");
    if (!text) continue;
    Node node{rank->place->host, {}};
    for (const InterfaceAddress& one : parse_interfaces(*text))
      if (!one.address.empty()) node.addresses.insert(one.address);
    if (!node.addresses.empty()) nodes.try_emplace(rank->place->node_index, std::move(node));
  }
  return nodes;
}

/// What is wrong with an address that is not one of rank 0's node, or that does not lead there from `host`.
std::string fault_of(const std::string& address, const Nodes& nodes, const Node& first, const std::string& host) {
  // The same words on all nodes, which then are one finding.
  if (is_loopback(address)) return fmt::format("{}, a loopback address: each node would wait for itself", address);
  if (first.addresses.count(address) != 0)
    return fmt::format("{}, which {} has too: it would wait for itself", address, host);
  for (const auto& [index, node] : nodes)
    if (node.addresses.count(address) != 0)
      return fmt::format("{}, an address of {}, but rank 0 is on {}", address, node.host, first.host);
  return fmt::format("{}, no address of rank 0's node {} nor of another node of the job", address, first.host);
}

/// Why the addresses that a rank got do not lead to rank 0's node; empty: one does.
std::string find_fault(const Nodes& nodes, const SeenRank& rank, const std::vector<std::string>& found) {
  const Node& first = nodes.at(0);
  const auto at = nodes.find(rank.place->node_index);
  const Addresses own = at == nodes.end() ? Addresses{} : at->second.addresses;
  const bool is_same_stack = rank.place->node_index == 0 || own == first.addresses;
  std::string why;
  for (const std::string& address : found) {
    const bool is_theirs = first.addresses.count(address) != 0 || is_loopback(address);
    const bool is_own = own.count(address) != 0 || is_loopback(address);
    if (is_theirs && (is_same_stack || !is_own)) return {};
    why = fault_of(address, nodes, first, rank.place->host);
  }
  return why;
}

bool is_host_list(std::string_view name) {
  return name.find_first_of("[],") != std::string_view::npos;
}

/// The name, a line's end, and what is wrong with it for this rank.
std::optional<std::string> address_fault(const EnvironmentView& seen, const SeenRank& rank, const Nodes& nodes) {
  const auto name = seen.variable(rank, "MASTER_ADDR");
  if (!name) return std::nullopt;
  if (const auto error = rank.fact("master.error"))
    return fmt::format("{}\ndoes not resolve ({})", *name, printable_line(*error, 100));
  const auto found = rank.fact("master.addresses");
  if (!found || nodes.count(0) == 0) return std::nullopt;
  const std::string fault = find_fault(nodes, rank, split(*found, ','));
  return fault.empty() ? std::nullopt : std::optional(fmt::format("{}\nresolves to {}", *name, fault));
}

/// One finding for all ranks that the same is wrong for.
void judge_address(const EnvironmentView& seen, const Nodes& nodes, ProbeJudgement& judgement) {
  for (const Group& group : seen.groups([&](const SeenRank& rank) { return address_fault(seen, rank, nodes); })) {
    if (!group.value) continue;
    const std::size_t end = group.value->find('\n');
    const std::string name = group.value->substr(0, end);
    std::string remedy(remedy_address);
    if (is_host_list(name))
      remedy = "MASTER_ADDR is a host list, not a host: " + remedy;
    else if (seen.node_count() == 1)
      remedy = "export MASTER_ADDR=localhost for one node, or the name of rank 0's node";
    judgement.findings.push_back(seen.about("MASTER_ADDR", group.ranks,
                                            fmt::format("MASTER_ADDR {} on {} {}", in_quotes(name),
                                                        seen.describe(group.ranks), group.value->substr(end + 1)),
                                            remedy));
  }
}

/// On rank 0's node, which is the one that will listen.
void judge_port(const EnvironmentView& seen, ProbeJudgement& judgement) {
  const SeenRank* first = seen.first();
  const auto text = first == nullptr ? std::nullopt : seen.variable(*first, "MASTER_PORT");
  if (!text) return;
  const std::string where = fmt::format("on rank 0's node {}", first->place->host);
  std::string remedy =
      "choose another port, a different one for each job: export MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))";
  const std::string state = parse_port(*text) ? first->fact("master.port").value_or("not tried") : "none";
  if (state == "free") return judgement.evidence.push_back(fmt::format("MASTER_PORT {} is free {}", *text, where));
  if (state == "lingering")
    return judgement.findings.push_back(
        make_note(fmt::format("MASTER_PORT {} has connections {} that ended a moment ago", *text, where)));
  std::string reason =
      fmt::format("MASTER_PORT {} can't be bound {}: {}", printable_line(*text, 80), where, printable_line(state, 100));
  if (state == "none") reason = fmt::format("MASTER_PORT is {}, no port from 1 to 65535", in_quotes(*text));
  if (state == "in use") {
    reason = fmt::format("MASTER_PORT {} is in use {}", *text, where);
    remedy += fmt::format("; to find the program that uses it: ss -ltnp 'sport = :{}'", *text);
  }
  judgement.findings.push_back(seen.about("MASTER_PORT", {first}, std::move(reason), std::move(remedy)));
}

}  // namespace

void judge_master(const EnvironmentView& seen, ProbeJudgement& judgement) {
  if (seen.params().text("torch") == "ignored") return;
  const Nodes nodes = nodes_of(seen);
  const std::size_t before = judgement.findings.size();
  judge_address(seen, nodes, judgement);
  const auto name = seen.first() == nullptr ? std::nullopt : seen.variable(*seen.first(), "MASTER_ADDR");
  if (name && nodes.count(0) != 0 && judgement.findings.size() == before)
    judgement.evidence.push_back(
        fmt::format("MASTER_ADDR {} leads to rank 0's node {}", in_quotes(*name), seen.first()->place->host));
  judge_port(seen, judgement);
}

}  // namespace muster::environment
