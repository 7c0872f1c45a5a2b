// MASTER_ADDR against the interface of rank 0's node that the profile names.
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "measure/network.hpp"
#include "probes/environment/case_view.hpp"

namespace muster::environment {

namespace {

using Words = std::vector<std::string>;
using Interfaces = std::vector<InterfaceAddress>;

bool is_ipv4(const std::string& address) {
  return address.find('.') != std::string::npos;
}

/// The interface of rank 0's node that MASTER_ADDR leads this rank to, where it is another than `wanted`; nullopt also
/// where it leads to none of them, or to loopback, which judge_master reports.
std::optional<std::string> other_interface(const SeenRank& rank, const Interfaces& all, const std::string& wanted) {
  const auto reported = rank.fact("master.addresses");
  if (!reported) return std::nullopt;
  const Words resolved = split(*reported, ',');
  std::optional<std::string> other;
  for (const InterfaceAddress& one : all) {
    if (!is_in(one.address, resolved) || is_loopback(one.address)) continue;
    if (one.name == wanted && is_ipv4(one.address)) return std::nullopt;
    if (!other) other = one.name;
  }
  return other;
}

std::string way_out(const VariableExpectation& wanted, const Interfaces& all, const std::string& host) {
  const std::string& interface = wanted.values.front();
  for (const InterfaceAddress& one : all)
    if (one.name == interface && is_ipv4(one.address))
      return fmt::format("export {}={} in the job script, the address of {} on {}", wanted.name, one.address, interface,
                         host);
  return fmt::format("{} has no {} with an IPv4 address: look at that node, or correct the profile", host, interface);
}

}  // namespace

void judge_interface(const EnvironmentView& seen, const VariableExpectation& wanted, ProbeJudgement& judgement) {
  const SeenRank* speaker = seen.speaker(0, "interfaces");
  if (speaker == nullptr) return;
  const Interfaces all = parse_interfaces(*speaker->fact("interfaces"));
  const std::string& interface = wanted.values.front();
  const std::string& host = speaker->place->host;
  const std::string remedy = way_out(wanted, all, host);
  for (const Group& group : seen.groups([&](const SeenRank& rank) { return other_interface(rank, all, interface); })) {
    if (!group.value) continue;
    std::string reason = fmt::format(
        "{} {} on {} is an address of {} on rank 0's node {}, the profile requires the IPv4 address of {}: {} ({})",
        wanted.name, in_quotes(seen.variable(*group.ranks.front(), wanted.name).value_or("")),
        seen.describe(group.ranks), *group.value, host, interface, printable_line(wanted.why, 300),
        printable_line(wanted.source, 200));
    Finding finding = wanted.is_note ? make_note(fmt::format("{}; {}", reason, remedy))
                                     : seen.about(wanted.name, group.ranks, std::move(reason), remedy);
    if (!wanted.is_note) soften(seen.node(), "variable " + wanted.name, finding);
    judgement.findings.push_back(std::move(finding));
  }
}

}  // namespace muster::environment
