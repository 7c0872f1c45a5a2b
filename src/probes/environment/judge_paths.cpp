// Folders on file systems that all nodes share, or that a node lacks; one task that was to be bound.
#include <fmt/format.h>

#include "base/text.hpp"
#include "measure/paths.hpp"
#include "probes/environment/case_view.hpp"

namespace muster::environment {

namespace {

/// What goes wrong there, and what to do; all ranks use the folder at once.
struct SharedPath {
  std::string_view variable;
  std::string_view what;
};
constexpr SharedPath shared_paths_known[] = {
    {"MIOPEN_USER_DB_PATH",
     "all ranks lock one database there (\"database is locked\", slow first epochs); name a folder on the node's own "
     "disk or in /tmp, one for each node"},
    {"MIOPEN_CUSTOM_CACHE_DIR",
     "all ranks write one cache there; name a folder on the node's own disk or in /tmp, one for each node"},
    {"VIRTUAL_ENV", "importing from there takes minutes on many nodes; unpack the environment on each node first"},
    {"CONDA_PREFIX", "importing from there takes minutes on many nodes; unpack the environment on each node first"},
};

void judge_shared(const EnvironmentView& seen, ProbeJudgement& judgement) {
  for (const SharedPath& known : shared_paths_known) {
    const std::string key = fmt::format("path.{}", known.variable);
    RankList there;
    for (const SeenRank* rank : seen.ranks())
      if (rank->fact(key)) there.push_back(rank);
    if (there.empty()) continue;
    const std::string reported = *there.front()->fact(key);
    const std::size_t blank = reported.find(' ');
    judgement.findings.push_back(
        make_note(fmt::format("{} on {} is {}, on {}: {}", known.variable, seen.describe(there),
                              reported.substr(blank + 1), reported.substr(0, blank), known.what)));
  }
}

/// Folders that MIOpen keeps its caches in: some scripts make them on each node, and another node than theirs has none.
void judge_absent(const EnvironmentView& seen, ProbeJudgement& judgement) {
  for (const std::string_view name : cache_variables) {
    const std::string key = fmt::format("absent.{}", name);
    RankList without;
    for (const SeenRank* rank : seen.ranks())
      if (rank->fact(key)) without.push_back(rank);
    if (without.empty()) continue;
    judgement.findings.push_back(make_note(
        fmt::format("{} on {} is {}: MIOpen keeps nothing there, and compiles its kernels anew; make the folder on "
                    "each node before the ranks start (mkdir -p, by the rank with SLURM_LOCALID 0)",
                    name, seen.describe(without), *without.front()->fact(key))));
  }
}

void judge_single_task(const EnvironmentView& seen, ProbeJudgement& judgement) {
  const SeenRank* first = seen.first();
  if (first == nullptr || first->place->world_size != 1) return;
  // Slurm 22.05 has its own variable in the tasks of a batch script's steps alone.
  auto bound = seen.variable(*first, "MUSTER_GPU_BIND");
  if (!bound) bound = seen.variable(*first, "SLURM_GPU_BIND");
  if (!bound || *bound == "none") return;
  std::string effect = "it gets the first GPUs, whatever its cores";
  if (const auto devices = first->fact("devices")) {
    if (devices->find(',') == devices->npos) return;
    effect = "the task has " + *devices;
  }
  judgement.findings.push_back(
      make_note(fmt::format("--gpu-bind={} has no effect on a step of one task: {}", in_quotes(*bound), effect)));
}

}  // namespace

void judge_paths(const EnvironmentView& seen, ProbeJudgement& judgement) {
  judge_shared(seen, judgement);
  judge_absent(seen, judgement);
  judge_single_task(seen, judgement);
}

}  // namespace muster::environment
