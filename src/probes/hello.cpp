// The template for authors: docs/tutorial-first-probe.md walks through it.
//
// A probe is one file in src/probes. It describes itself as data and behaves in three functions: `prepare` is local
// and may fail, `run` talks to the other ranks and reports what it saw, `judge` looks at what all ranks saw. A file
// with another name, another `probe_...` and other names in its unnamed namespace is another probe; nothing else needs
// an edit.
#include <cstring>
#include <fmt/format.h>
#include <set>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "muster/probe.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

// Parameters: what a check file may set, with the text one would type as default. Type and range are checked before
// anything is launched.
constexpr ParamSpec hello_params[] = {
    {"repetitions", ParamType::integer, "20", "Number of timed barriers.", {}, 1, 1e6},
    {"warmups",
     ParamType::integer,
     "3",
     "Number of barriers before the timed ones; the first ones open connections.",
     {},
     0,
     1e6},
};

// Metrics: every number that a check may put a bound on, with its unit and the direction that is better.
constexpr MetricSpec hello_metrics[] = {
    {"barrier", "us", Better::lower, "Time of one barrier over all ranks."},
};

/// The message of every rank to all others.
struct Answer {
  int rank = -1;
  int world_size = 0;
};

ByteVector to_bytes(const Answer& answer) {
  ByteVector bytes(sizeof answer);
  std::memcpy(bytes.data(), &answer, sizeof answer);
  return bytes;
}

/// Empty when `bytes` is the expected message of `rank`; else the error, as a text for the report.
std::string find_fault(const ByteVector& bytes, int rank, int world_size) {
  Answer answer;
  if (bytes.size() != sizeof answer) return fmt::format("rank {} answered with {} bytes", rank, bytes.size());
  std::memcpy(&answer, bytes.data(), sizeof answer);
  if (answer.rank != rank) return fmt::format("rank {} answered as rank {}", rank, answer.rank);
  if (answer.world_size != world_size)
    return fmt::format("rank {} counts {} ranks instead of {}", rank, answer.world_size, world_size);
  return {};
}

/// Microseconds of each timed barrier. Every rank does the same number of them, whatever happens.
Result<std::vector<double>> time_barriers(RunContext& context) {
  const auto repetitions = context.params.integer("repetitions");
  const auto warmups = context.params.integer("warmups");
  std::vector<double> samples;
  // The recorder is updated before every step that could hang: a report contains the last entry of this rank.
  context.recorder.step("barrier");
  for (std::int64_t i = 0; i < warmups + repetitions; ++i) {
    context.recorder.iteration(static_cast<std::uint64_t>(i));
    const double begun = monotonic_seconds();
    if (auto done = context.comm.barrier(); !done) return tl::unexpected(done.error());
    if (i >= warmups) samples.push_back((monotonic_seconds() - begun) * 1e6);
  }
  return samples;
}

// Every rank runs this at the same time, after all ranks have agreed to. An error that is returned is reported as
// `failed` on this rank; it decides nothing itself. The frame fills in rank, state and seconds.
Result<Observation> run_hello(RunContext& context) {
  Observation seen;
  auto samples = time_barriers(context);
  if (!samples) return tl::unexpected(samples.error());
  // A reading is a metric with labels (here: none) and the summary of its samples.
  seen.readings.push_back({"barrier", {}, summarize(*samples)});

  context.recorder.step("gather");
  const Answer mine{context.comm.rank(), context.comm.size()};
  auto answers = context.comm.all_gather(to_bytes(mine));
  if (!answers) return tl::unexpected(answers.error());
  // A fact is text for the judge: what is wrong with each other rank's answer.
  int right = 0;
  for (int rank = 0; rank < static_cast<int>(answers->size()); ++rank) {
    const std::string fault = find_fault((*answers)[static_cast<std::size_t>(rank)], rank, mine.world_size);
    if (fault.empty())
      ++right;
    else
      seen.facts.push_back({"fault", fault});
  }
  seen.facts.push_back({"answers", fmt::format("{} of {}", right, mine.world_size)});
  return seen;
}

Finding wrong_answers(const RankPlace& place, const Observation& seen, int world_size) {
  const std::string* fault = seen.fact("fault");
  const std::string* answers = seen.fact("answers");
  return {Verdict::fail,
          fmt::format("rank {} on {} got {} right answers{}", place.rank, place.host,
                      answers == nullptr ? fmt::format("none of {}", world_size) : printable_line(*answers),
                      fault == nullptr ? std::string() : ": " + printable_line(*fault)),
          {rank_culprit(place.rank, place.host)},
          "run again with another transport; data that changes on the way points to the network or the MPI library"};
}

// Pure: looks only at what was observed. Ranks that stayed silent or failed are judged by the frame, and so are the
// bounds of the check. Without a finding and without evidence the case is `unmeasured`, never `pass`.
ProbeJudgement judge_hello(const CaseView& view) {
  ProbeJudgement judgement;
  const std::string all = fmt::format("{0} of {0}", view.ranks.size());
  std::size_t answered = 0;
  std::set<std::string_view> nodes;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    if (seen == nullptr) continue;
    const std::string* answers = seen->fact("answers");
    if (answers == nullptr || *answers != all || seen->fact("fault") != nullptr) {
      judgement.findings.push_back(wrong_answers(view.ranks[rank], *seen, static_cast<int>(view.ranks.size())));
      continue;
    }
    ++answered;
    nodes.insert(view.ranks[rank].host);
  }
  if (answered > 0 && judgement.findings.empty())
    judgement.evidence.push_back(fmt::format("{} of {} ranks on {} {} answered", answered, view.ranks.size(),
                                             nodes.size(), nodes.size() == 1 ? "node" : "nodes"));
  return judgement;
}

}  // namespace

// `extern`: a plain const would be invisible to the table of probes. The name must be the file's.
extern const ProbeSpec probe_hello{
    .name = "hello",
    .summary = "Every rank answers: a barrier and a gather over all ranks.",
    .params = hello_params,
    .metrics = hello_metrics,
    .run = run_hello,
    .judge = judge_hello,
};

}  // namespace muster
