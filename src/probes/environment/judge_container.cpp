// Containers without the fabric's libraries, and with Python packages of the host.
#include <fmt/format.h>

#include "base/text.hpp"
#include "probes/environment/case_view.hpp"

namespace muster::environment {

namespace {

RankList with_fact(const EnvironmentView& seen, std::string_view key) {
  RankList some;
  for (const SeenRank* rank : seen.ranks())
    if (rank->fact(key)) some.push_back(rank);
  return some;
}

std::string container_on(const SeenRank& rank) {
  return rank.fact("container").value_or("the container");
}

void judge_fabric(const EnvironmentView& seen, ProbeJudgement& judgement) {
  const RankList without = with_fact(seen, "container.lacks");
  if (without.empty()) return;
  const SeenRank& first = *without.front();
  judgement.findings.push_back(seen.about(
      first.fact("container").value_or("container"), without,
      fmt::format("inside of {} on {} the fabric's libraries can't be loaded: {}", container_on(first),
                  seen.describe(without), *first.fact("container.lacks")),
      "bind them into the container (-B /usr/lib64/libcxi.so.1 -B /usr/lib64/libjansson.so.4 -B /opt/cray -B "
      "/var/spool/slurmd); without them NCCL and MPI fall back to sockets, or don't start"));
}

/// Python puts that folder before the packages of the image.
void judge_user_base(const EnvironmentView& seen, ProbeJudgement& judgement) {
  const RankList with = with_fact(seen, "container.user_base");
  if (with.empty()) return;
  const SeenRank& first = *with.front();
  judgement.findings.push_back(make_note(
      fmt::format("PYTHONUSERBASE is {} inside of {} on {}: packages that were installed there for a Python of the "
                  "host come before those of the image; unset it, or give each image a folder of its own (shifter "
                  "--env PYTHONUSERBASE=FOLDER)",
                  in_quotes(*first.fact("container.user_base")), container_on(first), seen.describe(with))));
}

}  // namespace

void judge_containers(const EnvironmentView& seen, ProbeJudgement& judgement) {
  judge_fabric(seen, judgement);
  judge_user_base(seen, judgement);
}

}  // namespace muster::environment
