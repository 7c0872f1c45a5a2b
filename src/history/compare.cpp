#include "history/compare.hpp"

#include <algorithm>
#include <set>

#include "history/compare_parts.hpp"

namespace muster {

namespace {

/// The worse the larger. What was skipped is none of them.
int badness(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return 0;
    case Verdict::unmeasured:
      return 1;
    case Verdict::error:
      return 2;
    case Verdict::fail:
      return 3;
    case Verdict::skip:
      break;
  }
  return -1;
}

bool is_change(Verdict before, Verdict after) {
  return before != after && badness(before) >= 0 && badness(after) >= 0;
}

/// A lack of evidence is not evidence of a fault.
bool is_less_known(Verdict before, Verdict after) {
  return before == Verdict::pass && after == Verdict::unmeasured;
}

/// What passed and is skipped now has gone; what was skipped and is wrong now is known to be wrong.
bool is_worse_verdict(Verdict before, Verdict after) {
  if (after == Verdict::skip) return before == Verdict::pass;
  if (before == Verdict::skip) return badness(after) >= badness(Verdict::error);
  return badness(after) > badness(before) && !is_less_known(before, after);
}

void compare_verdicts(const PastRun& before, const PastRun& after, Comparison& comparison) {
  std::map<std::string, const PastCase*> earlier;
  for (const PastCase& one : before.cases) earlier[one.id] = &one;
  std::set<std::string> seen;
  for (const PastCase& one : after.cases) {
    const auto found = earlier.find(one.id);
    seen.insert(one.id);
    // What launches and nodes as a whole did is a case of its own only where it went wrong.
    const bool is_extra = one.id.compare(0, 7, "launch%") == 0 || one.id.compare(0, 5, "node%") == 0;
    if (found == earlier.end() && !is_extra) {
      comparison.only_after.push_back(one.id);
      continue;
    }
    const Verdict was = found == earlier.end() ? Verdict::pass : found->second->verdict;
    VerdictChange change{one.id,
                         one.check,
                         was,
                         one.verdict,
                         one.reason,
                         {},
                         is_worse_verdict(was, one.verdict),
                         is_less_known(was, one.verdict)};
    std::map<std::string, Verdict> on_nodes;
    if (found != earlier.end())
      for (const NodeVerdict& node : found->second->on_nodes) on_nodes[node.node] = node.verdict;
    for (const NodeVerdict& node : one.on_nodes) {
      const auto then = on_nodes.find(node.node);
      if (then == on_nodes.end() || then->second == node.verdict) continue;
      if ((node.verdict == Verdict::fail || then->second == Verdict::fail) && is_change(then->second, node.verdict))
        change.nodes.push_back(node.node);
    }
    if (was != one.verdict) comparison.verdicts.push_back(std::move(change));
  }
  for (const PastCase& one : before.cases)
    if (seen.count(one.id) == 0) comparison.only_before.push_back(one.id);
  std::stable_sort(comparison.verdicts.begin(), comparison.verdicts.end(),
                   [](const VerdictChange& a, const VerdictChange& b) { return a.is_worse > b.is_worse; });
}

/// Differs with every job, or is reported by chance.
bool is_of_the_job(const std::string& key) {
  for (const char* prefix : {"env.SLURM_", "env.PBS_", "env.HYDRA_", "env.OMPI_", "env.PRTE_", "env.PMI", "mpi_start"})
    if (key.compare(0, std::char_traits<char>::length(prefix), prefix) == 0) return true;
  return false;
}

using Facts = std::map<std::string, std::string>;

std::map<std::string, Facts> facts_of(const PastRun& run) {
  std::map<std::string, Facts> all;
  for (const NodeProvenance& node : run.nodes)
    for (const Fact& fact : node.facts)
      if (!is_of_the_job(fact.key)) all[node.node][fact.key] = fact.value;
  for (const NodeProvenance& node : run.nodes) all[node.node]["muster"] = run.muster_version;
  return all;
}

void compare_facts(const PastRun& before, const PastRun& after, Comparison& comparison) {
  const auto earlier = facts_of(before);
  const auto later = facts_of(after);
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::string>> changes;
  for (const auto& [node, facts] : later) {
    const auto found = earlier.find(node);
    if (found == earlier.end()) {
      comparison.nodes_new.push_back(node);
      continue;
    }
    Facts all = facts;
    all.insert(found->second.begin(), found->second.end());
    for (const auto& entry : all) {
      const std::string& key = entry.first;
      const auto text = [&key](const Facts& of) { return of.count(key) == 0 ? std::string() : of.at(key); };
      if (text(found->second) != text(facts)) changes[{key, text(found->second), text(facts)}].push_back(node);
    }
  }
  for (const auto& [node, facts] : earlier)
    if (later.count(node) == 0) comparison.nodes_gone.push_back(node);
  for (auto& [what, nodes] : changes)
    comparison.facts.push_back({std::get<0>(what), std::get<1>(what), std::get<2>(what), std::move(nodes)});
}

void compare_devices(const PastRun& before, const PastRun& after, Comparison& comparison) {
  const auto devices = [](const PastRun& run) {
    std::map<std::string, std::string> found;
    for (const PastValue& value : run.values)
      if (value.key.item.kind == ItemKind::device) found[value.key.item.name] = value.key.item.node;
    return found;
  };
  const auto earlier = devices(before);
  const auto later = devices(after);
  // Without any on one side they were not read.
  if (earlier.empty() || later.empty()) return;
  for (const auto& [name, node] : earlier)
    if (later.count(name) == 0) comparison.devices_gone.push_back(name + " on " + node);
  for (const auto& [name, node] : later)
    if (earlier.count(name) == 0) comparison.devices_new.push_back(name + " on " + node);
}

}  // namespace

bool Comparison::is_worse() const {
  return !nodes_gone.empty() || !devices_gone.empty() ||
         std::any_of(verdicts.begin(), verdicts.end(), [](const VerdictChange& one) { return one.is_worse; }) ||
         std::any_of(metrics.begin(), metrics.end(), [](const MetricChange& one) { return one.is_worse; }) ||
         std::any_of(values_gone.begin(), values_gone.end(), [](const OneSided& one) { return one.is_worse; });
}

bool Comparison::is_empty() const {
  return verdicts.empty() && metrics.empty() && facts.empty() && nodes_gone.empty() && nodes_new.empty() &&
         devices_gone.empty() && devices_new.empty() && only_before.empty() && only_after.empty() &&
         values_gone.empty() && values_new.empty() && relabelled.empty();
}

Comparison compare(const PastRun& before, const PastRun& after, const RunNoise& noise) {
  Comparison comparison;
  compare_verdicts(before, after, comparison);
  compare_facts(before, after, comparison);
  compare_devices(before, after, comparison);
  compare_values(before, after, noise, comparison);
  compare_presence(before, after, comparison);
  return comparison;
}

}  // namespace muster
