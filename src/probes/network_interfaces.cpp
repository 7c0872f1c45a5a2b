// NICs, their ports, interfaces and addresses, and what variables make of them.
// docs/methods/network_interfaces.md
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <thread>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "measure/node_facts.hpp"
#include "model/fact_fields.hpp"
#include "probes/network_interfaces/node_view.hpp"
#include "probes/network_interfaces/selection.hpp"
#include "stats/stats.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

using namespace network;

constexpr ParamSpec network_interfaces_params[] = {
    {"root", ParamType::text, "/", "Folder below which /sys and /proc are read.", {}, {}, {}},
    {"interval", ParamType::duration, "200ms", "Time between two readings of the error counters.", {}, 0, 600},
    {"subnets",
     ParamType::text,
     "same",
     "Whether an interface must be in the same network on all nodes; `any` where networks are routed.",
     "same|any",
     {},
     {}},
};

constexpr MetricSpec network_interfaces_metrics[] = {
    {"nics", "1", Better::neither, "Network devices on the PCI bus.", false},
    {"port_rate", "Gbit/s", Better::higher, "Rate of an active network port.", false},
    {"port_errors", "1", Better::lower, "Link errors that the port has counted since its driver was loaded.", false},
};

constexpr LabelSpec network_interfaces_labels[] = {
    {"port", "Name of the port: `mlx5_0/1`, `hsn0`.", {}},
};

void read_settings(Observation& seen) {
  for (const Variable& variable : variables) {
    const char* value = std::getenv(std::string(variable.name).c_str());
    if (value != nullptr && *value != '\0')
      seen.facts.push_back({fmt::format("env.{}", variable.name), printable_line(value)});
  }
}

void add_reading_of_nics(Observation& seen, std::string metric, Labels where, double value) {
  seen.readings.push_back({std::move(metric), std::move(where), summarize(std::span(&value, 1))});
}

void add_readings_of_nics(Observation& seen, const Inventory& inventory, const PortErrors& errors) {
  add_reading_of_nics(seen, "nics", {}, static_cast<double>(inventory.devices.size()));
  std::map<std::string, double> sums;
  for (const auto& [key, count] : errors) sums[key.first] += static_cast<double>(count);
  for (const Device& device : inventory.devices)
    for (const NetPort& port : device.ports) {
      const Labels where{{"port", printable_line(port.name, 60)}};
      if (port.rate > 0 && is_active(port)) add_reading_of_nics(seen, "port_rate", where, port.rate);
      if (const auto sum = sums.find(port.name); sum != sums.end())
        add_reading_of_nics(seen, "port_errors", where, sum->second);
    }
}

void add_counters(Observation& seen, const PortErrors& before, const PortErrors& after) {
  for (const auto& [key, count] : after) {
    const auto then = before.find(key);
    const std::uint64_t grew = then != before.end() && count > then->second ? count - then->second : 0;
    if (count == 0) continue;
    std::string port = printable_line(key.first, 60);
    std::replace(port.begin(), port.end(), ' ', '_');
    seen.facts.push_back(to_fact("counter", Counted{port, key.second, count, grew}));
  }
}

/// One rank looks at its node.
Result<void> read_node(RunContext& context, Observation& seen) {
  context.recorder.step("network");
  const std::string root = root_of(context.params.text("root"));
  auto inventory = read_nics(root);
  if (!inventory) {
    // On this machine that is a fault; with another root, an error of the parameter.
    if (context.params.text("root") == "/") return tl::unexpected(inventory.error());
    seen.facts.push_back({"no_root", to_string(inventory.error())});
    return {};
  }
  const PortErrors before = read_port_errors(root);
  const double begun = monotonic_seconds();
  for (Fact& fact : to_facts(*inventory)) seen.facts.push_back(std::move(fact));
  for (const Interface& one : read_interfaces(root)) seen.facts.push_back({"interface", to_text(one)});
  seen.facts.push_back({"machine", environment::machine_identity(root)});
  if (!before.empty()) {
    context.recorder.step("wait for counters");
    const double left = context.params.duration("interval").value - (monotonic_seconds() - begun);
    if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
  }
  const PortErrors after = read_port_errors(root);
  add_counters(seen, before, after);
  add_readings_of_nics(seen, *inventory, after);
  return {};
}

Result<Observation> run_network_interfaces(RunContext& context) {
  Observation seen;
  read_settings(seen);
  if (context.place.local_rank != 0) return seen;
  seen.facts.push_back({"speaks", "yes"});
  if (auto read = read_node(context, seen); !read) return tl::unexpected(read.error());
  return seen;
}

