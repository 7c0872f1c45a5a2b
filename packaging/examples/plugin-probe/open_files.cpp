// How many files each rank may open. docs/tutorial-plugin-probe.md
#include <string>
#include <sys/resource.h>

#include "muster/probe.hpp"
#include "muster/summarize.hpp"

namespace muster {

namespace {

constexpr ParamSpec params[] = {
    {"least", ParamType::integer, "1024", "Smallest limit that is a pass.", {}, 1, {}},
};

constexpr MetricSpec metrics[] = {
    {"files", "1", Better::higher, "Files that the rank may have open at a time.", false},
};

Result<Observation> run(RunContext& context) {
  context.recorder.step("limit");
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return fail(ErrorKind::system, "getrlimit", "the kernel gave no limit");
  const double files = static_cast<double>(limit.rlim_cur);
  Observation seen;
  seen.readings.push_back({"files", {}, summarize(std::span(&files, 1))});
  return seen;
}

Finding too_few(const RankPlace& place, double files, std::int64_t least) {
  Finding finding;
  finding.reason = "rank " + std::to_string(place.rank) + " on " + place.host + " may open " +
                   std::to_string(static_cast<std::int64_t>(files)) + " files, fewer than " + std::to_string(least);
  finding.culprits.push_back({CulpritKind::setting, "nofile", place.host, place.rank});
  finding.remedy = "raise nofile in /etc/security/limits.conf on that node";
  return finding;
}

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement;
  const auto least = view.params.integer("least");
  int enough = 0;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const Observation* seen = view.observed[rank];
    if (seen == nullptr || seen->state != ObservationState::measured || seen->readings.empty()) continue;
    const double files = seen->readings[0].summary.median;
    if (files >= static_cast<double>(least))
      ++enough;
    else
      judgement.findings.push_back(too_few(view.ranks[rank], files, least));
  }
  if (enough > 0 && judgement.findings.empty())
    judgement.evidence.push_back(std::to_string(enough) + " ranks may open at least " + std::to_string(least) +
                                 " files");
  return judgement;
}

}  // namespace

extern const ProbeSpec probe_open_files{
    .name = "open_files",
    .summary = "How many files each rank may open.",
    .params = params,
    .metrics = metrics,
    .run = run,
    .judge = judge,
};

}  // namespace muster
