// How fast the memory of each node is, and whether it keeps what it is given. docs/methods/memory_bandwidth.md
#include <fmt/format.h>
#include <set>

#include "base/clock.hpp"
#include "base/fault_injection.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "measure/domains.hpp"
#include "muster/probe.hpp"
#include "probes/memory_bandwidth/stream.hpp"
#include "probes/memory_bandwidth/targets.hpp"
#include "probes/memory_bandwidth/turns.hpp"
#include "stats/headline.hpp"
#include "stats/sampling.hpp"
#include "system/contamination.hpp"
#include "system/cpu_quota.hpp"
#include "system/meminfo.hpp"
#include "system/numa_policy.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

using memory_bandwidth::Cover;
using memory_bandwidth::Domain;
using memory_bandwidth::Kernel;
using memory_bandwidth::Stream;
using memory_bandwidth::Target;

constexpr Seconds least_time{0.12};  ///< of a reading: a shorter one shows little of what others do

constexpr ParamSpec memory_bandwidth_params[] = {
    {"bytes",
     ParamType::bytes,
     "0B",
     "Size of each of the three arrays of a domain; 0: four times its last-level caches, within bounds.",
     {},
     0,
     {}},
    {"cap",
     ParamType::duration,
     "400ms",
     "Time limit of one kernel in one domain, shared by the ranks of a node.",
     {},
     0.001,
     3600},
};

constexpr MetricSpec memory_bandwidth_metrics[] = {
    {"copy", "GB/s", Better::higher, "c = a, 16 bytes per element."},
    {"triad", "GB/s", Better::higher, "a = b + s c, 24 bytes per element."},
};

constexpr LabelSpec memory_bandwidth_labels[] = {
    {"domain",
     "Number of the NUMA domain; `node`: all domains at once; `open`: the cores that the rank may use in several "
     "domains."},
    {"threads", "Number of threads, one on each core."},
    {"cpus", "CPUs of the threads, where they are not all of the domain's cores."},
    {"pages", "Domain of the memory, where it is another one."},
    {"cached", "yes: an array is smaller than four times the last-level caches, which may serve a part of it."},
    {"quota", "CPUs that control groups allow at a time, where these are fewer than the threads."},
};

/// What `run` gets from `prepare`.
struct Arrays final : ProbeState {
  std::vector<Domain> domains;
  CpuMask closed;  ///< of the node's cores
  std::vector<std::string> sizes;
  std::vector<std::uint64_t> bytes;  ///< of each array, by domain; empty: of a machine that is made up
  std::unique_ptr<Stream> stream;
};

/// What no state of the node could satisfy is a mistake in the check.
Result<void> refuse_impossible(std::uint64_t asked) {
  const std::uint64_t all = read_meminfo("MemTotal:");
  if (all == 0 || asked <= all / 3) return {};
  return fail(ErrorKind::usage, "bytes",
              fmt::format("three arrays of {} are more than all memory of the node, {:.3g} GiB", format_bytes({asked}),
                          static_cast<double>(all) / (1u << 30)));
}

Result<std::unique_ptr<ProbeState>> prepare_memory_bandwidth(const PrepareContext& context) {
  context.recorder.step("allocate");
  if (const auto possible = refuse_impossible(context.params.bytes("bytes").count); !possible)
    return tl::unexpected(possible.error());
  const auto allowed = CpuMask::processors_of_this_thread();
  if (!allowed) return tl::unexpected(allowed.error());
  auto state = std::make_unique<Arrays>();
  state->domains = memory_bandwidth::read_domains(*allowed);
  state->closed = memory_bandwidth::closed_cores(*allowed);
  const auto shares = state->domains.size() * static_cast<std::size_t>(std::max(context.place.local_size, 1));
  const std::uint64_t available = memory_bandwidth::read_available_memory() / shares;
  // Of a machine that is made up neither speed nor memory is there: enough to see that data comes back.
  const bool is_made_up = !this_machine().simulated.empty() && context.params.bytes("bytes").count == 0;
  const std::uint64_t asked = is_made_up ? 4u << 20 : context.params.bytes("bytes").count;
  std::vector<Stream::Place> places;
  for (const Domain& domain : state->domains) {
    const auto size = memory_bandwidth::choose_size(asked, domain.cache, domain.cpus.count(), available);
    if (!size) return tl::unexpected(size.error());
    places.push_back({domain.cpus, size->bytes});
    if (this_machine().simulated.empty()) state->bytes.push_back(size->bytes);
    state->sizes.push_back(fmt::format("domain {}: {} each, {}; a thread on each of CPUs {}", domain.name,
                                       format_bytes({size->bytes}), size->why, domain.cpus.list()));
  }
  auto stream = Stream::start(places);
  if (!stream) return tl::unexpected(stream.error());
  state->stream = std::move(*stream);
  return state;
}

