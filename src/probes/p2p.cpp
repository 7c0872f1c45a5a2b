// Messages between pairs of ranks: latency, bandwidth one way and both, every byte looked at. docs/methods/p2p.md
#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "probes/p2p/gpu_data.hpp"
#include "probes/p2p/judge.hpp"
#include "probes/p2p/link_class.hpp"
#include "probes/p2p/links.hpp"
#include "probes/p2p/measure.hpp"
#include "probes/p2p/settings.hpp"
#include "probes/p2p/transport.hpp"

namespace muster {

namespace {

using p2p::Kind;

constexpr ParamSpec params[] = {
    {"sizes", ParamType::bytes_list, "1MiB,16MiB", "Message sizes for bandwidth.", {}, 1, 2147483647},
    {"latency_sizes", ParamType::bytes_list, "8B", "Message sizes for latency.", {}, 1, 2147483647},
    {"pairs",
     ParamType::text,
     "all",
     "Everybody with everybody, or each rank with its neighbours.",
     "all|ring",
     {},
     {}},
    {"rounds",
     ParamType::integer,
     "0",
     "So many random perfect matchings instead of all pairs; 0: all pairs, or as many "
     "matchings as the budget allows.",
     {},
     0,
     100000},
    {"seed", ParamType::integer, "1", "Of matchings and data.", {}, 0, {}},
    {"buffers",
     ParamType::text,
     "rotating",
     "A fresh part of memory for each message, or always the same, which caches "
     "serve.",
     "rotating|reused",
     {},
     {}},
    {"window",
     ParamType::integer,
     "64",
     "Messages under way at once; with rotating buffers fewer when they would not fit into `memory`.",
     {},
     1,
     4096},
    {"memory",
     ParamType::bytes,
     "64MiB",
     "Of each rank, for each direction; more where one message is larger.",
     {},
     4096,
     {}},
    {"interval",
     ParamType::real,
     "0.02",
     "Half-width of the median's 95 % confidence interval that is good enough.",
     {},
     0.0001,
     1},
    {"cap", ParamType::duration, "250ms", "Longest time of one reading.", {}, 0.002, {}},
    {"budget",
     ParamType::duration,
     "20s",
     "Time of all rounds together; readings get shorter to keep it.",
     {},
     0.01,
     {}},
    {"least_slowdown",
     ParamType::real,
     "0.1",
     "A node, rank or link slower than its like by less than this share is not "
     "blamed.",
     {},
     0.01,
     0.99},
    {"noise",
     ParamType::real,
     "0.05",
     "Spread between like links that is normal (a standard deviation's share).",
     {},
     0.001,
     1},
    {"sockets",
     ParamType::text,
     "fallback",
     "Sockets are a fault where there is something faster (shared memory, "
     "InfiniBand, Slingshot), or never.",
     "fallback|allowed",
     {},
     {}},
    p2p::on_param,
    p2p::transport_param,
    p2p::deadline_param,
};

constexpr MetricSpec metrics[] = {
    {"latency", "us", Better::lower, "Half the time of a message there and one back."},
    {"bandwidth", "GB/s", Better::higher, "One way, from the rank to its peer."},
    {"bidirectional", "GB/s", Better::higher, "Both ways at once, added up."},
};

constexpr LabelSpec labels[] = {
    {"size", "Bytes of a message."},
    {"link", "What lies between the two ranks: cache, numa, node or network.", {}, true},
    {"alone", "yes: measured again while no other pair was."},
    p2p::memory_label,
    p2p::carrier_label,
};

/// All that `run` needs and that may be lacking: memory, topology.
struct Prepared final : ProbeState {
  p2p::Buffer out;
  p2p::Buffer in;
  Topology topology;
};

Result<std::unique_ptr<ProbeState>> prepare(const PrepareContext& context) {
  context.recorder.step("memory");
  std::size_t bytes = 0;
  for (const p2p::Task& task : p2p::tasks_of(context.params, !context.timing_doubt.empty()))
    bytes = std::max(bytes, task.stride() * static_cast<std::size_t>(task.slots));
  auto made = std::make_unique<Prepared>();
  auto out = p2p::Buffer::make(bytes);
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

constexpr int times_alone = 3;
constexpr int most_told = 64;  // wrong readings of one rank

/// One rank's part of a case.
class Part {
 public:
  /// `out` and `in` lie where `gpu` moved them.
  Part(RunContext& context, const p2p::GpuData& gpu, const p2p::Buffer& out, const p2p::Buffer& in,
       std::vector<p2p::Spot> spots)
      : context_(context),
        gpu_(gpu),
        spots_(std::move(spots)),
        self_(static_cast<std::size_t>(context.comm.rank())),
        schedule_(p2p::schedule_of(context.params, p2p::nodes_of(spots_), !context.timing_doubt.empty())),
        own_(spots_, self_),
        watch_(spots_[self_].mask, own_.seconds().value_or(0)),
        with_{context.comm, context.recorder, out, in, static_cast<std::uint64_t>(context.params.integer("seed")),
              // Where ranks share cores, each would be the other's contamination.
              own_.seconds() && context.timing_doubt.empty() ? &watch_ : nullptr, [this] { return own_.seconds(); },
              gpu.carrier()},
        tasks_(p2p::tasks_of(context.params, !context.timing_doubt.empty())) {
    goal_.interval = context.params.real("interval");
    goal_.cap = {p2p::budget_of(context.params, p2p::nodes_of(spots_), false).reading_s};
    if (!context.timing_doubt.empty()) goal_ = one_look();
  }

  [[nodiscard]] Result<Observation> all_rounds() {
    const double begun = monotonic_seconds();
    for (round_ = 0; round_ < schedule_.rounds(); ++round_) {
      auto goes_on = has_time(begun);
      if (!goes_on) return tl::unexpected(goes_on.error());
      if (!*goes_on) break;
      const int peer = schedule_.partner(context_.comm.rank(), round_);
      for (const p2p::Task& task : tasks_) {
        if (auto done = together(peer, task, true); !done) return tl::unexpected(done.error());
        if (task.kind != Kind::bandwidth) continue;
        if (auto done = together(peer, task, false); !done) return tl::unexpected(done.error());
      }
    }
    if (context_.timing_doubt.empty())
      if (auto done = again(); !done) return tl::unexpected(done.error());
    context_.recorder.peer(-1);
    finish();
    return std::move(seen_);
  }

 private:
  /// Rank 0's clock decides, so that all end with the same round. There always is a first one.
  [[nodiscard]] Result<bool> has_time(double begun) {
    if (round_ == 0) return true;
    const bool is_up = monotonic_seconds() - begun > context_.params.duration("budget").value;
    const std::byte mine{static_cast<std::uint8_t>(is_up)};
    context_.recorder.step("next round");
    auto told = context_.comm.broadcast(std::span(&mine, 1), 0);
    if (!told) return tl::unexpected(told.error());
    return !told->empty() && told->front() == std::byte{0};
  }

  /// One reading of every pair at a time, or what some send back would be in the way of what others still send.
  [[nodiscard]] Result<void> together(int peer, const p2p::Task& task, bool is_forward) {
    context_.recorder.step("round");
    context_.recorder.iteration(static_cast<std::uint64_t>(round_));
    context_.recorder.peer(-1);
    if (auto met = context_.comm.barrier(); !met) return met;
    if (peer < 0) return {};
    const bool is_first = schedule_.leads(context_.comm.rank(), peer) == is_forward;
    return one(peer, is_first ? PairRole::first : PairRole::second, task, false);
  }

  [[nodiscard]] Result<void> one(int peer, PairRole role, const p2p::Task& task, bool is_alone) {
    const p2p::LinkClass link = p2p::class_of(spots_[self_], spots_[static_cast<std::size_t>(peer)]);
    const auto before = task.kind == Kind::latency ? p2p::Traffic() : p2p::read_traffic();
    auto measured = p2p::measure(with_, peer, role, task, goal_);
    if (!measured) return tl::unexpected(measured.error());
    const double moved = static_cast<double>(measured->received + measured->sent) * static_cast<double>(task.size);
    // What no interface counts between GPUs, their library tells.
    if (task.kind != Kind::latency && !gpu_.is_on_device())
      carriers_.add(link, p2p::carrier_of(link, before, p2p::read_traffic(), moved), moved);
    ++checked_;
    bytes_ += static_cast<double>(measured->compared);
    const std::string size = to_string(ParamScalar(Bytes{task.size}));
    if (measured->corruption && ++corrupt_ <= most_told)
      seen_.facts.push_back({"corrupt", fmt::format("{} {} {} {}", peer, size, to_string(task.kind),
                                                    p2p::describe(*measured->corruption))});
    if (role == PairRole::first)
      keep(peer, task, measured->sampled, {{"link", std::string(to_string(link))}, {"size", size}}, is_alone);
    return {};
  }

  void keep(int peer, const p2p::Task& task, const Sampled& sampled, Labels where, bool is_alone) {
    if (is_alone) where.insert(where.begin(), {"alone", "yes"});
    gpu_.add_labels(where);
    if (task.kind == Kind::bandwidth && !is_alone && task.size == p2p::largest_size(context_.params) &&
        sampled.summary.n > 0)
      mine_.push_back({context_.comm.rank(), peer, round_, sampled.summary.median,
                       p2p::class_of(spots_[self_], spots_[static_cast<std::size_t>(peer)]), false,
                       p2p::spread_of(sampled.summary)});
    if (sampled.end == SamplingEnd::precise) ++precise_;
    ++measured_;
    disturbed_ += sampled.is_disturbed;
    seen_.readings.push_back({std::string(to_string(task.kind)), std::move(where), sampled.summary, peer});
  }

  /// Links that look bad, one at a time: is it the link, or the company?
  [[nodiscard]] Result<void> again() {
    context_.recorder.step("choose links");
    auto links = p2p::choose_links(context_.comm, spots_, mine_, p2p::decode_settings(context_.params));
    if (!links) return tl::unexpected(links.error());
    std::vector<p2p::Task> last;
    for (const p2p::Task& task : tasks_)
      if (task.kind == Kind::bandwidth && task.size == p2p::largest_size(context_.params)) last.push_back(task);
    const int groups = links->empty() ? 0 : links->back().group + 1;
    for (int i = 0; i < groups * times_alone; ++i) {
      context_.recorder.step("alone");
      context_.recorder.peer(-1);
      if (auto met = context_.comm.barrier(); !met) return met;
      for (const p2p::RankPair& pair : *links)
        if (pair.group == i / times_alone)
          if (auto done = once_more(pair, last); !done) return done;
    }
    return {};
  }

  [[nodiscard]] Result<void> once_more(const p2p::RankPair& pair, const std::vector<p2p::Task>& tasks) {
    const int rank = context_.comm.rank();
    if (rank != pair.from && rank != pair.to) return {};
    const bool is_first = rank == pair.from;
    for (const p2p::Task& task : tasks)
      if (auto done = one(is_first ? pair.to : pair.from, is_first ? PairRole::first : PairRole::second, task, true);
          !done)
        return done;
    return {};
  }

  void finish() {
    std::string fast;
    for (const std::string& port : p2p::fast_ports()) fast += (fast.empty() ? "" : " ") + port;
    if (!fast.empty()) seen_.facts.push_back({"fast_ports", fast});
    const int asked =
        std::max(schedule_.rounds(), context_.timing_doubt.empty() ? p2p::asked_rounds(context_.params) : 0);
    if (round_ < asked) seen_.facts.push_back({"rounds", fmt::format("{} of {}", round_, asked)});
    seen_.facts.push_back({"checked", fmt::format("{} readings, {:.3g} GB", checked_, bytes_ * 1e-9)});
    if (measured_ > 0) seen_.facts.push_back({"precise", fmt::format("{} of {}", precise_, measured_)});
    if (disturbed_ > 0)
      seen_.facts.push_back({"disturbed", fmt::format("{} of {} readings: {}", disturbed_, measured_,
                                                      muster::to_string(watch_.whole()))});
    for (Fact& fact : carriers_.facts()) seen_.facts.push_back(std::move(fact));
    gpu_.tell(seen_);
  }

  RunContext& context_;
  const p2p::GpuData& gpu_;
  std::vector<p2p::Spot> spots_;
  std::size_t self_;
  p2p::Schedule schedule_;
  p2p::OwnCpuTime own_;
  ContaminationWatch watch_;
  p2p::Equipment with_;
  std::vector<p2p::Task> tasks_;
  SamplingGoal goal_;
  p2p::Carriers carriers_;
  std::vector<p2p::RankLink> mine_;
  int round_ = 0;
  Observation seen_;
  int checked_ = 0;
  int measured_ = 0;
  int precise_ = 0;
  int disturbed_ = 0;
  int corrupt_ = 0;
  double bytes_ = 0;
};

Result<Observation> run(RunContext& context) {
  auto& prepared = static_cast<Prepared&>(*context.state);
  if (context.comm.size() < 2) return Observation();
  // Buffers on a GPU must go before its runtime does.
  p2p::GpuData gpu(context);
  p2p::Buffer out = std::move(prepared.out);
  p2p::Buffer in = std::move(prepared.in);
  if (auto agreed = gpu.agree(out, in); !agreed) return tl::unexpected(agreed.error());
  if (gpu.is_refused()) {
    Observation seen;
    gpu.tell(seen);
    return seen;
  }
  context.recorder.step("placement");
  auto spots = p2p::exchange_spots(context.comm, p2p::spot_here(context.place, prepared.topology));
  if (!spots) return tl::unexpected(spots.error());
  gpu.be_quiet();
  return Part(context, gpu, out, in, std::move(*spots)).all_rounds();
}

}  // namespace

extern const ProbeSpec probe_p2p{
    .name = "p2p",
    .summary = "Latency and bandwidth between pairs of ranks, with every byte verified.",
    .params = params,
    .metrics = metrics,
    .labels = labels,
    .prepare = prepare,
    .run = run,
    .judge = p2p::judge,
    .subject = Subject::links,
};

}  // namespace muster
