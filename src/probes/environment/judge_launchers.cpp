// Variables of launchers, against MPI.
#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "measure/variables.hpp"
#include "probes/environment/case_view.hpp"

namespace muster::environment {

namespace {

/// MPI's values. Launchers know of the whole launch, also where the case is about one node of it.
using ValueOf = int (*)(const RankPlace&);

int rank_of(const RankPlace& place) {
  return place.rank_in_launch();
}
int size_of(const RankPlace& place) {
  return place.size_of_launch();
}
int local_rank_of(const RankPlace& place) {
  return place.local_rank;
}
int local_size_of(const RankPlace& place) {
  return place.local_size;
}

/// One variable of a launcher on the ranks that have it.
struct Claim {
  std::string_view name;
  ValueOf value;
  RankList set;
  RankList wrong;
};

std::vector<Claim> claims_of(const EnvironmentView& seen, const LauncherVariables& launcher) {
  std::vector<Claim> claims;
  const std::pair<std::string_view, ValueOf> wanted[] = {{launcher.rank, rank_of},
                                                         {launcher.world_size, size_of},
                                                         {launcher.local_rank, local_rank_of},
                                                         {launcher.local_size, local_size_of}};
  for (const auto& [name, value] : wanted) {
    if (name.empty()) continue;
    Claim claim{name, value, seen.with_variable(name), {}};
    for (const SeenRank* rank : claim.set)
      if (*seen.variable(*rank, name) != std::to_string(value(*rank->place))) claim.wrong.push_back(rank);
    if (!claim.set.empty()) claims.push_back(std::move(claim));
  }
  return claims;
}

bool is_same_everywhere(const EnvironmentView& seen, const Claim& claim) {
  const auto groups = seen.groups([&](const SeenRank& rank) { return seen.variable(rank, claim.name); });
  return groups.size() == 1 && seen.ranks().size() > 1;
}

std::string disagreement(const EnvironmentView& seen, const Claim& claim) {
  if (is_same_everywhere(seen, claim) && claim.wrong.size() + 1 >= claim.set.size())
    return fmt::format("{} is {} on all {} ranks", claim.name,
                       in_quotes(*seen.variable(*claim.set.front(), claim.name)), claim.set.size());
  std::vector<std::string> words;
  for (const SeenRank* rank : claim.wrong)
    words.push_back(fmt::format("{} on rank {} on {}, where MPI has {}", in_quotes(*seen.variable(*rank, claim.name)),
                                rank->place->rank, rank->place->host, claim.value(*rank->place)));
  return fmt::format("{} is {}", claim.name, human_list(words, 4));
}

Finding wrong_launcher(const EnvironmentView& seen, const LauncherVariables& launcher, const Claim& claim) {
  std::string reason = disagreement(seen, claim);
  const bool is_same = is_same_everywhere(seen, claim);
  if (is_same) reason += fmt::format(", left over from {} around this launch", launcher.who);
  return seen.about(
      claim.name, claim.wrong, std::move(reason),
      fmt::format("start the launcher outside of another one's ranks, or unset {} before it", claim.name));
}

/// A launcher that is not used here, or that started the surrounding process: a note, not a fault.
std::string left_over(const EnvironmentView& seen, const LauncherVariables& launcher, const Claim& claim,
                      std::string_view speaks) {
  return fmt::format("{}, not MPI's: left over from {} around this launch; {} variables are the ones to read",
                     disagreement(seen, claim), launcher.who,
                     speaks.empty() ? "MPI's own" : fmt::format("{}'s", speaks));
}

}  // namespace

void judge_launchers(const EnvironmentView& seen, ProbeJudgement& judgement) {
  std::string_view speaks;  // the most specific launcher that is right
  std::vector<std::string> right;
  std::size_t wrong = 0;
  for (const LauncherVariables& launcher : launcher_variables()) {
    const std::vector<Claim> claims = claims_of(seen, launcher);
    const auto first = std::find_if(claims.begin(), claims.end(), [](const Claim& one) { return !one.wrong.empty(); });
    if (claims.empty()) continue;
    if (first == claims.end()) {
      right.emplace_back(launcher.who);
      if (speaks.empty()) speaks = launcher.who;
      continue;
    }
    // A single rank without a launcher may be inside one of Slurm's tasks.
    const bool is_alone = launcher.weight == Weight::slurm && seen.ranks().front()->place->size_of_launch() == 1;
    const bool is_excused = is_alone || (launcher.weight != Weight::own && !speaks.empty());
    if (is_excused) {
      judgement.findings.push_back(make_note(left_over(seen, launcher, *first, speaks)));
      continue;
    }
    for (const Claim& claim : claims)
      if (!claim.wrong.empty()) judgement.findings.push_back(wrong_launcher(seen, launcher, claim));
    ++wrong;
  }
  if (wrong != 0) return;
  if (right.empty())
    judgement.evidence.emplace_back("no launcher's variables are set");
  else
    judgement.evidence.push_back(fmt::format("the variables of {} agree with MPI", human_list(right)));
}

}  // namespace muster::environment
