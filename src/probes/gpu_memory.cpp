// Does the memory of GPUs keep what it is given? docs/methods/gpu_memory.md
#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.hpp"
#include "base/units.hpp"
#include "measure/gpu_facts.hpp"
#include "measure/load_watch.hpp"
#include "measure/node_gpus.hpp"
#include "measure/pattern.hpp"
#include "measure/peak_bandwidth.hpp"
#include "model/fact_fields.hpp"
#include "muster/probe.hpp"
#include "probes/gpu_memory/judge.hpp"
#include "stats/stats.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

using gpu_copy::NodeGpus;
using gpu_copy::SeenGpu;

constexpr ParamSpec gpu_memory_params[] = {
    {"share", ParamType::real, "0.9", "Share of the memory that is free when the probe begins.", {}, 0.001, 1},
    {"bytes",
     ParamType::bytes,
     "0B",
     "Memory of each GPU to test, instead of a share; 0: the share, or 1MiB on a simulated machine.",
     {},
     0,
     {}},
    {"rounds", ParamType::integer, "1", "Number of passes over all patterns.", {}, 1, 1000000},
    {"seed", ParamType::integer, "1", "Seed of the random pattern; each round has its own pattern.", {}, 0, {}},
    {"least_of_memory",
     ParamType::real,
     "0.3",
     "A GPU fails below this share of what its memory can do, where that is known.",
     {},
     0,
     1},
};

constexpr MetricSpec gpu_memory_metrics[] = {
    {"pattern_rate", "GB/s", Better::higher, "Rate of checking and inverting a pattern, bytes read plus bytes written.",
     true, true},
    gpu_copy::corrected_errors_metric,
};

constexpr LabelSpec gpu_memory_labels[] = {
    {"pattern", "zeros, stripes, bytes: moving inversions of one word; address: each word its own address; random."},
    {"device", "PCI address of the GPU, where a rank has several."},
    {"model", "Model of the GPU: `H100 SXM` for known models, else the runtime's name."},
};

struct Pattern {
  std::string_view name;
  int kind;  // of muster_value in kernels.cu
  std::uint64_t seed;
};

std::vector<Pattern> patterns_of(std::uint64_t address, std::uint64_t seed) {
  return {{"zeros", 0, 0},
          {"stripes", 0, 0x5555555555555555U},
          {"bytes", 0, 0x00ff00ff00ff00ffU},
          {"address", 1, address},
          {"random", 2, p2p::mix(seed)}};
}

/// `bit 3`, `bits 3 and 17` of a word that differ.
std::string bits_of(std::uint64_t wrong) {
  std::vector<std::string> bits;
  for (unsigned bit = 0; bit < 64; ++bit)
    if ((wrong >> bit & 1U) != 0) bits.push_back(std::to_string(bit));
  return fmt::format("{} {}", bits.size() == 1 ? "bit" : "bits", human_list(bits));
}

constexpr std::size_t report_words = 64;
/// Of the report: how many words were checked.
constexpr std::size_t checked_word = 61;

/// The memory of one GPU under test.
class Test {
 public:
  Test(RunContext& context, gpu_copy::LoadWatch& health, const SeenGpu& gpu)
      : context_(context), health_(health), gpus_(*gpu.gpus), gpu_(gpu) {}
  Test(const Test&) = delete;
  Test& operator=(const Test&) = delete;
  /// Waits for what is still under way: it uses our memory.
  ~Test() {
    if (stream_) static_cast<void>(gpus_.synchronize(gpu_.device, stream_.get()));
  }

  [[nodiscard]] Result<void> all(Observation& seen, const Labels& where) {
    if (auto taken = take(); !taken) return taken;
    seen.facts.push_back(
        to_fact("covered", gpu_copy::CoveredMemory{gpu_copy::address_of(gpu_), bytes_, gpu_.about().memory}));
    std::map<std::string_view, std::vector<double>> rates;
    const std::int64_t rounds = context_.params.integer("rounds");
    for (std::int64_t round = 0; round < rounds; ++round) {
      const auto seed = static_cast<std::uint64_t>(context_.params.integer("seed") + round);
      for (const Pattern& pattern : patterns_of(reinterpret_cast<std::uintptr_t>(memory_.get()), seed)) {
        context_.recorder.step(fmt::format("pattern {}", pattern.name));
        context_.recorder.iteration(static_cast<std::uint64_t>(round));
        auto rate = one(pattern, seen);
        if (!rate) return tl::unexpected(rate.error());
        if (*rate > 0) rates[pattern.name].push_back(*rate);
      }
    }
    for (const auto& [pattern, values] : rates) {
      Labels labels = where;
      labels.emplace_back("pattern", pattern);
      std::sort(labels.begin(), labels.end());
      gpu_copy::add_capable(seen, "pattern_rate", labels, gpu_copy::memory_rate(gpu_));
      // In place: a byte in a cache is neither read nor written.
      gpu_copy::add_possible(seen, "pattern_rate", labels,
                             gpu_copy::possible_memory_rate(gpu_, 2 * static_cast<double>(bytes_), 2));
      seen.readings.push_back({"pattern_rate", labels, summarize(values)});
    }
    return {};
  }

