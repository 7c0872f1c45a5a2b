#include "probes/gpu_memory/judge.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "measure/gpu_facts.hpp"
#include "measure/gpu_health.hpp"
#include "measure/gpu_limits.hpp"
#include "measure/gpu_remedies.hpp"
#include "measure/node_gpus.hpp"
#include "model/fact_fields.hpp"
#include "stats/headline.hpp"

namespace muster::gpu_memory {

namespace {

void judge_rank(const RankPlace& place, const Observation& seen, std::vector<Finding>& findings) {
  const auto named = gpu_copy::tested_by(seen);
  std::map<std::string, int> wrong;
  for (const Fact& fact : seen.facts) {
    if (fact.key != "wrong" && fact.key != "failed") continue;
    const auto [address, text] = read_fact<gpu_copy::AboutGpu>(fact.value).value_or(gpu_copy::AboutGpu());
    // One cell of memory is wrong under many patterns.
    if (fact.key == "wrong" && ++wrong[address] > 1) continue;
    const bool lacks_code = text.rfind("no code for kernels", 0) == 0;
    findings.push_back(
        fact.key == "wrong"
            ? gpu_copy::about_gpu(place, Verdict::fail, address,
                                  fmt::format("memory of {} on {} is bad: {}", named(address), place.host, text),
                                  fmt::format("take the GPU out of service; see its ECC and row remapping counters "
                                              "({}), reset it and run again, and have it replaced if it stays",
                                              memory_commands()))
            : gpu_copy::about_gpu(
                  place, lacks_code ? Verdict::unmeasured : Verdict::fail, address,
                  fmt::format("{} on {} failed while its memory was tested: {}", named(address), place.host, text),
                  lacks_code ? remedy_without_kernels() : remedy_for_failed_gpu(place.host)));
  }
}

}  // namespace

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement;
  const std::size_t gpus = gpu_copy::judge_nodes(view, judgement);
  std::uint64_t covered = 0;
  std::uint64_t there = 0;
  std::size_t reported = 0;
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* seen = view.measured(i);
    if (seen == nullptr) continue;
    judge_rank(view.ranks[i], *seen, judgement.findings);
    if (view.timing_doubt.empty() && !gpu_copy::is_shared_with_others(*seen))
      gpu_copy::judge_limits(view, view.ranks[i], *seen, gpu_copy::tested_by(*seen), judgement.findings);
    for (const auto& memory : facts_of<gpu_copy::CoveredMemory>(*seen, "covered")) {
      ++reported;
      covered += memory.tested;
      there += memory.all;
    }
  }
  gpu_copy::judge_health(view, judgement.findings);
  if (gpus == 0 || !gpu_copy::is_well(judgement)) return judgement;
  if (reported != gpus) {
    Finding finding{Verdict::unmeasured,
                    fmt::format("{} of {} GPUs did not report what was tested", gpus - reported, gpus),
                    {},
                    {}};
    finding.remedy = "report this: the observation is incomplete";
    judgement.findings.push_back(std::move(finding));
    return judgement;
  }
  if (view.timing_doubt.empty())
    if (auto rate = headline(view, {"pattern_rate", "GB/s", "pattern", false}); !rate.empty())
      judgement.evidence.push_back(std::move(rate));
  judgement.evidence.push_back(fmt::format("{:.4g} GiB of {:.4g} GiB in {} kept every pattern",
                                           static_cast<double>(covered) / (1U << 30),
                                           static_cast<double>(there) / (1U << 30), counted(gpus, "GPU")));
  gpu_copy::add_health_evidence(view, judgement);
  return judgement;
}

}  // namespace muster::gpu_memory
