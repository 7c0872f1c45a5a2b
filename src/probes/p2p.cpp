// Messages between pairs of ranks: latency, bandwidth one way and both, every byte looked at. docs/methods/p2p.md
#include <algorithm>
#include <memory>

#include "base/text.hpp"
#include "base/units.hpp"
#include "measure/gpu_data.hpp"
#include "measure/link_class.hpp"
#include "measure/pair_measure.hpp"
#include "measure/pair_settings.hpp"
#include "measure/pair_verify.hpp"
#include "probes/p2p/judge.hpp"
#include "probes/p2p/rounds.hpp"

namespace muster {

namespace {

constexpr ParamSpec p2p_params[] = {
    {"sizes", ParamType::bytes_list, "1MiB,16MiB", "Message sizes for bandwidth.", {}, 1, 2147483647},
    {"latency_sizes", ParamType::bytes_list, "8B", "Message sizes for latency.", {}, 1, 2147483647},
    {"pairs", ParamType::text, "all", "Pairs to measure: all, or each rank with its neighbours.", "all|ring", {}, {}},
    {"rounds",
     ParamType::integer,
     "0",
     "Number of random perfect matchings to measure instead of all pairs; 0: all pairs, or as many matchings as the "
     "budget allows.",
     {},
     0,
     100000},
    {"seed", ParamType::integer, "1", "Seed of the matchings and of the data.", {}, 0, {}},
    {"buffers",
     ParamType::text,
     "rotating",
     "Memory of each message: a fresh part each time, or always the same, which caches serve.",
     "rotating|reused",
     {},
     {}},
    {"window",
     ParamType::integer,
     "64",
     "Messages in flight at the same time; fewer with rotating buffers that don't fit into `memory`.",
     {},
     1,
     4096},
    {"memory",
     ParamType::bytes,
     "64MiB",
     "Buffer of each rank and direction; larger where one message is larger.",
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
    {"cap", ParamType::duration, "250ms", "Longest time of one reading.", {}, 0.002, {}},
    {"budget",
     ParamType::duration,
     "20s",
     "Time limit of all rounds together; readings get shorter to keep it.",
     {},
     0.01,
     {}},
    {"verify",
     ParamType::real,
     "0.5",
     "Time of further messages, each of which is compared, as a multiple of the time of the timed messages; 0: none.",
     {},
     0,
     1000},
    {"least_slowdown",
     ParamType::real,
     "0.1",
     "A node, rank or link slower than its like by less than this share is not blamed.",
     {},
     0.01,
     0.99},
    {"noise",
     ParamType::real,
     "0.05",
     "Normal spread between like links: standard deviation as a share of the median.",
     {},
     0.001,
     1},
    {"sockets",
     ParamType::text,
     "fallback",
     "Whether sockets are a fault: where a faster transport exists (shared memory, InfiniBand, Slingshot), or never.",
     "fallback|allowed",
     {},
     {}},
    p2p::on_param,
    p2p::transport_param,
    p2p::deadline_param,
    p2p::least_of_link_param("0.2"),
};

constexpr MetricSpec p2p_metrics[] = {
    {"latency", "us", Better::lower, "Half of the round-trip time of a message."},
    {"bandwidth", "GB/s", Better::higher, "Rate of messages in one direction, from the rank to its peer.", true, true},
    {"bidirectional", "GB/s", Better::higher, "Sum of the rates of both directions at the same time.", true, true},
};

constexpr LabelSpec p2p_labels[] = {
    {"size", "Size of a message in bytes."},
    {"link", "What lies between the two ranks: cache, numa, node or network.", {}, true},
    {"cpu_link",
     "In place of `link` for data on GPUs of one node: what the CPUs of the two ranks share, not the path between the "
     "GPUs.",
     {},
     true},
    {"alone", "yes: the pair was measured again while no other pair was measured."},
    p2p::memory_label,
    p2p::carrier_label,
};

/// All that `run` needs and that may be lacking: memory, topology.
struct P2pState final : ProbeState {
  p2p::Buffer out;
  p2p::Buffer in;
  Topology topology;
};

Result<std::unique_ptr<ProbeState>> prepare_p2p(const PrepareContext& context) {
  context.recorder.step("memory");
  std::size_t bytes = 0;
  for (const p2p::Task& task : p2p::tasks_of(context.params, !context.timing_doubt.empty()))
    bytes = std::max(bytes, task.stride() * static_cast<std::size_t>(task.slots));
  auto made = std::make_unique<P2pState>();
  auto out = p2p::Buffer::make(bytes + p2p::burst_slack);
  auto in = p2p::Buffer::make(bytes);
  if (!out || !in) return tl::unexpected(out ? in.error() : out.error());
  made->out = std::move(*out);
  made->in = std::move(*in);
  p2p::fill(made->out.host(),
            p2p::seed_of(static_cast<std::uint64_t>(context.params.integer("seed")), context.place.rank));
  context.recorder.step("topology");
  auto topology = read_topology();
  if (!topology) return tl::unexpected(topology.error());
  made->topology = std::move(*topology);
  return made;
}

Result<Observation> run_p2p(RunContext& context) {
  auto& prepared = static_cast<P2pState&>(*context.state);
  if (context.comm.size() < 2) return Observation();
  // Buffers on a GPU must go before its runtime does.
  p2p::GpuData gpu(context);
  p2p::Buffer out = std::move(prepared.out);
  p2p::Buffer in = std::move(prepared.in);
  if (auto agreed = gpu.agree(out, in); !agreed) return tl::unexpected(agreed.error());
  if (gpu.is_refused()) {
    Observation seen;
    gpu.announce(seen);
    return seen;
  }
  context.recorder.step("placement");
  auto spots = p2p::exchange_spots(context.comm, p2p::spot_here(context.place, prepared.topology));
  if (!spots) return tl::unexpected(spots.error());
  return p2p::all_rounds(context, gpu, {out, in}, std::move(*spots));
}

constexpr std::string_view p2p_facts[] = {"data.device"};

}  // namespace

extern const ProbeSpec probe_p2p{
    .name = "p2p",
    .summary = "Latency and bandwidth between pairs of ranks, with every byte verified.",
    .params = p2p_params,
    .metrics = p2p_metrics,
    .labels = p2p_labels,
    .prepare = prepare_p2p,
    .run = run_p2p,
    .judge = p2p::judge,
    .subject = Subject::links,
    .reported_facts = p2p_facts,
};

}  // namespace muster
