// The profile's nodes and variables, against the actual ones.
#include <cstdlib>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "model/expected_node.hpp"
#include "probes/environment/case_view.hpp"

namespace muster::environment {

namespace {

/// One property that the profile sets for every node.
struct Trait {
  std::string key;   ///< as [[unverified]] names it
  std::string fact;  ///< of a node's report
  std::string wanted;
  std::string thing;  ///< `{}` is the figure: `{} cores`
  std::string remedy;
  bool is_pattern = false;
};

std::vector<Trait> traits_of(const ExpectedNode& node) {
  std::vector<Trait> traits;
  const auto add = [&](bool is_stated, Trait trait) {
    if (is_stated) traits.push_back(std::move(trait));
  };
  const std::string other = "run on nodes of the partition that the profile describes, or correct the profile";
  const CpuExpectation cpu = node.cpu.value_or(CpuExpectation());
  add(!cpu.architecture.empty(), {"cpu.architecture", "node.architecture", cpu.architecture, "architecture {}", other});
  add(!cpu.model.empty(), {"cpu.model", "node.model", cpu.model, "processors called {}", other, true});
  add(node.cores > 0, {"cores", "node.cores", std::to_string(node.cores), "{} cores",
                       "see lscpu --extended for cores that are off-line, or correct the profile"});
  add(cpu.smt > 0, {"cpu.smt", "node.smt", std::to_string(cpu.smt), "{} CPUs a core",
                    "see /sys/devices/system/cpu/smt/control and the firmware's setting, or correct the profile"});
  add(cpu.domains > 0, {"cpu.domains", "node.domains", std::to_string(cpu.domains), "{} NUMA domains with CPUs",
                        "see the firmware's setting of NUMA domains (NPS), which should be the same on all nodes, or "
                        "correct the profile"});
  return traits;
}

std::string figure(const Trait& trait, const std::string& value) {
  return fmt::format(fmt::runtime(trait.thing), trait.is_pattern ? in_quotes(value) : value);
}

void judge_trait(const EnvironmentView& seen, const Trait& trait, ProbeJudgement& judgement, std::size_t& reported) {
  std::map<std::string, RankList> others;
  for (const SeenRank* rank : seen.ranks()) {
    const auto value = rank->fact(trait.fact);
    if (!value) continue;
    const bool is_right = trait.is_pattern ? matches_profile(*value, trait.wanted) : *value == trait.wanted;
    if (!is_right)
      others[*value].push_back(rank);
    else
      ++reported;
  }
  for (const auto& [value, ranks] : others) {
    std::vector<std::string> hosts;
    Finding finding;
    for (const SeenRank* rank : ranks) {
      if (is_in(rank->place->host, hosts)) continue;
      hosts.push_back(rank->place->host);
      finding.culprits.push_back(node_culprit(rank->place->host));
    }
    finding.reason = fmt::format("{} on {}, the profile has {}", figure(trait, value), human_list(hosts),
                                 figure(trait, trait.wanted));
    finding.remedy = trait.remedy;
    soften(seen.node(), trait.key, finding);
    judgement.findings.push_back(std::move(finding));
  }
}

std::string request(const VariableExpectation& wanted) {
  std::vector<std::string> values;
  for (const std::string& value : wanted.values) values.push_back(in_quotes(value));
  switch (wanted.must) {
    case Must::set:
      return "requires it set";
    case Must::unset:
      return "requires it unset";
    case Must::equal:
      return fmt::format("requires {}", join(values, " or "));
    case Must::differ:
      return fmt::format("requires anything but {}", join(values, " and "));
    case Must::address:
      return fmt::format("requires an IPv4 address of {} there", values.front());
  }
  return "";
}

std::string way_out(const VariableExpectation& wanted) {
  if (wanted.must == Must::unset) return fmt::format("unset {} in the job script", wanted.name);
  if (wanted.must == Must::differ) return fmt::format("unset {}, or export another value of it", wanted.name);
  if (wanted.must == Must::set) return fmt::format("export {} in the job script", wanted.name);
  return fmt::format("export {}={} in the job script", wanted.name, printable_line(wanted.values.front(), 80));
}

bool applies(const EnvironmentView& seen, const VariableExpectation& wanted) {
  return seen.node_count() >= wanted.nodes;
}

std::optional<std::string> value_of(const SeenRank& rank, const VariableExpectation& wanted) {
  return rank.fact("wanted." + wanted.name);
}

void judge_variable(const EnvironmentView& seen, const VariableExpectation& wanted, ProbeJudgement& judgement) {
  for (const Group& group : seen.groups([&](const SeenRank& rank) { return value_of(rank, wanted); })) {
    if (is_fulfilled(wanted, group.value)) continue;
    std::string reason =
        fmt::format("{} is {} on {}, the profile {}: {} ({})", wanted.name,
                    group.value ? in_quotes(*group.value) : "not set", seen.describe(group.ranks), request(wanted),
                    printable_line(wanted.why, 300), printable_line(wanted.source, 200));
    Finding finding = wanted.is_note ? make_note(fmt::format("{}; {}", reason, way_out(wanted)))
                                     : seen.about(wanted.name, group.ranks, reason, way_out(wanted));
    if (!wanted.is_note) soften(seen.node(), "variable " + wanted.name, finding);
    judgement.findings.push_back(std::move(finding));
  }
}

}  // namespace

bool breaks_profile(const EnvironmentView& seen, std::string_view variable) {
  for (const VariableExpectation& wanted : seen.node().variables)
    if (wanted.name == variable && applies(seen, wanted))
      for (const SeenRank* rank : seen.ranks())
        if (!is_fulfilled(wanted, value_of(*rank, wanted))) return true;
  return false;
}

void judge_login(const EnvironmentView& seen, ProbeJudgement& judgement) {
  std::vector<std::string> hosts;
  for (const SeenRank* rank : seen.ranks()) {
    const auto gpus = rank->fact("node.gpus");
    const bool is_in_job = seen.variable(*rank, "SLURM_JOB_ID").has_value();
    if (gpus && !is_in(rank->place->host, hosts) &&
        is_login_node(seen.node(), rank->place->host, is_in_job, std::atoi(gpus->c_str())))
      hosts.push_back(rank->place->host);
  }
  if (hosts.empty()) return;
  judgement.findings.push_back(
      make_note(fmt::format("{} {} (by the profile: its name, and outside of a job): measurements here do not apply to "
                            "the compute nodes; get some with salloc or sbatch and run there",
                            human_list(hosts), plural(hosts.size(), "is a login node", "are login nodes"))));
}

void judge_description(const EnvironmentView& seen, ProbeJudgement& judgement) {
  const auto traits = traits_of(seen.node());
  const std::size_t before = judgement.findings.size();
  std::size_t reported = 0;
  for (const Trait& trait : traits) judge_trait(seen, trait, judgement, reported);
  if (judgement.findings.size() > before || reported == 0) return;
  std::vector<std::string> words;
  for (const Trait& trait : traits)
    if (!trait.is_pattern) words.push_back(figure(trait, trait.wanted));
  judgement.evidence.push_back(
      fmt::format("nodes match the profile{}{}", words.empty() ? "" : ": ", human_list(words)));
}

void judge_variables(const EnvironmentView& seen, ProbeJudgement& judgement) {
  const std::size_t before = judgement.findings.size();
  std::size_t judged = 0;
  for (const VariableExpectation& wanted : seen.node().variables) {
    if (!applies(seen, wanted)) continue;
    const bool is_address = wanted.must == Must::address;
    if (is_address && seen.with_variable(wanted.name).empty()) continue;
    ++judged;
    is_address ? judge_interface(seen, wanted, judgement) : judge_variable(seen, wanted, judgement);
  }
  if (judged > 0 && judgement.findings.size() == before)
    judgement.evidence.push_back(fmt::format("{} {} as the profile requires {}", judged,
                                             plural(judged, "variable is", "variables are"),
                                             plural(judged, "it", "them")));
}

}  // namespace muster::environment
