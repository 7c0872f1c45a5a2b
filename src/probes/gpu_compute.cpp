// Products of matrices on every GPU: are they right, the same on all, and how fast? docs/methods/gpu_compute.md
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "measure/gpu_facts.hpp"
#include "measure/load_watch.hpp"
#include "measure/peak_bandwidth.hpp"
#include "model/fact_fields.hpp"
#include "probes/gpu_compute/bench.hpp"
#include "probes/gpu_compute/judge.hpp"
#include "probes/gpu_compute/vote_codec.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

using gpu_copy::NodeGpus;
using gpu_copy::SeenGpu;

constexpr NumberType all_types[] = {NumberType::float64, NumberType::float32,  NumberType::tf32,
                                    NumberType::float16, NumberType::bfloat16, NumberType::int8};

constexpr ParamSpec gpu_compute_params[] = {
    {"types",
     ParamType::text_list,
     "float64,float32,tf32,float16,bfloat16,int8",
     "Number types; each GPU multiplies those that it supports.",
     "float64|float32|tf32|float16|bfloat16|int8",
     {},
     {}},
    {"size",
     ParamType::integer,
     "0",
     "Rows and columns of the matrices, rounded to a multiple of 64; 0: 8192, or 64 on a simulated machine.",
     {},
     0,
     65536},
    {"cap", ParamType::duration, "1s", "Longest time of one type.", {}, 0.001, 3600},
    {"seed", ParamType::integer, "1", "Seed of the matrices, the same on all GPUs.", {}, 0, 1000000000},
    {"known_answer",
     ParamType::boolean,
     "true",
     "Whether results are compared with the right ones, by checksums that the host computes.",
     {},
     {},
     {}},
    {"repeats",
     ParamType::integer,
     "10",
     "Number of further products on a GPU whose results differ from those of others.",
     {},
     0,
     100000},
    {"least_of_like",
     ParamType::real,
     "0.85",
     "A GPU fails below this share of the median rate of its like: the same model, by the vendor's BLAS; from 3 on.",
     {},
     0,
     1},
    {"least_of_peak",
     ParamType::real,
     "0.25",
     "A GPU fails below this share of what its model can do by the vendor's BLAS, where that is known.",
     {},
     0,
     1},
};

constexpr MetricSpec gpu_compute_metrics[] = {
    {"rate", "TFLOP/s", Better::higher,
     "2 n^3 operations over the time of a product; of int8 they are not floating point.", true, true},
    {"power", "W", Better::neither, "Power of the GPU during the products, as reported by its driver."},
    {"clock", "MHz", Better::neither, "Clock of its multiprocessors during the products."},
    gpu_copy::corrected_errors_metric,
};

constexpr LabelSpec gpu_compute_labels[] = {
    {"type", "Number type.", "types"},
    {"by", "blas: the vendor's BLAS; own: muster's own kernels, whose rate does not characterise the GPU."},
    {"device", "PCI address of the GPU, where a rank has several."},
    {"model", "Model of the GPU: `H100 SXM` for known models, else the runtime's name."},
};

/// One rank's part.
class ComputePart {
 public:
  ComputePart(RunContext& context, NodeGpus& node, gpu_copy::LoadWatch& health)
      : context_(context), node_(node), health_(health) {}

  [[nodiscard]] Result<Observation> all(const gpu_copy::Schedule& schedule) {
    std::vector<const SeenGpu*> own;
    for (const SeenGpu& gpu : node_.seen)
      if (schedule.owner(context_.place.node_index, gpu.key) == context_.comm.rank()) own.push_back(&gpu);
    if (!own.empty()) prepare(own);
    gpu_copy::add_facts(node_, seen_);
    for (const SeenGpu* gpu : own) multiply(*gpu, own.size() > 1);
    if (auto compared = look_again(); !compared) return tl::unexpected(compared.error());
    announce();
    return std::move(seen_);
  }

 private:
  void prepare(const std::vector<const SeenGpu*>& own) {
    const CallWatch watch(context_.recorder);
    for (const SeenGpu* gpu : own) {
      const std::string vendor(gpu->gpus->vendor());
      if (libraries_.count(vendor) != 0) continue;
      libraries_[vendor] = open_gpu_blas(vendor, watch);
      node_.inventory.libraries.push_back(libraries_[vendor].report);
      if (!libraries_[vendor].remedy.empty()) seen_.facts.push_back({"blas_remedy", libraries_[vendor].remedy});
      if (!libraries_[vendor].setting.empty()) seen_.facts.push_back({"blas_setting", libraries_[vendor].setting});
    }
    const auto asked = static_cast<int>(context_.params.integer("size"));
    size_ = asked == 0 ? (this_machine().simulated.empty() ? 8192 : 64) : std::max((asked + 63) / 64 * 64, 64);
    if (!context_.params.boolean("known_answer")) return;
    context_.recorder.step("compute known answer");
    answer_.emplace(seed(), size_);
  }

  [[nodiscard]] std::uint64_t seed() const { return static_cast<std::uint64_t>(context_.params.integer("seed")); }

  void fails(const SeenGpu& gpu, const Error& error) {
    seen_.facts.push_back(to_fact("failed", gpu_copy::AboutGpu{gpu_copy::address_of(gpu), error.what}));
  }