/// Where each domain's arrays lie; a machine that is made up has no domains.
std::vector<std::string> pages_of(const Arrays& arrays) {
  std::vector<std::string> pages;
  for (std::size_t i = 0; this_machine().simulated.empty() && i < arrays.domains.size(); ++i) {
    const auto array = std::as_writable_bytes(arrays.stream->array(static_cast<int>(i), 0));
    pages.push_back(domains_of(array.data(), array.size()));
  }
  return pages;
}

Cover cover_of(const RunContext& context, const Arrays& arrays) {
  CpuMask reserved;
  for (const int core : context.node.reserved_cores) reserved.add(core);
  const auto quota = read_cpu_quota();
  return memory_bandwidth::cover_of(arrays.domains, {arrays.closed - reserved, context.place.local_size,
                                                     pages_of(arrays), quota ? quota->cpus : 0, arrays.bytes});
}

struct Measured {
  Sampled sampled;
  Disturbance disturbance;
  std::uint64_t passes = 0;
};

Measured measure(RunContext& context, Stream& stream, Kernel kernel, const Target& target) {
  // Where timing means nothing, all that is left to learn is whether the data is right.
  const bool is_timed = context.timing_doubt.empty();
  const Seconds cap = memory_bandwidth::share_of_cap(context.params.duration("cap"), context.place.local_size);
  Sampler sampler(is_timed ? SamplingGoal{.cap = cap, .least_time = least_time} : one_look());
  // Ranks that share a node would take each other for strangers.
  const CpuMask watched = is_timed && context.place.local_size == 1 ? target.cpus : CpuMask();
  ContaminationWatch watch(watched, own_cpu_seconds());
  const double gigabytes = bytes_per_element(kernel) * static_cast<double>(stream.elements(target.domain)) / 1e9;
  Measured measured;
  for (int count = sampler.next(); count > 0; count = sampler.next()) {
    std::vector<double> values;
    const double began = monotonic_seconds();
    for (int i = 0; i < count; ++i) {
      context.recorder.iteration(measured.passes++);
      values.push_back(gigabytes / stream.pass(kernel, target.domain));
    }
    sampler.feed(values, Seconds{monotonic_seconds() - began}, watch.ask(own_cpu_seconds()));
  }
  sampler.settle(watch.ask_last(own_cpu_seconds()));
  measured.sampled = sampler.result();
  measured.disturbance = watch.whole();
  return measured;
}

void note(Observation& seen, Kernel kernel, const Target& target, const Measured& measured) {
  const std::string what = fmt::format("{} in {}", to_string(kernel), target.name);
  seen.facts.push_back({"sampling", fmt::format("{}: {}", what, to_string(measured.sampled))});
  if (measured.sampled.is_disturbed)
    seen.facts.push_back({"disturbed", fmt::format("{}: {}, {} meanwhile", what, to_string(measured.disturbance),
                                                   format_value(measured.sampled.contaminated.median, "GB/s"))});
  if (measured.sampled.summary.n == 0) return;
  for (const Labels& where : target.where)
    seen.readings.push_back({std::string(to_string(kernel)), where, measured.sampled.summary});
}

/// All kernels in all targets, and whether the data was right.
void measure_targets(RunContext& context, Arrays& arrays, const Cover& cover, Observation& seen) {
  std::uint64_t passes = 0;
  for (const Target& target : cover.targets) {
    if (target.domain != Stream::everywhere)
      seen.facts.push_back({"threads", fmt::format("{} on CPUs {}", target.name, target.cpus.list())});
    for (const Kernel kernel : {Kernel::copy, Kernel::triad}) {
      context.recorder.step(fmt::format("{} {}", to_string(kernel), target.name));
      const Measured measured = measure(context, *arrays.stream, kernel, target);
      note(seen, kernel, target, measured);
      passes += measured.passes;
      context.recorder.step("verify");
      corrupt("memory", std::as_writable_bytes(arrays.stream->array(0, 0)));
      if (const auto fault = arrays.stream->verify())
        seen.facts.push_back({"wrong", fmt::format("after {} in {}: {}", to_string(kernel), target.name, *fault)});
    }
  }
  seen.facts.push_back({"verified_passes", std::to_string(passes)});
}

