// A torchrun that the user's launch line starts: one for each task of the launcher around it.
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "probes/environment/seen.hpp"

namespace muster::environment {

void judge_torchrun(const SeenCase& seen, ProbeJudgement& judgement) {
  const SeenRank* first = seen.first();
  const auto words = first == nullptr ? std::nullopt : first->fact("torchrun");
  if (!words) return;
  RankList crowded;
  int starts = 1;
  for (const SeenRank* rank : seen.ranks()) {
    if (rank->place->local_size < 2) continue;
    crowded.push_back(rank);
    starts = rank->place->local_size;
  }
  if (crowded.empty()) {
    judgement.evidence.push_back(fmt::format("the launch line starts {} once on each node", in_quotes(*words)));
    return;
  }
  judgement.findings.push_back(seen.about(
      "torchrun", crowded,
      fmt::format("the launch line starts {} {} times on each node, once in each task: so many jobs of their own "
                  "on the same GPUs",
                  in_quotes(*words), starts),
      "start one task per node for torchrun (--ntasks-per-node=1), or leave torchrun out and let the launcher "
      "start the ranks"));
}

}  // namespace muster::environment