  void multiply(const SeenGpu& gpu, bool is_one_of_several) {
    const std::string address = gpu_copy::address_of(gpu);
    seen_.facts.push_back(gpu_copy::tested_fact(gpu));
    const auto& library = libraries_[std::string(gpu.gpus->vendor())];
    auto made = gpu_compute::Bench::make(
        {context_, library, answer_ ? &*answer_ : nullptr, size_, seed(), [this, gpu] { health_.during(gpu); }}, gpu);
    if (!made) return fails(gpu, made.error());
    gpu_compute::Bench& bench = **made;
    seen_.facts.push_back({"by", fmt::format("{} {}", address, bench.multiplier())});
    if (!bench.no_blas().empty())
      seen_.facts.push_back(to_fact("no_blas", gpu_copy::AboutGpu{address, bench.no_blas()}));
    if (bench.do_launches_wait()) seen_.facts.push_back({"launches_wait", address});
    Labels where;
    if (is_one_of_several) where.emplace_back("device", address);
    gpu_copy::add_model(gpu, where);
    const auto wanted = context_.params.texts("types");
    for (const NumberType type : all_types) {
      if (!is_in(to_string(type), wanted)) continue;
      if (!gpu_compute::has_type(gpu.gpus->vendor(), gpu.about(), type) || !bench.can(type)) continue;
      if (const std::string setting = bench.withheld(type); !setting.empty()) {
        seen_.facts.push_back({"withheld", fmt::format("{} {}", to_string(type), setting)});
        continue;
      }
      if (auto done = bench.measure(type, seen_, where); !done) {
        fails(gpu, done.error());
        failed_.insert(&bench);
        break;
      }
    }
    benches_.push_back(std::move(*made));
  }

  [[nodiscard]] std::vector<Fact> prints() const {
    std::vector<Fact> facts;
    for (const auto& bench : benches_)
      for (const auto& [type, ballot] : bench->ballots())
        for (Fact& fact : gpu_compute::print_facts(gpu_copy::address_of(bench->gpu()), type, ballot))
          facts.push_back(std::move(fact));
    return facts;
  }

  /// Collective: what all ranks' GPUs got; own ones that differ multiply again.
  [[nodiscard]] Result<void> look_again() {
    context_.recorder.step("compare fingerprints");
    context_.recorder.iteration(std::numeric_limits<std::uint32_t>::max());
    std::string mine;
    for (const Fact& fact : prints()) mine += fact.value + "\n";
    auto all = context_.comm.all_gather(std::as_bytes(std::span(mine)));
    if (!all) return tl::unexpected(all.error());
    gpu_compute::Ballots ballots;
    for (std::size_t rank = 0; rank < all->size(); ++rank) {
      const std::string text(reinterpret_cast<const char*>((*all)[rank].data()), (*all)[rank].size());
      std::vector<Fact> facts;
      for (const std::string_view line : lines(text)) facts.push_back({"print", std::string(line)});
      gpu_compute::add_ballots(static_cast<int>(rank), facts, ballots);
    }
    const auto decisions = gpu_compute::decide(ballots);
    for (const auto& bench : benches_)
      if (failed_.count(bench.get()) == 0) repeat(*bench, decisions);
    return {};
  }

  void repeat(gpu_compute::Bench& bench, const std::map<std::string, gpu_compute::Decision>& decisions) {
    const auto before = bench.ballots();
    for (const auto& [type, ballot] : before) {
      const auto decision = decisions.find(std::string(to_string(type)));
      if (decision == decisions.end() || !gpu_compute::is_suspect(ballot, decision->second)) continue;
      const int times = static_cast<int>(context_.params.integer("repeats"));
      if (auto done = bench.repeat(type, times); !done) return fails(bench.gpu(), done.error());
    }
  }

  void announce() {
    seen_.facts.push_back({"size", std::to_string(size_)});
    for (Fact& fact : prints()) seen_.facts.push_back(std::move(fact));
    for (const auto& bench : benches_)
      for (const std::string& row : bench->wrong_rows())
        seen_.facts.push_back({"wrong_row", fmt::format("{} {}", gpu_copy::address_of(bench->gpu()), row)});
  }

  RunContext& context_;
  NodeGpus& node_;
  gpu_copy::LoadWatch& health_;
  std::map<std::string, GpuBlasLibrary> libraries_;
  std::optional<gpu_compute::Answer> answer_;
  int size_ = 0;
  std::vector<std::unique_ptr<gpu_compute::Bench>> benches_;
  std::set<const gpu_compute::Bench*> failed_;
  Observation seen_;
};

Result<Observation> run_gpu_compute(RunContext& context) {
  NodeGpus node = gpu_copy::open_node_gpus(context);
  // Before any rank begins: processes on them now are not of this run.
  gpu_copy::LoadWatch health(context, node);
  gpu_copy::begin_likely(context, node, health);
  auto sight = gpu_copy::exchange_sight(context, node);
  if (!sight) return tl::unexpected(sight.error());
  const auto schedule = gpu_copy::schedule_of(*sight, false);
  auto seen = ComputePart(context, node, health).all(schedule);
  if (seen) health.end(*seen, schedule);
  return seen;
}

constexpr std::string_view gpu_compute_facts[] = {"tested"};

}  // namespace

extern const ProbeSpec probe_gpu_compute{
    .name = "gpu_compute",
    .summary = "Products of matrices on every GPU, exact to the bit and the same on all; their rate, power and clock.",
    .params = gpu_compute_params,
    .metrics = gpu_compute_metrics,
    .labels = gpu_compute_labels,
    .run = run_gpu_compute,
    .judge = gpu_compute::judge,
    .reported_facts = gpu_compute_facts,
};

}  // namespace muster
