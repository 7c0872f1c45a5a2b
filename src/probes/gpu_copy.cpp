// Copies between host and GPUs, within a GPU and between GPUs of a node, verified. docs/methods/gpu_copy.md
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.hpp"
#include "base/units.hpp"
#include "measure/gpu_facts.hpp"
#include "measure/load_watch.hpp"
#include "measure/node_gpus.hpp"
#include "measure/peak_bandwidth.hpp"
#include "measure/verified_share.hpp"
#include "model/fact_fields.hpp"
#include "probes/gpu_copy/bench.hpp"
#include "probes/gpu_copy/facts.hpp"
#include "probes/gpu_copy/judge.hpp"
#include "stats/stats.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

using gpu_copy::NodeGpus;
using gpu_copy::SeenGpu;
using gpu_copy::Turn;

constexpr ParamSpec gpu_copy_params[] = {
    {"bytes", ParamType::bytes, "0B", "Size of a copy; 0: 256MiB, or 1MiB on a simulated machine.", {}, 0, 68719476736},
    {"cap", ParamType::duration, "100ms", "Longest time of one reading.", {}, 0.001, 3600},
    {"verify",
     ParamType::real,
     "0.5",
     "Time of further copies, each of which is compared, as a multiple of the time of the timed copies; 0: none.",
     {},
     0,
     1000},
    {"pairs", ParamType::boolean, "true", "Whether copies between the GPUs of a node are measured, too.", {}, {}, {}},
    {"least_of_link",
     ParamType::real,
     "0.6",
     "Copies between host and GPU fail below this share of what the link between them can do, where that is known.",
     {},
     0,
     1},
    {"least_of_memory",
     ParamType::real,
     "0.5",
     "Copies within a GPU fail below this share of what its memory can do, where that is known.",
     {},
     0,
     1},
    {"least_of_peer",
     ParamType::real,
     "0.5",
     "Copies over NVLink and xGMI fail below this share of what the links between the two GPUs can do.",
     {},
     0,
     1},
    {"least_of_like",
     ParamType::real,
     "0.8",
     "A copy fails below this share of the median of its like: the same GPUs, the same kind of link; from 3 on.",
     {},
     0,
     1},
};

constexpr MetricSpec gpu_copy_metrics[] = {
    {"host_to_device", "GB/s", Better::higher, "Copies from pinned memory near the GPU into its own memory.", true,
     true},
    {"device_to_host", "GB/s", Better::higher, "Copies from the GPU's memory into pinned memory near it.", true, true},
    {"both_ways", "GB/s", Better::higher, "Sum of the rates of both directions at the same time.", true, true},
    {"local_copy", "GB/s", Better::higher, "Copies within a GPU's memory, bytes read plus bytes written.", true, true},
    {"peer_copy", "GB/s", Better::higher, "Copies from a GPU's memory into that of another GPU of the node.", true,
     true},
    gpu_copy::corrected_errors_metric,
};

constexpr LabelSpec gpu_copy_labels[] = {
    {"by", "engine: the copy engine; kernel: threads of the GPU that load and store."},
    {"device", "PCI address of the GPU, where a rank has several."},
    {"model", "Model of the GPU: `H100 SXM` for known models, else the runtime's name."},
    {"pages", "The NUMA domain that the pinned memory lies in, where that is not the GPU's."},
    {"to", "PCI address of the other GPU, where a rank has several."},
    {"link",
     "Link between two GPUs: nvlink, xgmi, xgmi_routed (through a third GPU), same_gpu (partitions of one GPU), switch "
     "(a PCIe switch above both), pcie, staged (through host memory), unknown (no source shows the GPU's links).",
     {},
     true},
};

using gpu_copy::address_of;

/// One rank's part.
class CopyPart {
 public:
  CopyPart(RunContext& context, NodeGpus& node, gpu_copy::LoadWatch& health, const gpu_copy::Schedule& schedule)
      : context_(context), node_(node), health_(health), schedule_(schedule) {
    const std::uint64_t asked = context.params.bytes("bytes").count;
    const std::uint64_t usual = this_machine().simulated.empty() ? 256U << 20 : 1U << 20;
    bytes_ = std::max<std::size_t>((asked == 0 ? usual : asked) / 64 * 64, 4096);
    for (const Turn& turn : turns()) own_ += turn.rank == rank() && turn.to.empty();
  }

