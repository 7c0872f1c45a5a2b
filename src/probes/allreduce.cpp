// A sum over all ranks: exact to the bit, and how fast. docs/methods/allreduce.md
#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "base/text.hpp"
#include "base/units.hpp"
#include "measure/gpu_data.hpp"
#include "measure/link_class.hpp"
#include "measure/network_limit.hpp"
#include "measure/pair_verify.hpp"
#include "measure/peak_bandwidth.hpp"
#include "measure/verified_share.hpp"
#include "model/fact_fields.hpp"
#include "probes/allreduce/facts.hpp"
#include "probes/allreduce/judge.hpp"
#include "probes/allreduce/measure.hpp"

namespace muster {

namespace {

constexpr ParamSpec allreduce_params[] = {
    {"sizes", ParamType::bytes_list, "8B,1MiB,16MiB", "Bytes that each rank contributes.", {}, 8, 2147483640},
    {"types",
     ParamType::text_list,
     "float,double,int32,int64",
     "Element types; only NCCL and RCCL sum half and bfloat16.",
     "int32|int64|float|double|half|bfloat16",
     {},
     {}},
    {"seed", ParamType::integer, "1", "Seed of the data.", {}, 0, {}},
    {"buffers",
     ParamType::text,
     "rotating",
     "Memory of each operation: a fresh part each time, or always the same, which caches serve.",
     "rotating|reused",
     {},
     {}},
    {"memory",
     ParamType::bytes,
     "32MiB",
     "Buffers of each rank, for input and for output each; larger where one operation is larger.",
     {},
     4096,
     {}},
    {"interval",
     ParamType::real,
     "0.02",
     "Measurement stops when the half-width of the median's 95 % confidence interval is below this share.",
     {},
     0.0001,
     1},
    {"cap", ParamType::duration, "100ms", "Longest time of one reading.", {}, 0.002, {}},
    {"verify",
     ParamType::real,
     "0.5",
     "Time of further sums, each of which is verified, as a multiple of the time of the timed sums; 0: none.",
     {},
     0,
     1000},
    {"max_skew",
     ParamType::real,
     "0.5",
     "A rank is a straggler when the others wait for it for more than this share of an "
     "operation's time, in most operations of the largest size.",
     {},
     0.01,
     {}},
    p2p::on_param,
    p2p::transport_param,
    p2p::deadline_param,
    p2p::least_of_link_param("0.05"),
};

constexpr MetricSpec allreduce_metrics[] = {
    {"time", "us", Better::lower, "Time of one operation on the slowest rank, after a barrier."},
    {"algbw", "GB/s", Better::higher, "Bytes of one rank divided by the time."},
    {"busbw", "GB/s", Better::higher, "algbw x 2 (n-1) / n: what the links carry.", true, true},
    {"own_time", "us", Better::lower, "Time from this rank's call to its return."},
    {"skew", "us", Better::lower,
     "Difference between the slowest rank's time and this rank's: a rank that comes late waits less, the others wait "
     "for it."},
};

constexpr LabelSpec allreduce_labels[] = {
    {"size", "Bytes that each rank contributes."},
    {"type", "Element type.", "types"},
    p2p::memory_label,
    p2p::carrier_label,
};

struct AllreduceState final : ProbeState {
  p2p::Buffer out;
  p2p::Buffer in;
  Topology topology;
};

bool is_for_gpus(SumType type) {
  return size_of(type) == 2;
}

/// `is_quick`: timing means nothing; one part of memory is enough, and one size of all types but the first.
std::vector<allreduce::Task> tasks_of(const Params& params, bool is_quick, bool is_by_mpi) {
  std::vector<allreduce::Task> tasks;
  for (const std::string& name : params.texts("types")) {
    const auto type = allreduce::parse_sum_type(name);
    if (is_by_mpi && type && is_for_gpus(*type)) continue;
    for (const Bytes asked : params.byte_list("sizes")) {
      if (!type) continue;
      const std::size_t size = std::max(size_of(*type), asked.count / size_of(*type) * size_of(*type));
      const bool is_reused = is_quick || params.text("buffers") == "reused";
      const auto fitting = std::clamp<std::uint64_t>(params.bytes("memory").count / size, 1, 1u << 16);
      tasks.push_back({*type, size, is_reused ? 1 : static_cast<int>(fitting)});
      if (is_quick && tasks.front().type != *type) break;
    }
  }
  return tasks;
}

/// What the parameters themselves rule out.
Result<void> refuse_types(const Params& params) {
  const char* by = params.text("on") == "host"         ? "on = host"
                   : params.text("transport") == "mpi" ? "transport = mpi"
                                                       : "";
  for (const std::string& name : params.texts("types")) {
    const auto type = allreduce::parse_sum_type(name);
    if (*by != '\0' && type && is_for_gpus(*type))
      return fail(ErrorKind::usage, "types",
                  fmt::format("{} can't be summed with {}: MPI has no such type, NCCL and RCCL have", name, by));
  }
  return {};
}

Result<std::unique_ptr<ProbeState>> prepare_allreduce(const PrepareContext& context) {
  for (const std::string& name : context.params.texts("types"))
    if (!allreduce::parse_sum_type(name))
      return fail(
          ErrorKind::usage, "types",
          fmt::format("\"{}\" is not one of int32, int64, float, double, half, bfloat16", printable_line(name, 60)));
  if (auto known = refuse_types(context.params); !known) return tl::unexpected(known.error());
  const std::vector<allreduce::Task> tasks = tasks_of(context.params, !context.timing_doubt.empty(), false);
  if (tasks.empty()) return fail(ErrorKind::usage, "sizes, types", "neither may be empty");
  context.recorder.step("memory");
  std::size_t bytes = 0;
  for (const allreduce::Task& task : tasks) bytes = std::max(bytes, task.size * static_cast<std::size_t>(task.slots));
  auto made = std::make_unique<AllreduceState>();
  auto out = p2p::Buffer::make(bytes + p2p::burst_slack);
  auto in = p2p::Buffer::make(bytes);
  if (!out || !in) return tl::unexpected(out ? in.error() : out.error());
  made->out = std::move(*out);
  made->in = std::move(*in);
  context.recorder.step("topology");
  auto topology = read_topology();
  if (!topology) return tl::unexpected(topology.error());
  made->topology = std::move(*topology);
  return made;
}

/// `network`: GB/s at which a node's part of a sum can leave it, at most; 0: not known.
void keep(const allreduce::Task& task, const allreduce::Measured& measured, int ranks, double network,
          const p2p::GpuData& gpu, Observation& seen) {
  const std::string size = to_string(ParamScalar(Bytes{task.size}));
  Labels where{{"size", size}, {"type", std::string(allreduce::to_string(task.type))}};
  gpu.add_labels(where);
  const Summary& time = measured.time.summary;
  // GB/s = 10^9 bytes / s = bytes / us / 1000.
  const double algbw = static_cast<double>(task.size) * 1e-3;
  seen.readings.push_back({"time", where, time});
  seen.readings.push_back({"algbw", where, allreduce::rate_of(time, algbw)});
  seen.readings.push_back({"busbw", where, allreduce::rate_of(time, algbw * 2 * (ranks - 1) / ranks)});
  gpu_copy::add_capable(seen, "busbw", where, gpu.links().together());
  // Whatever the algorithm, what this rank brings has to leave its GPU, or its node, once, also where a switch adds up.
  const double possible =
      p2p::across_machines(gpu.possible_to_all(), network, !gpu.is_on_device() || gpu.links().end_in_node());
  gpu_copy::add_possible(seen, "algbw", where, possible);
  gpu_copy::add_possible(seen, "busbw", where, possible * 2 * (ranks - 1) / ranks);
  if (possible > 0) gpu_copy::add_possible(seen, "time", where, algbw / possible);
  seen.readings.push_back({"own_time", where, measured.own});
  seen.readings.push_back({"skew", where, measured.skew});
  const std::string what = fmt::format("{} {}", where[1].second, size);
  if (measured.wrong)
    seen.facts.push_back(to_fact(
        "wrong",
        allreduce::WrongSum{where[1].second, size, measured.wrong->index, measured.wrong->expected, measured.wrong->got,
                            measured.wrong->differing, measured.wrong->count, measured.wrong_sums, measured.looked}));
  if (measured.time.is_disturbed) seen.facts.push_back({"disturbed", what});
  if (measured.slowest >= 0)
    seen.facts.push_back({"slowest", fmt::format("{}: rank {} in {:.0f} % of {} operations", what, measured.slowest,
                                                 measured.slowest_share * 100, measured.operations)});
}

Result<Observation> run_allreduce(RunContext& context) {
  if (context.comm.size() < 2) return Observation();
  auto& prepared = static_cast<AllreduceState&>(*context.state);
  // Buffers on a GPU must go before its runtime does.
  p2p::GpuData gpu(context);
  p2p::Buffer out = std::move(prepared.out);
  p2p::Buffer in = std::move(prepared.in);
  if (auto agreed = gpu.agree(out, in); !agreed) return tl::unexpected(agreed.error());
  Observation seen;
  if (gpu.is_refused()) {
    gpu.announce(seen);
    return seen;
  }
  context.recorder.step("placement");
  auto spots = p2p::exchange_spots(context.comm, p2p::spot_here(context.place, prepared.topology));
  if (!spots) return tl::unexpected(spots.error());
  const p2p::OwnCpuTime own(*spots, static_cast<std::size_t>(context.comm.rank()));
  ContaminationWatch watch((*spots)[static_cast<std::size_t>(context.comm.rank())].mask, own.seconds().value_or(0));
  p2p::Equipment with{context.comm,
                      context.recorder,
                      out,
                      in,
                      static_cast<std::uint64_t>(context.params.integer("seed")),
                      own.seconds() && context.timing_doubt.empty() ? &watch : nullptr,
                      [&] { return own.seconds(); },
                      gpu.carrier(),
                      context.params.real("verify")};
  SamplingGoal goal;
  goal.interval = context.params.real("interval");
  goal.cap = context.params.duration("cap");
  if (!context.timing_doubt.empty()) goal = one_look();
  const bool is_by_mpi = gpu.carrier() == nullptr;
  if (is_by_mpi)
    for (const std::string& name : context.params.texts("types"))
      if (const auto type = allreduce::parse_sum_type(name); type && is_for_gpus(*type))
        seen.facts.push_back({"left_out", name});
  const double network = p2p::network_limit_of_all(*spots, static_cast<std::size_t>(context.comm.rank()));
  std::uint64_t looked = 0;
  p2p::VerifiedTotals verified;
  int timed = 0;
  int precise = 0;
  for (const allreduce::Task& task : tasks_of(context.params, !context.timing_doubt.empty(), is_by_mpi)) {
    auto measured = allreduce::measure(with, task, goal);
    if (!measured) return tl::unexpected(measured.error());
    looked += measured->looked;
    verified.add(to_string(ParamScalar(Bytes{task.size})), measured->looked, measured->summed);
    ++timed;
    precise += measured->time.end == SamplingEnd::precise;
    keep(task, *measured, context.comm.size(), network, gpu, seen);
  }
  gpu.announce(seen);
  seen.facts.push_back({"checked", std::to_string(looked)});
  verified.announce(seen);
  if (timed > 0) seen.facts.push_back({"precise", fmt::format("{} of {}", precise, timed)});
  return seen;
}

constexpr std::string_view allreduce_facts[] = {"data.device"};

}  // namespace

extern const ProbeSpec probe_allreduce{
    .name = "allreduce",
    .summary = "A sum over all ranks, exact to the bit, and its bandwidth.",
    .params = allreduce_params,
    .metrics = allreduce_metrics,
    .labels = allreduce_labels,
    .prepare = prepare_allreduce,
    .run = run_allreduce,
    .judge = allreduce::judge,
    .subject = Subject::collective,
    .reported_facts = allreduce_facts,
};

}  // namespace muster
