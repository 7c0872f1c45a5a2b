// Whether limits are high enough, and the same everywhere.
#include <array>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "measure/node_facts.hpp"
#include "probes/environment/case_view.hpp"

namespace muster::environment {

namespace {

std::string fact_key(const LimitSpec& spec) {
  return fmt::format("limit.{}", spec.metric);
}

std::string remedy_for(const LimitSpec& spec, std::string_view value) {
  return fmt::format(
      "raise {0} on that node: \"* soft {0} {1}\" and \"* hard {0} {1}\" in /etc/security/limits.conf "
      "(Limit{2}={3} in the unit of a daemon that starts ranks, such as slurmd), or ulimit {4} {1} in "
      "the job; Slurm also passes on the limits of where you submit (PropagateResourceLimitsExcept={2})",
      spec.name, value, spec.slurm, value == "unlimited" ? "infinity" : value, spec.ulimit);
}

/// One finding for all ranks whose limit is not what it should be. `demand` ends the sentence.
void demand(const EnvironmentView& seen, const LimitSpec& spec,
            const std::function<bool(const SeenRank&, const Limit&)>& is_bad, std::string_view demand,
            std::string remedy, ProbeJudgement& judgement) {
  const auto groups = seen.groups([&](const SeenRank& rank) -> std::optional<std::string> {
    const auto text = rank.fact(fact_key(spec));
    const auto limit = text ? parse_limit(*text) : std::nullopt;
    return limit && is_bad(rank, *limit) ? text : std::nullopt;
  });
  for (const Group& group : groups) {
    if (!group.value) continue;
    judgement.findings.push_back(seen.about(
        spec.name, group.ranks,
        fmt::format("the limit {} (ulimit {}) is {} on {}, {}", spec.name, spec.ulimit,
                    limit_words(*parse_limit(*group.value), spec.is_bytes), seen.describe(group.ranks), demand),
        remedy));
  }
}

void demand_open_files(const EnvironmentView& seen, ProbeJudgement& judgement) {
  const auto least = static_cast<std::uint64_t>(seen.params().integer("min_open_files"));
  demand(
      seen, limits[0], [&](const SeenRank&, const Limit& limit) { return limit && *limit < least; },
      fmt::format("fewer than {}", least), remedy_for(limits[0], std::to_string(least)), judgement);
}

void demand_memlock(const EnvironmentView& seen, ProbeJudgement& judgement) {
  if (seen.params().text("memlock") == "unlimited") {
    demand(
        seen, limits[1], [](const SeenRank&, const Limit& limit) { return limit.has_value(); }, "not unlimited",
        remedy_for(limits[1], "unlimited"), judgement);
    return;
  }
  const Bytes least = seen.params().bytes("rdma_memlock");
  demand(
      seen, limits[1],
      [&](const SeenRank& rank, const Limit& limit) {
        const SeenRank* node = seen.speaker(rank.place->node_index, "rdma");
        return node != nullptr && rank.fact("locks_freely") != "yes" && limit && *limit < least.count;
      },
      fmt::format("less than {} where there are RDMA devices, which need locked memory", format_bytes(least)),
      remedy_for(limits[1], "unlimited"), judgement);
}

void demand_core(const EnvironmentView& seen, ProbeJudgement& judgement) {
  const std::string& wanted = seen.params().text("core");
  if (wanted == "disabled")
    demand(
        seen, limits[2], [](const SeenRank&, const Limit& limit) { return !limit || *limit != 0; },
        "so that a job that crashes may fill the disk with core files", "ulimit -c 0 in the job", judgement);
  if (wanted == "enabled")
    demand(
        seen, limits[2], [](const SeenRank&, const Limit& limit) { return limit && *limit == 0; },
        "so that a crash leaves no core file", "ulimit -c unlimited in the job", judgement);
}

/// Each limit once per value: `8MiB`, or `8MiB on 4 of 8 ranks`.
void judge_equal(const EnvironmentView& seen, const LimitSpec& spec, ProbeJudgement& judgement) {
  const auto may_differ = seen.params().texts("may_differ");
  const auto groups = seen.groups([&](const SeenRank& rank) -> std::optional<std::string> {
    const auto text = rank.fact(fact_key(spec));
    const auto limit = text ? parse_limit(*text) : std::nullopt;
    return limit ? std::optional(limit_words(*limit, spec.is_bytes)) : std::nullopt;
  });
  if (groups.size() < 2 || is_in(spec.metric, may_differ)) return;
  Finding finding =
      seen.differs(spec.name, groups,
                   fmt::format("give all nodes the same limit in /etc/security/limits.conf or in the unit "
                               "of the daemon that starts ranks; or name {} in may_differ",
                               spec.metric));
  finding.reason = fmt::format("the limit {}", finding.reason);
  judgement.findings.push_back(std::move(finding));
}

std::string shown(const EnvironmentView& seen, const LimitSpec& spec) {
  const auto text = seen.ranks().front()->fact(fact_key(spec));
  const auto limit = text ? parse_limit(*text) : std::nullopt;
  return fmt::format("{} {}", spec.name, limit ? limit_words(*limit, spec.is_bytes) : "unknown");
}

}  // namespace

void judge_limits(const EnvironmentView& seen, ProbeJudgement& judgement) {
  constexpr std::array demands = {demand_open_files, demand_memlock, demand_core};
  const std::size_t at_first = judgement.findings.size();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const std::size_t before = judgement.findings.size();
    demands[i](seen, judgement);
    // A limit that is too low on some ranks differs too, which need not be reported again.
    if (judgement.findings.size() == before) judge_equal(seen, limits[i], judgement);
  }
  if (judgement.findings.size() != at_first) return;
  std::vector<std::string> words;
  for (const LimitSpec& spec : limits) words.push_back(shown(seen, spec));
  judgement.evidence.push_back(fmt::format("limits are {}", human_list(words)));
}

}  // namespace muster::environment