/// `8 NICs on 2 nodes (8x ConnectX-7), 8 ports up`.
void report_nics(Judging& judging) {
  std::map<std::string, int> models;
  std::map<double, std::size_t> rates;
  std::size_t count = 0;
  for (const NodeView& node : judging.nodes)
    for (const Device& nic : node.inventory.devices) {
      ++count;
      ++models[printable_line(model_of(nic), 60)];
      for (const NetPort& port : nic.ports) rates[port.rate] += is_active(port) && port.rate > 0;
    }
  if (count == 0) return;
  std::vector<std::string> list;
  for (const auto& [model, number] : models) list.push_back(fmt::format("{}x {}", number, model));
  std::vector<std::string> ports;
  for (const auto& [rate, number] : rates)
    if (number > 0) ports.push_back(fmt::format("{} at {} Gbit/s", counted(number, "port"), rate));
  judging.judgement.evidence.push_back(fmt::format("{} on {} ({}){}{}", counted(count, "NIC"),
                                                   counted(judging.nodes.size(), "node"), human_list(list),
                                                   ports.empty() ? "" : ": ", human_list(ports)));
}

void report_interfaces(Judging& judging) {
  std::map<std::string, std::size_t> nodes_with;
  for (const NodeView& node : judging.nodes)
    for (const Interface& one : node.interfaces)
      if (one.is_up && !is_private(one) && !routed_addresses(one).empty()) ++nodes_with[printable_line(one.name, 40)];
  std::vector<std::string> everywhere;
  for (const auto& [name, count] : nodes_with)
    if (count == judging.nodes.size()) everywhere.push_back(name);
  if (!everywhere.empty())
    judging.judgement.evidence.push_back(fmt::format("{} {} up with an address on {}", human_list(everywhere),
                                                     everywhere.size() == 1 ? "is" : "are",
                                                     counted(judging.nodes.size(), "node")));
}

void report_settings(Judging& judging) {
  for (const Variable& variable : variables) {
    const auto found = judging.settings.find(variable.name);
    if (found == judging.settings.end()) continue;
    const auto& all = found->second;
    const bool is_one = std::all_of(all.begin(), all.end(), [&](const auto& one) { return one.value == all[0].value; });
    judging.judgement.evidence.push_back(
        is_one ? fmt::format("{}={} names what is up", variable.name, printable_line(all[0].value, 80))
               : fmt::format("{} names what is up on every node", variable.name));
  }
}

/// Only loopback, and no more expected: there is nothing to judge.
bool is_without_network(const Judging& judging) {
  if (judging.view.node.nics && judging.view.node.nics->count > 0) return false;
  if (judging.view.ranks.empty() || judging.nodes.empty()) return false;
  return std::all_of(judging.nodes.begin(), judging.nodes.end(), [](const NodeView& node) {
    return node.inventory.devices.empty() && std::all_of(node.interfaces.begin(), node.interfaces.end(), is_private);
  });
}

ProbeJudgement judge_network_interfaces(const CaseView& view) {
  Judging judging{view, {}, {}, {}, {}, {}};
  read_case(judging);
  if (judging.nodes.empty()) return std::move(judging.judgement);
  auto& judgement = judging.judgement;
  const std::size_t first = judgement.findings.size();
  for (const auto& judge_one : {judge_nics, judge_ports, judge_errors}) judge_one(judging);
  set_subject(judgement.findings, first, Subject::nics);
  const std::size_t before = judgement.findings.size();
  for (const auto& judge_one : {judge_names, judge_addresses, judge_selections}) judge_one(judging);
  set_subject(judgement.findings, before, Subject::interfaces);
  const bool is_fault = std::any_of(judgement.findings.begin(), judgement.findings.end(),
                                    [](const Finding& one) { return one.verdict != Verdict::pass; });
  if (is_fault) {
    judgement.evidence.clear();
  } else if (is_without_network(judging)) {
    judging.find(Finding{Verdict::skip,
                         fmt::format("no network interface beside loopback and containers' on {}, and none expected",
                                     counted(judging.nodes.size(), "node")),
                         {},
                         "if there should be NICs, set nics in [partition.node] of the profile"});
  } else {
    report_nics(judging);
    report_interfaces(judging);
    report_settings(judging);
    if (judgement.evidence.empty())
      judgement.evidence.push_back(fmt::format("no NIC and no address beside loopback's on {}; none is expected",
                                               counted(judging.nodes.size(), "node")));
  }
  return std::move(judgement);
}

}  // namespace

extern const ProbeSpec probe_network_interfaces{
    .name = "network_interfaces",
    .summary = "NICs, ports, interfaces and addresses of each node; variables that choose among them.",
    .params = network_interfaces_params,
    .metrics = network_interfaces_metrics,
    .labels = network_interfaces_labels,
    .run = run_network_interfaces,
    .judge = judge_network_interfaces,
    .judges_link_errors = true,
};

}  // namespace muster
