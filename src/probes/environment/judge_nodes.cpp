// What should be alike: one machine per host name, and variables that every rank should have alike.
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "measure/variables.hpp"
#include "probes/environment/case_view.hpp"

namespace muster::environment {

namespace {

/// Ranks without some variables that most ranks have: one finding for all of them, because there is one cause.
struct Lacking {
  RankList ranks;
  std::vector<std::string> names;
};

Finding lacks(const EnvironmentView& seen, const Lacking& lacking) {
  const std::size_t most = 3;
  std::vector<std::string> forwards;
  for (std::size_t i = 0; i < lacking.names.size() && i < most; ++i) forwards.push_back("-x " + lacking.names[i]);
  if (lacking.names.size() > most) forwards.emplace_back("...");
  const std::string names = human_list(lacking.names);
  Finding finding = seen.about(
      lacking.names.front(), lacking.ranks,
      fmt::format("{} {} not set on {}, but on all others", names, plural(lacking.names.size(), "is", "are"),
                  seen.describe(lacking.ranks)),
      fmt::format("pass the environment on: mpirun {} (Open MPI), -genvall (MPICH), srun --export=ALL; or make the "
                  "nodes' start-up files alike, or name what may differ in may_differ",
                  join(forwards, " ")));
  return finding;
}

std::set<std::string> shared_names(const EnvironmentView& seen) {
  std::set<std::string> names;
  for (const SeenRank* rank : seen.ranks()) {
    for (const auto& fact : rank->facts) {
      if (fact.first.substr(0, 4) != "env." || is_own_variable(fact.first.substr(4))) continue;
      names.emplace(fact.first.substr(4));
    }
  }
  return names;
}

}  // namespace

void judge_machines(const EnvironmentView& seen, ProbeJudgement& judgement) {
  std::map<std::string, std::map<std::string, RankList>> machines_of_host;
  std::set<std::string> machines;
  for (const SeenRank* rank : seen.ranks()) {
    const std::string machine = rank->fact("machine").value_or("");
    if (machine.empty()) continue;
    machines_of_host[rank->place->host][machine].push_back(rank);
    machines.insert(machine);
  }
  bool is_unique = true;
  for (const auto& [host, by_machine] : machines_of_host) {
    if (by_machine.size() < 2) continue;
    is_unique = false;
    std::vector<std::string> words;
    for (const auto& entry : by_machine) {
      std::vector<std::string> ranks;
      for (const SeenRank* rank : entry.second) ranks.push_back(std::to_string(rank->place->rank));
      words.push_back(fmt::format("{} {}", plural(ranks.size(), "rank", "ranks"), human_list(ranks)));
    }
    judgement.findings.push_back(
        {Verdict::fail,
         fmt::format("{} machines call themselves {}: {}", by_machine.size(), host, human_list(words)),
         {node_culprit(host)},
         "give each machine a name of its own: hostnamectl set-hostname NAME; until then it is unknown "
         "which ranks share a node"});
  }
  if (machines_of_host.empty() || !is_unique) return;
  const std::size_t hosts = machines_of_host.size();
  judgement.evidence.push_back(fmt::format("{} host {} of {} {}", hosts, plural(hosts, "name", "names"),
                                           machines.size(), plural(machines.size(), "machine", "machines")));
}

void judge_differences(const EnvironmentView& seen, ProbeJudgement& judgement) {
  if (seen.first() == nullptr) return;
  const std::vector<std::string> may_differ = seen.params().texts("may_differ");
  const std::set<std::string> names = shared_names(seen);
  std::map<RankList, Lacking> lacking;
  std::size_t alike = 0;
  std::size_t odd = 0;
  for (const std::string& name : names) {
    const auto groups = seen.groups([&](const SeenRank& rank) { return seen.variable(rank, name); });
    if (groups.size() < 2) {
      ++alike;
      continue;
    }
    if (is_in(name, may_differ)) continue;
    ++odd;
    if (groups.size() == 2 && !groups[1].value && groups[1].ranks.size() < groups[0].ranks.size()) {
      Lacking& same = lacking[groups[1].ranks];
      same.ranks = groups[1].ranks;
      same.names.push_back(name);
      continue;
    }
    judgement.findings.push_back(
        seen.differs(name, groups,
                     fmt::format("give {0} one value on all ranks: mpirun -x {0} (Open MPI), -genv {0} VALUE (MPICH), "
                                 "srun --export=ALL; or name it in may_differ",
                                 name)));
  }
  for (const auto& entry : lacking) judgement.findings.push_back(lacks(seen, entry.second));
  if (odd != 0 || seen.ranks().size() < 2) return;
  judgement.evidence.push_back(alike == 0
                                   ? "no variable is set that all ranks should have alike"
                                   : fmt::format("{} {} the same on all {} ranks", alike,
                                                 plural(alike, "variable is", "variables are"), seen.ranks().size()));
}

}  // namespace muster::environment