 private:
  /// As much as asked; what others took meanwhile, or what can't be had in one piece, is given up.
  [[nodiscard]] Result<void> take() {
    auto free = gpus_.free_memory(gpu_.device);
    if (!free) return tl::unexpected(free.error());
    const std::uint64_t asked = context_.params.bytes("bytes").count;
    const auto share = static_cast<std::uint64_t>(static_cast<double>(*free) * context_.params.real("share"));
    const std::uint64_t usual = this_machine().simulated.empty() ? share : std::min<std::uint64_t>(share, 1U << 20);
    bytes_ = std::max<std::uint64_t>((asked == 0 ? usual : std::min(asked, share)) / 4096 * 4096, 4096);
    for (int tries = 0;; ++tries) {
      auto memory = gpus_.allocate(gpu_.device, bytes_);
      if (memory) {
        memory_ = std::move(*memory);
        break;
      }
      if (tries == 8 || asked != 0) return tl::unexpected(memory.error());
      bytes_ = bytes_ / 8 * 7 / 4096 * 4096;
    }
    return take_rest();
  }

  [[nodiscard]] Result<void> take_rest() {
    auto report = gpus_.allocate(gpu_.device, report_words * 8);
    auto reported = gpus_.pin(gpu_.device, report_words * 8);
    auto stream = gpus_.stream(gpu_.device);
    auto start = gpus_.event(gpu_.device);
    auto stop = gpus_.event(gpu_.device);
    for (const auto* part : {&report, &reported, &stream, &start, &stop})
      if (!*part) return tl::unexpected(part->error());
    report_ = std::move(*report);
    reported_ = std::move(*reported);
    stream_ = std::move(*stream);
    start_ = std::move(*start);
    stop_ = std::move(*stop);
    return {};
  }

  [[nodiscard]] Result<void> launch(const char* kernel, std::initializer_list<void*> arguments) const {
    const auto processors = static_cast<unsigned>(std::max(gpu_.about().multiprocessors, 1));
    return gpus_.launch(gpu_.device, kernel, {.blocks = processors * 8, .threads = 256}, arguments, stream_.get());
  }

  [[nodiscard]] Result<void> check(Pattern pattern, std::uint64_t flip, int inverts) const {
    void* memory = memory_.get();
    void* report = report_.get();
    std::uint64_t count = bytes_ / 8;
    return launch("muster_check", {&memory, &count, &pattern.kind, &pattern.seed, &flip, &inverts, &report});
  }

  /// The pattern, its complement and the pattern again, each checked. GB/s of the pass in the middle.
  [[nodiscard]] Result<double> one(Pattern pattern, Observation& seen) {
    constexpr std::uint64_t complement = ~std::uint64_t{0};
    constexpr std::uint64_t checks = 3;
    std::memset(reported_.get(), 0, report_words * 8);
    void* memory = memory_.get();
    std::uint64_t count = bytes_ / 8;
    Result<void> done = gpus_.set(gpu_.device, report_.get(), 0, report_words * 2, stream_.get());
    const auto also = [&](auto&& step) {
      if (done) done = step();
    };
    also([&] { return launch("muster_fill", {&memory, &count, &pattern.kind, &pattern.seed}); });
    also([&] { return check(pattern, 0, 1); });
    also([&] { return gpus_.record(gpu_.device, start_.get(), stream_.get()); });
    also([&] { return check(pattern, complement, 1); });
    also([&] { return gpus_.record(gpu_.device, stop_.get(), stream_.get()); });
    also([&] { return check(pattern, 0, 0); });
    also([&] { return gpus_.copy(gpu_.device, reported_.get(), report_.get(), report_words * 8, stream_.get()); });
    if (done) health_.during(gpu_);
    also([&] { return gpus_.synchronize(gpu_.device, stream_.get()); });
    also([&] { return have_checked(checks * count); });
    if (!done) return tl::unexpected(done.error());
    note(pattern, seen);
    auto seconds = gpus_.seconds_between(gpu_.device, start_.get(), stop_.get());
    if (!seconds) return tl::unexpected(seconds.error());
    return *seconds > 0 ? 2e-9 * static_cast<double>(bytes_) / *seconds : 0.0;
  }

