// torch.distributed's variables, against MPI.
#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "measure/variables.hpp"
#include "probes/environment/case_view.hpp"

namespace muster::environment {

namespace {

constexpr std::string_view remedy_unset =
    "unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE before the launcher, or set each in the command that the "
    "launcher starts on every rank: RANK=$OMPI_COMM_WORLD_RANK (mpirun of Open MPI), RANK=$PMI_RANK (MPICH), "
    "RANK=$SLURM_PROCID (srun only); in single quotes, bash -c '...': in double quotes the batch script's own value is "
    "put in, the same for all";

struct Expected {
  std::string_view name;
  int RankPlace::*value;
  std::string_view of_mpi;  ///< what MPI calls it
};
constexpr Expected expected[] = {
    {"RANK", &RankPlace::rank, "rank"},
    {"WORLD_SIZE", &RankPlace::world_size, "world size"},
    {"LOCAL_RANK", &RankPlace::local_rank, "local rank"},
    {"LOCAL_WORLD_SIZE", &RankPlace::local_size, "number of ranks on the node"},
};

RankList without_variable(const EnvironmentView& seen, std::string_view name) {
  RankList some;
  for (const SeenRank* rank : seen.ranks())
    if (!seen.variable(*rank, name)) some.push_back(rank);
  return some;
}

bool is_set_anywhere(const EnvironmentView& seen, std::string_view name) {
  return !seen.with_variable(name).empty();
}

/// RANK and the like: what only a wrapper or a launcher on the rank itself can set.
bool has_rank_variables(const EnvironmentView& seen) {
  return std::any_of(torch_variables.begin(), torch_variables.begin() + 3,
                     [&](std::string_view name) { return is_set_anywhere(seen, name); });
}

std::vector<std::string_view> needed_variables(const EnvironmentView& seen) {
  if (seen.params().text("torch") == "required")
    return {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"};
  if (has_rank_variables(seen)) return {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  return {};
}

/// Variables that no rank has although others need them, and those that some ranks lack.
void judge_presence(const EnvironmentView& seen, ProbeJudgement& judgement) {
  const auto needed = needed_variables(seen);
  std::vector<std::string> nowhere;
  for (const std::string_view name : torch_variables) {
    const RankList lacking = without_variable(seen, name);
    if (lacking.size() == seen.ranks().size()) {
      if (is_in(name, needed)) nowhere.emplace_back(name);
    } else if (!lacking.empty()) {
      // Handed on by a launcher, all ranks would have one value.
      const bool is_own = name == "RANK" || name == "LOCAL_RANK";
      judgement.findings.push_back(
          seen.about(name, lacking,
                     fmt::format("{} is set on {} of {} ranks, but not on {}", name,
                                 seen.ranks().size() - lacking.size(), seen.ranks().size(), seen.describe(lacking)),
                     is_own ? std::string(remedy_unset)
                            : fmt::format("set {} on every rank: mpirun -x {} (Open MPI), -genv {} VALUE (MPICH), srun "
                                          "--export=ALL, or unset it everywhere",
                                          name, name, name)));
    }
  }
  if (nowhere.empty()) return;
  Finding finding;
  finding.reason = fmt::format("{} {} set on no rank, {}", human_list(nowhere), plural(nowhere.size(), "is", "are"),
                               has_rank_variables(seen) ? "but other variables of torch.distributed are"
                                                        : "and the check requires torch.distributed's variables");
  for (const std::string& name : nowhere) finding.culprits.push_back({CulpritKind::setting, name, "", -1});
  finding.remedy =
      "set them in the command that the launcher starts, or start with torchrun; or unset all of them "
      "where the program finds its rank through MPI";
  judgement.findings.push_back(std::move(finding));
}

/// Where values come from that are the same on every rank though each should have its own.
std::string origin_of_same(const EnvironmentView& seen, const std::string& value) {
  const auto has_value = [&](std::string_view name) {
    const auto groups = seen.groups([&](const SeenRank& rank) { return seen.variable(rank, name); });
    return groups.size() == 1 && groups[0].value == value;
  };
  if (is_set_anywhere(seen, "TORCHELASTIC_RUN_ID")) return "inherited from the torchrun that this was started in";
  if (value != "0") return "exported before the launcher";
  constexpr std::string_view signature =
      "the signature of variables taken from SLURM_PROCID where mpirun runs inside one Slurm task, as in sbatch";
  if (has_value("SLURM_PROCID")) return fmt::format("{}; SLURM_PROCID is 0 on all of them too", signature);
  return fmt::format("{}, or exported before the launcher", signature);
}

/// `; 0 is the RANK of ranks 1 and 3`
std::string duplicates(const EnvironmentView& seen) {
  for (const Group& group : seen.groups([&](const SeenRank& rank) { return seen.variable(rank, "RANK"); }))
    if (group.value && group.ranks.size() > 1)
      return fmt::format("; RANK {} occurs {} times: {}", in_quotes(*group.value), group.ranks.size(),
                         seen.describe(group.ranks));
  return {};
}

void judge_value(const EnvironmentView& seen, const Expected& one, ProbeJudgement& judgement) {
  RankList wrong;
  std::vector<std::string> words;
  std::string same;
  bool is_same = true;
  for (const SeenRank* rank : seen.ranks()) {
    const auto value = seen.variable(*rank, one.name);
    const std::string right = std::to_string(rank->place->*one.value);
    if (!value || *value == right) continue;
    if (one.value == &RankPlace::world_size && *value == std::to_string(seen.in_job(rank->place->world_size))) continue;
    is_same = is_same && (wrong.empty() || same == *value);
    same = *value;
    wrong.push_back(rank);
    words.push_back(fmt::format("{} on rank {} on {}, where MPI has {}{}", in_quotes(*value), rank->place->rank,
                                rank->place->host, right, parse_number<int>(*value) ? "" : ", and no number"));
  }
  if (wrong.empty()) return;
  const auto groups = seen.groups([&](const SeenRank& rank) { return seen.variable(rank, one.name); });
  std::string reason = fmt::format("{} is {}", one.name, human_list(words, 4));
  if (groups.size() == 1 && seen.ranks().size() > 1) {
    const int right_of_first = wrong.front()->place->*one.value;
    wrong = seen.ranks();  // correct values are so by chance
    reason = fmt::format("{} is {} on all {} ranks", one.name, in_quotes(same), seen.ranks().size());
    const bool is_sizes = one.name == "WORLD_SIZE" || one.name == "LOCAL_WORLD_SIZE";
    reason +=
        is_sizes ? fmt::format(", but MPI's {} is {}", one.of_mpi, right_of_first) : ": " + origin_of_same(seen, same);
  } else if (one.name == "RANK") {
    reason += duplicates(seen);
  }
  judgement.findings.push_back(seen.about(one.name, wrong, std::move(reason), std::string(remedy_unset)));
}

/// MASTER_ADDR and MASTER_PORT: the same for all ranks. WORLD_SIZE was compared with MPI's.
void judge_equal(const EnvironmentView& seen, std::string_view name, ProbeJudgement& judgement) {
  RankList set = seen.with_variable(name);
  auto groups = seen.groups([&](const SeenRank& rank) { return seen.variable(rank, name); });
  std::erase_if(groups, [](const Group& group) { return !group.value; });
  if (groups.size() < 2) return;
  const bool is_own_name = std::all_of(set.begin(), set.end(), [&](const SeenRank* rank) {
    const std::string value = *seen.variable(*rank, name);
    return value == rank->place->host || value == rank->place->host.substr(0, rank->place->host.find('.'));
  });
  Finding finding = seen.differs(name, groups, fmt::format("export {} once, before the launcher", name));
  if (is_own_name) finding.reason += ": each node names itself";
  if (name == "MASTER_ADDR")
    finding.remedy =
        "export MASTER_ADDR once, in the batch script and not inside srun or a wrapper: "
        "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)";
  judgement.findings.push_back(std::move(finding));
}

}  // namespace

void judge_torch(const EnvironmentView& seen, ProbeJudgement& judgement) {
  if (seen.params().text("torch") == "ignored") return;
  const std::size_t before = judgement.findings.size();
  for (const Expected& one : expected) judge_value(seen, one, judgement);
  judge_presence(seen, judgement);
  judge_equal(seen, "MASTER_ADDR", judgement);
  judge_equal(seen, "MASTER_PORT", judgement);
  if (judgement.findings.size() != before) return;
  std::vector<std::string> set;
  for (const std::string_view name : torch_variables)
    if (is_set_anywhere(seen, name)) set.emplace_back(name);
  if (set.empty())
    judgement.evidence.emplace_back("torch.distributed's variables are set on no rank");
  else if (!has_rank_variables(seen))
    judgement.evidence.push_back(fmt::format("{} {} the same on all {} ranks, RANK is set on none", human_list(set),
                                             plural(set.size(), "is", "are"), seen.ranks().size()));
  else
    judgement.evidence.push_back(fmt::format("{} agree with MPI on {} {}", human_list(set), seen.ranks().size(),
                                             plural(seen.ranks().size(), "rank", "ranks")));
}

}  // namespace muster::environment