  [[nodiscard]] Result<Observation> all_turns() {
    gpu_copy::add_facts(node_, seen_);
    for (std::size_t i = 0; i < schedule_.turns(); ++i) {
      // A waiting rank records it: the rank whose turn it is makes many more steps.
      context_.recorder.step("await turn");
      context_.recorder.iteration(i);
      if (auto met = context_.comm.barrier(); !met) return tl::unexpected(met.error());
      if (i < turns().size() && turns()[i].rank == rank()) take(turns()[i]);
    }
    finish();
    return std::move(seen_);
  }

 private:
  [[nodiscard]] int rank() const { return context_.comm.rank(); }
  [[nodiscard]] const std::vector<Turn>& turns() const {
    return schedule_.nodes[static_cast<std::size_t>(context_.place.node_index)];
  }

  /// What fails is noted, and all continue: others wait for the next turn.
  void take(const Turn& turn) {
    const SeenGpu* gpu = node_.find(turn.gpu);
    const SeenGpu* to = turn.to.empty() ? nullptr : node_.find(turn.to);
    if (gpu == nullptr || (to == nullptr && !turn.to.empty())) return;
    if (dead_.count(turn.gpu) != 0 || dead_.count(turn.to) != 0) return;
    Result<void> done = to == nullptr ? alone(*gpu) : pair(*gpu, *to);
    if (done) return;
    // Which of two it was is not known: only what is alone is given up.
    if (to == nullptr) dead_.insert(turn.gpu);
    seen_.facts.push_back(to_fact(
        "failed", gpu_copy::FailedCopy{address_of(*gpu), to == nullptr ? "-" : address_of(*to), done.error().what}));
  }

  /// -1: not known; NUMA domains of a machine that is made up are not here.
  [[nodiscard]] int domain_of(const SeenGpu& gpu) const {
    const Device* known = node_.known(gpu);
    return known == nullptr || !this_machine().simulated.empty() ? -1 : known->numa_node;
  }

  [[nodiscard]] Result<gpu_copy::Bench*> bench(const SeenGpu& gpu) {
    auto& bench = benches_[gpu.key];
    if (bench) return bench.get();
    const int domain = domain_of(gpu);
    auto made = gpu_copy::Bench::make(context_, gpu, bytes_, domain);
    if (!made) return tl::unexpected(made.error());
    bench = std::move(*made);
    bench->while_busy([this, gpu] { health_.during(gpu); });
    if (!bench->no_kernels().empty())
      seen_.facts.push_back({"no_kernels", fmt::format("{} {}", address_of(gpu), bench->no_kernels())});
    return bench.get();
  }

  [[nodiscard]] Result<void> alone(const SeenGpu& gpu) {
    seen_.facts.push_back(gpu_copy::tested_fact(gpu));
    auto made = bench(gpu);
    if (!made) return tl::unexpected(made.error());
    Labels where;
    if (own_ > 1) where.emplace_back("device", address_of(gpu));
    gpu_copy::add_model(gpu, where);
    gpu_copy::add_pages(domain_of(gpu), (*made)->pinned_at(), where);
    add_capable(gpu, where);
    const double rate = gpu_copy::host_way(gpu, node_.known(gpu)).rate;
    (*made)->least_of_link(context_.params.real("least_of_link") * rate);
    return (*made)->alone(seen_, where);
  }

  void add_capable(const SeenGpu& gpu, const Labels& where) {
    const gpu_copy::HostWay way = gpu_copy::host_way(gpu, node_.known(gpu));
    seen_.facts.push_back(to_fact("host_way", gpu_copy::AboutGpu{address_of(gpu), way.kind}));
    const double memory = gpu_copy::memory_rate(gpu);
    for (const char* by : {"engine", "kernel"}) {
      Labels labels = where;
      labels.emplace_back("by", by);
      for (const char* metric : {"host_to_device", "device_to_host"}) {
        gpu_copy::add_capable(seen_, metric, labels, way.rate);
        gpu_copy::add_possible(seen_, metric, labels, way.most);
      }
      gpu_copy::add_capable(seen_, "local_copy", labels, memory);
      gpu_copy::add_possible(seen_, "local_copy", labels,
                             gpu_copy::possible_memory_rate(gpu, 2 * static_cast<double>(bytes_), 1));
    }
    Labels labels = where;
    labels.emplace_back("by", "engine");
    gpu_copy::add_capable(seen_, "both_ways", labels, 2 * way.rate);
    gpu_copy::add_possible(seen_, "both_ways", labels, 2 * way.most);
  }