  /// A kernel that does not run finds no wrong word either.
  [[nodiscard]] Result<void> have_checked(std::uint64_t wanted) const {
    std::uint64_t checked = 0;
    std::memcpy(&checked, static_cast<const std::byte*>(reported_.get()) + checked_word * 8, sizeof checked);
    if (checked == wanted) return {};
    return fail(
        ErrorKind::device, "muster_check",
        fmt::format(
            "the kernel checked {} of {} words: kernels are started without an error and do not run to their end",
            checked, wanted));
  }

  void note(const Pattern& pattern, Observation& seen) const {
    std::uint64_t reported[report_words];
    std::memcpy(reported, reported_.get(), sizeof reported);
    if (reported[0] == 0) return;
    // Threads report in no order, and a word once for each time that it was wrong: the lowest address is reported, and
    // all bits that were seen wrong.
    std::size_t first = 0;
    std::uint64_t wrong = 0;
    std::set<std::uint64_t> words;
    const std::size_t kept = std::min<std::uint64_t>(reported[0], 20);
    for (std::size_t i = 0; i < kept; ++i) {
      wrong |= reported[2 + 3 * i] ^ reported[3 + 3 * i];
      words.insert(reported[1 + 3 * i]);
      if (reported[1 + 3 * i] < reported[1 + 3 * first]) first = i;
    }
    const std::uint64_t offset = reported[1 + 3 * first] * 8;
    seen.facts.push_back(to_fact(
        "wrong",
        gpu_copy::AboutGpu{gpu_copy::address_of(gpu_),
                           fmt::format("{}{} wrong under pattern {}: {:#018x} instead of {:#018x} at address {:#x} "
                                       "({:#x} into the tested {}), wrong {}",
                                       kept < reported[0] ? "at least " : "", counted(words.size(), "word"),
                                       pattern.name, reported[3 + 3 * first], reported[2 + 3 * first],
                                       reinterpret_cast<std::uintptr_t>(memory_.get()) + offset, offset,
                                       format_bytes({bytes_}), bits_of(wrong))}));
  }

  RunContext& context_;
  gpu_copy::LoadWatch& health_;
  const Gpus& gpus_;
  SeenGpu gpu_;
  std::uint64_t bytes_ = 0;
  GpuHandle memory_, report_, reported_, stream_, start_, stop_;
};

Result<Observation> run_gpu_memory(RunContext& context) {
  const NodeGpus node = gpu_copy::open_node_gpus(context);
  // Before any rank begins: processes on them now are not of this run.
  gpu_copy::LoadWatch health(context, node);
  gpu_copy::begin_likely(context, node, health);
  auto sight = gpu_copy::exchange_sight(context, node);
  if (!sight) return tl::unexpected(sight.error());
  const auto schedule = gpu_copy::schedule_of(*sight, false);
  Observation seen;
  gpu_copy::add_facts(node, seen);
  std::vector<const SeenGpu*> own;
  for (const SeenGpu& gpu : node.seen)
    if (schedule.owner(context.place.node_index, gpu.key) == context.comm.rank()) own.push_back(&gpu);
  for (const SeenGpu* gpu : own) {
    seen.facts.push_back(gpu_copy::tested_fact(*gpu));
    Labels where;
    if (own.size() > 1) where.emplace_back("device", gpu_copy::address_of(*gpu));
    gpu_copy::add_model(*gpu, where);
    if (auto done = Test(context, health, *gpu).all(seen, where); !done)
      seen.facts.push_back(to_fact("failed", gpu_copy::AboutGpu{gpu_copy::address_of(*gpu), done.error().what}));
  }
  health.end(seen, schedule);
  return seen;
}

constexpr std::string_view gpu_memory_facts[] = {"tested"};

}  // namespace

extern const ProbeSpec probe_gpu_memory{
    .name = "gpu_memory",
    .summary = "Patterns over most of the memory of every GPU; bad addresses and bits are named.",
    .params = gpu_memory_params,
    .metrics = gpu_memory_metrics,
    .labels = gpu_memory_labels,
    .run = run_gpu_memory,
    .judge = gpu_memory::judge,
    .reported_facts = gpu_memory_facts,
};

}  // namespace muster