Result<Observation> run_memory_bandwidth(RunContext& context) {
  auto& arrays = static_cast<Arrays&>(*context.state);
  Observation seen;
  for (const std::string& size : arrays.sizes) seen.facts.push_back({"arrays", size});
  const Cover cover = cover_of(context, arrays);
  if (!cover.lacking.empty()) seen.facts.push_back({"not_node", cover.lacking});
  const auto measure_all = [&] { measure_targets(context, arrays, cover, seen); };
  if (!context.timing_doubt.empty())
    measure_all();
  else if (auto measured = memory_bandwidth::in_turn(context, measure_all); !measured)
    return tl::unexpected(measured.error());
  return seen;
}

Finding about(const RankPlace& place, Verdict verdict, std::string reason, std::string remedy) {
  Finding finding{verdict, std::move(reason), {}, std::move(remedy)};
  finding.culprits.push_back({CulpritKind::node, place.host, place.host, place.rank});
  return finding;
}

void judge_rank(const RankPlace& place, const Observation& seen, bool is_timed, ProbeJudgement& judgement) {
  if (const std::string* wrong = seen.fact("wrong"))
    judgement.findings.push_back(about(
        place, Verdict::fail, fmt::format("memory of {} gave back wrong data {}", place.host, printable_line(*wrong)),
        "take the node out of service, look for machine checks and corrected errors (EDAC) in its log, and test its "
        "memory"));
  else if (seen.fact("verified_passes") == nullptr)
    judgement.findings.push_back(
        about(place, Verdict::unmeasured,
              fmt::format("rank {} on {} did not report whether its data was right", place.rank, place.host),
              "report this: the observation is incomplete"));
  if (const std::string* lacking = seen.fact("not_node"); lacking != nullptr && is_timed)
    judgement.findings.push_back(about(
        place, Verdict::unmeasured,
        fmt::format("domain=node is not measured on {}: {}", place.host, printable_line(*lacking)),
        "give one rank all cores of the node: run without taskset and CPU quota (docker --cpus, cpu.max), ask the "
        "scheduler for the node alone (--exclusive), and leave --bind out"));
  if (const std::string* disturbed = seen.fact("disturbed"))
    judgement.findings.push_back(
        about(place, Verdict::unmeasured,
              fmt::format("too few undisturbed samples on {}: {}", place.host, printable_line(*disturbed)),
              "free the node of other work and run again, or give more time with the parameter cap"));
}

ProbeJudgement judge_memory_bandwidth(const CaseView& view) {
  ProbeJudgement judgement;
  std::size_t right = 0;
  std::set<std::string_view> nodes;
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* seen = view.measured(i);
    if (seen == nullptr) continue;
    judge_rank(view.ranks[i], *seen, view.timing_doubt.empty(), judgement);
    ++right;
    nodes.insert(view.ranks[i].host);
  }
  if (right == 0 || !judgement.findings.empty()) return judgement;
  if (view.timing_doubt.empty())
    if (auto triad = headline(view, {"triad", "GB/s", "domain", false}); !triad.empty())
      judgement.evidence.push_back(std::move(triad));
  judgement.evidence.push_back(
      fmt::format("all data of copy and triad was right on {} {}", nodes.size(), nodes.size() == 1 ? "node" : "nodes"));
  return judgement;
}

constexpr std::string_view memory_bandwidth_facts[] = {"threads"};

}  // namespace

extern const ProbeSpec probe_memory_bandwidth{
    .name = "memory_bandwidth",
    .summary = "STREAM copy and triad in each NUMA domain and on the whole node, with all data verified.",
    .params = memory_bandwidth_params,
    .metrics = memory_bandwidth_metrics,
    .labels = memory_bandwidth_labels,
    .prepare = prepare_memory_bandwidth,
    .run = run_memory_bandwidth,
    .judge = judge_memory_bandwidth,
    .subject = Subject::memory,
    .reported_facts = memory_bandwidth_facts,
    .is_about_nodes = true,
};

}  // namespace muster