  [[nodiscard]] Result<void> pair(const SeenGpu& gpu, const SeenGpu& to) {
    if (gpu.gpus != to.gpus) return {};
    auto made = bench(gpu);
    if (!made) return tl::unexpected(made.error());
    auto reaches = gpu.gpus->reach(gpu.device, to.device);
    if (!reaches) return tl::unexpected(reaches.error());
    const std::string link = gpu_copy::link_between(node_.inventory, node_.known(gpu), node_.known(to), *reaches);
    ++links_[link];
    Labels where{{"link", link}};
    const int owner = schedule_.owner(context_.place.node_index, to.key);
    // Without a rank of its own, a pair has no place in a matrix of ranks.
    const bool is_of_ranks = own_ == 1 && owner >= 0 && owner != rank();
    if (!is_of_ranks) where = {{"device", address_of(gpu)}, {"link", link}, {"to", address_of(to)}};
    gpu_copy::add_model(gpu, where);
    const gpu_copy::PeerWay way = gpu_copy::peer_way(node_.inventory, node_.known(gpu), node_.known(to), link);
    const int peer = is_of_ranks ? owner : -1;
    const double most = gpu_copy::most_to_peer(way, link, gpu_copy::host_way(gpu, node_.known(gpu)),
                                               gpu_copy::host_way(to, node_.known(to)));
    for (const auto& [by, rate] : {std::pair("engine", way.engine), std::pair("kernel", way.kernel)}) {
      Labels labels = where;
      labels.emplace_back("by", by);
      gpu_copy::add_capable(seen_, "peer_copy", labels, rate, peer);
      gpu_copy::add_possible(seen_, "peer_copy", labels, most, peer);
    }
    return (*made)->to_peer(to, seen_, where, peer);
  }

  void finish() {
    int cells = 0;
    int expired = 0;
    int unread = 0;
    for (const auto& [key, bench] : benches_) {
      if (!bench) continue;
      p2p::VerifiedTotals verified;
      verified.add(format_bytes({bytes_}), bench->compared(), bench->copies());
      verified.announce(seen_);
      cells += bench->cells();
      expired += bench->expired();
      unread += bench->disturbed();
    }
    seen_.facts.push_back({"checked", std::to_string(cells)});
    seen_.facts.push_back({"bytes", format_bytes({bytes_})});
    for (const auto& [link, count] : links_) seen_.facts.push_back({"link." + link, std::to_string(count)});
    if (unread > 0) seen_.facts.push_back({"unread", fmt::format("{} of {} readings", unread, cells)});
    if (std::any_of(benches_.begin(), benches_.end(),
                    [](const auto& one) { return one.second && one.second->do_launches_wait(); }))
      seen_.facts.push_back({"launches_wait", "all"});
    if (expired > 0) seen_.facts.push_back({"expired", std::to_string(expired)});
    const std::size_t apart = schedule_.apart[static_cast<std::size_t>(context_.place.node_index)];
    if (apart > 0 && context_.place.local_rank == 0) seen_.facts.push_back({"apart", std::to_string(apart)});
  }

  RunContext& context_;
  NodeGpus& node_;
  gpu_copy::LoadWatch& health_;
  const gpu_copy::Schedule& schedule_;
  std::size_t bytes_ = 0;
  int own_ = 0;
  std::map<std::string, std::unique_ptr<gpu_copy::Bench>> benches_;
  std::set<std::string> dead_;
  std::map<std::string, int> links_;
  Observation seen_;
};

Result<Observation> run_gpu_copy(RunContext& context) {
  NodeGpus node = gpu_copy::open_node_gpus(context);
  // Before any rank begins: processes on them now are not of this run.
  gpu_copy::LoadWatch health(context, node);
  gpu_copy::begin_likely(context, node, health);
  auto sight = gpu_copy::exchange_sight(context, node);
  if (!sight) return tl::unexpected(sight.error());
  const auto schedule = gpu_copy::schedule_of(*sight, context.params.boolean("pairs"));
  // What it gives back, too, may fail.
  auto seen = CopyPart(context, node, health, schedule).all_turns();
  if (seen) health.end(*seen, schedule);
  return seen;
}

constexpr std::string_view gpu_copy_facts[] = {"tested"};

}  // namespace

extern const ProbeSpec probe_gpu_copy{
    .name = "gpu_copy",
    .summary = "Copies between host and GPUs, within and between the GPUs of a node, with every byte verified.",
    .params = gpu_copy_params,
    .metrics = gpu_copy_metrics,
    .labels = gpu_copy_labels,
    .run = run_gpu_copy,
    .judge = gpu_copy::judge,
    .reported_facts = gpu_copy_facts,
};

}  // namespace muster
