// What else holds a rank back: its threads, a quota of CPU time, memory that is far.
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "probes/cpu_affinity/node_masks.hpp"
#include "probes/cpu_affinity/own_limits.hpp"

namespace muster::affinity {

namespace {

/// What is wrong with the team of a rank; empty: nothing.
std::string fault_of_team(const RankMask& rank, bool shall_be_bound) {
  const auto threads = rank.threads.size();
  if (threads > static_cast<std::size_t>(rank.mask.count()))
    return fmt::format("rank {} starts {} OpenMP {} on {} {}", rank.rank, threads, threads == 1 ? "thread" : "threads",
                       rank.mask.count(), rank.mask.count() == 1 ? "CPU" : "CPUs");
  for (std::size_t i = 0; i < threads; ++i)
    if (!rank.threads[i].is_subset_of(rank.mask))
      return fmt::format("thread {} of rank {} may leave the rank's CPUs: {}", i, rank.rank, rank.threads[i].list());
  for (std::size_t a = 0; shall_be_bound && a < threads; ++a)
    for (std::size_t b = a + 1; b < threads; ++b)
      if (rank.threads[a].intersects(rank.threads[b]))
        return fmt::format("threads {} and {} of rank {} share {}", a, b, rank.rank,
                           named("CPU", rank.threads[a] & rank.threads[b]));
  return {};
}

void note(const NodeMasks& node, const std::vector<std::string>& words, Findings& findings) {
  findings.push_back(make_note(fmt::format("on {} {}", node.host, human_list(words, 3))));
}

}  // namespace

void judge_threads(const CaseView& view, const NodeMasks& node, Findings& findings) {
  const std::string& threads = view.params.text("threads");
  std::vector<std::string> words;
  std::vector<int> ranks;
  bool is_unmeasured = false;
  for (const RankMask& rank : node.ranks) {
    std::string fault = fault_of_team(rank, threads == "bound");
    if (rank.threads.empty() && threads != "any") {
      fault = fmt::format("rank {} started no OpenMP threads", rank.rank);
      is_unmeasured = true;
    }
    if (fault.empty()) continue;
    words.push_back(std::move(fault));
    ranks.push_back(rank.rank);
  }
  if (words.empty()) return;
  if (threads == "any") return note(node, words, findings);
  findings.push_back(about(node, ranks, fmt::format("on {} {}", node.host, human_list(words)),
                           is_unmeasured ? "see the fact threads_error: an OpenMP runtime must be there"
                                         : "set OMP_NUM_THREADS to the rank's cores, OMP_PLACES=cores, "
                                           "OMP_PROC_BIND=close; unset GOMP_CPU_AFFINITY and KMP_AFFINITY"));
  if (is_unmeasured) findings.back().verdict = Verdict::unmeasured;
}

void judge_quota(const CaseView&, const NodeMasks& node, Findings& findings) {
  struct Group {
    double quota = 0;
    CpuMask cpus;
    std::vector<int> ranks;
  };
  std::map<std::string, Group> groups;
  for (const RankMask& rank : node.ranks) {
    if (!(rank.quota > 0) || !std::isfinite(rank.quota)) continue;
    Group& group = groups[rank.quota_group];
    group.quota = rank.quota;
    group.cpus = group.cpus | rank.mask;
    group.ranks.push_back(rank.rank);
  }
  for (const auto& [name, group] : groups)
    if (group.quota + 1e-6 < group.cpus.count())
      findings.push_back(about(
          node, group.ranks,
          fmt::format("on {} the control group {} gives its processes {:.4g} CPUs of time, but {} may run on {} "
                      "CPUs ({}): they will be stopped in every period",
                      node.host, printable_line(name, 120), group.quota,
                      group.ranks.size() == 1 ? rank_name(group.ranks[0]) : fmt::format("{} ranks", group.ranks.size()),
                      group.cpus.count(), group.cpus.list()),
          "raise or remove the quota (docker --cpus, resources.limits.cpu, cpu.max), or use fewer cores"));
}

void judge_memory(const CaseView&, const NodeMasks& node, Findings& findings) {
  std::vector<std::string> words;
  std::vector<int> ranks;
  CpuMask with_cpus;
  for (const auto& entry : node.layout.domains) with_cpus.add(entry.first);
  for (const RankMask& rank : node.ranks) {
    const CpuMask own = node.layout.domains_of(rank.mask);
    const CpuMask policy = domains_in_policy(rank.memory_policy);
    const bool by_policy = !policy.empty();
    const CpuMask& memory = by_policy ? policy : rank.memory;
    // Memory without CPUs (HBM, a GPU's) is chosen on purpose.
    if (own.empty() || memory.empty() || !memory.is_subset_of(with_cpus) || memory.intersects(own)) continue;
    words.push_back(fmt::format(
        "rank {} runs on {} and takes its memory from {} ({})", rank.rank, named("NUMA domain", own), memory.list(),
        by_policy ? "memory policy " + printable_line(rank.memory_policy, 60) : "the control group's cpuset.mems"));
    ranks.push_back(rank.rank);
  }
  if (!words.empty())
    findings.push_back(
        about(node, ranks, fmt::format("on {} {}", node.host, human_list(words)),
              "let memory follow the CPUs: numactl --localalloc, srun --mem-bind=local, or bind both alike"));
}

}  // namespace muster::affinity
