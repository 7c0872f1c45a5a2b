#include "probes/gpu_compute/bench.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "device/device_models.hpp"
#include "device/gpu_backend.hpp"
#include "measure/peak_bandwidth.hpp"
#include "stats/sampling.hpp"
#include "stats/stats.hpp"
#include "system/this_machine.hpp"

namespace muster::gpu_compute {

namespace {

constexpr std::uint32_t nothing = 0xa5a5a5a5U;
/// As muster_fingerprint writes it.
struct Print {
  std::uint64_t sum = 0, words = 0, unwritten = 0;
};
constexpr std::size_t reported_bytes = std::size_t{16} << 20;
/// Of each sample: long enough for clocks and power to be those of work.
constexpr double sample_seconds = 0.05;
/// Different results of one GPU that are compared with the known answer; each costs a copy and a pass on the host.
constexpr std::size_t most_checked = 4;

template <class Value>
Result<void> keep(Result<Value> got, Value& where) {
  if (!got) return tl::unexpected(got.error());
  where = std::move(*got);
  return {};
}

/// nullptr: none of ours multiplies such numbers.
const char* own_kernel(NumberType type) {
  if (type == NumberType::float64) return "muster_product64";
  if (type == NumberType::float32) return "muster_product";
  return type == NumberType::int8 ? "muster_product8" : nullptr;
}

constexpr std::string_view precisions[] = {"fp64", "fp32", "tf32", "fp16", "bf16", "int8"};

/// TFLOP/s of its model; 0: not known.
double peak_of(const GpuDevice& device, NumberType type) {
  return peak_products(device.name, device.multiprocessors, precisions[static_cast<std::size_t>(type)]);
}

/// TFLOP/s that nothing exceeds; 0: not known.
double most_of(const GpuDevice& device, NumberType type) {
  const DeviceModel* model = find_whole_model(device.name);
  return model == nullptr ? 0 : most_products(*model, precisions[static_cast<std::size_t>(type)]);
}

}  // namespace

bool has_type(std::string_view vendor, const GpuDevice& device, NumberType type) {
  const GpuBackend* backend = find_gpu_backend(vendor);
  return backend != nullptr && backend->has_type != nullptr && backend->has_type(device.capability, type);
}

Result<std::unique_ptr<Bench>> Bench::make(const Work& work, const gpu_copy::SeenGpu& gpu) {
  std::unique_ptr<Bench> bench(new Bench(work, gpu));
  if (auto taken = bench->take(); !taken) return tl::unexpected(taken.error());
  bench->find_blas();
  return bench;
}

Bench::~Bench() {
  if (stream_) static_cast<void>(gpu_.gpus->synchronize(gpu_.device, stream_.get()));
}

Result<void> Bench::take() {
  const Gpus& gpus = *gpu_.gpus;
  const int device = gpu_.device;
  const std::size_t most = static_cast<std::size_t>(work_.size) * static_cast<std::size_t>(work_.size) * 8;
  Result<void> done;
  const auto also = [&](auto&& step) {
    if (done) done = step();
  };
  for (GpuHandle* matrix : {&a_, &b_, &c_}) also([&] { return keep(gpus.allocate(device, most), *matrix); });
  also([&] { return keep(gpus.allocate(device, sizeof(Print)), sum_); });
  // At least a row.
  const std::size_t reported = std::max(std::min(reported_bytes, most), static_cast<std::size_t>(work_.size) * 8);
  also([&] { return keep(gpus.pin(device, reported), reported_); });
  also([&] { return keep(gpus.stream(device), stream_); });
  also([&] { return keep(gpus.event(device), start_); });
  also([&] { return keep(gpus.event(device), stop_); });
  also([&] { return gpus.load_kernels(device); });
  also([&] { return gate_.make(gpus, device); });
  also([&] { return keep(gate_.holds(stream_.get()), is_gated_); });
  do_launches_wait_ = done.has_value() && !is_gated_;
  return done;
}

void Bench::find_blas() {
  const CallWatch watch(work_.context.recorder);
  if (gpu_.about().address) meter_ = open_gpu_meter(gpu_.gpus->vendor(), *gpu_.about().address, root_of("/"), watch);
  if (work_.blas.report.state != LibraryState::working) return;
  auto made = GpuBlas::make(work_.blas, *gpu_.gpus, gpu_.device, watch);
  if (made)
    blas_ = std::move(*made);
  else
    no_blas_ = made.error().what;
}

std::string Bench::multiplier() const {
  return blas_ ? blas_->name() : "own kernels";
}

std::string Bench::withheld(NumberType type) const {
  return blas_ ? blas_->withheld(type) : std::string();
}

bool Bench::can(NumberType type) const {
  return blas_ ? blas_->has(type) : own_kernel(type) != nullptr;
}

std::size_t Bench::result_bytes(NumberType type) const {
  return static_cast<std::size_t>(work_.size) * static_cast<std::size_t>(work_.size) * bytes_of_result(type);
}

/// The fast units for int8 want both factors with `inner` as their fastest dimension (cuBLAS: the "TN" format); given
/// anything else, the library multiplies at a fifteenth of their rate.
bool Bench::is_b_transposed(NumberType type) const {
  return blas_ != nullptr && type == NumberType::int8;
}

Result<void> Bench::fill(NumberType type) {
  std::uint64_t count = static_cast<std::uint64_t>(work_.size) * static_cast<std::uint64_t>(work_.size);
  int kind = static_cast<int>(type);
  const auto processors = static_cast<unsigned>(std::max(gpu_.about().multiprocessors, 1));
  for (const bool is_a : {true, false}) {
    void* memory = is_a ? a_.get() : b_.get();
    std::uint64_t seed = is_a ? seed_of_a(work_.seed) : seed_of_b(work_.seed);
    std::uint64_t columns = !is_a && is_b_transposed(type) ? static_cast<std::uint64_t>(work_.size) : 0;
    if (auto filled = gpu_.gpus->launch(gpu_.device, "muster_typed_numbers", {.blocks = processors * 8},
                                        {&memory, &count, &seed, &kind, &columns}, stream_.get());
        !filled)
      return filled;
  }
  return {};
}

Result<void> Bench::multiply(NumberType type) {
  int n = work_.size;
  if (blas_) {
    auto done =
        blas_->multiply({a_.get(), b_.get(), c_.get(), n, n, n, false, is_b_transposed(type), type}, stream_.get());
    is_refused_ = !done && blas_->was_refused();
    return done;
  }
  void* a = a_.get();
  void* b = b_.get();
  void* c = c_.get();
  const auto tiles = static_cast<unsigned>(n / 16);
  return gpu_.gpus->launch(gpu_.device, own_kernel(type),
                           {.blocks = tiles, .block_rows = tiles, .threads = 16, .thread_rows = 16}, {&a, &b, &c, &n},
                           stream_.get());
}

Result<std::uint64_t> Bench::fingerprint(NumberType type) {
  const Gpus& gpus = *gpu_.gpus;
  void* c = c_.get();
  void* sum = sum_.get();
  std::uint64_t words = result_bytes(type) / 4;
  const auto processors = static_cast<unsigned>(std::max(gpu_.about().multiprocessors, 1));
  std::uint32_t unwritten = nothing;
  std::memset(reported_.get(), 0, sizeof(Print));
  Result<void> done = gpus.set(gpu_.device, sum, 0, sizeof(Print) / 4, stream_.get());
  const auto also = [&](auto&& step) {
    if (done) done = step();
  };
  also([&] {
    return gpus.launch(gpu_.device, "muster_fingerprint", {.blocks = processors * 4}, {&c, &words, &unwritten, &sum},
                       stream_.get());
  });
  also([&] { return gpus.copy(gpu_.device, reported_.get(), sum, sizeof(Print), stream_.get()); });
  also([&] { return gpus.synchronize(gpu_.device, stream_.get()); });
  if (!done) return tl::unexpected(done.error());
  Print print;
  std::memcpy(&print, reported_.get(), sizeof print);
  // The same on all GPUs, and right on none: a kernel or a library that does not run.
  if (print.words != words)
    return fail(
        ErrorKind::device, "muster_fingerprint",
        fmt::format("the kernel read {} of {} words: kernels are started without an error and do not run to their end",
                    print.words, words));
  if (print.unwritten > 0)
    return fail(
        ErrorKind::device, multiplier(),
        fmt::format("{} of {} words of a product of {} were not written", print.unwritten, words, to_string(type)));
  return print.sum;
}

Result<void> Bench::check(NumberType type, std::uint64_t print) {
  Times& times = ballots_[type].prints[print];
  ++times.seen;
  if (work_.answer == nullptr || times.seen > 1 || ballots_[type].prints.size() > most_checked) return {};
  work_.context.recorder.step("verify");
  const std::size_t row_bytes = static_cast<std::size_t>(work_.size) * bytes_of_result(type);
  const int most_rows = static_cast<int>(std::max<std::size_t>(reported_bytes / row_bytes, 1));
  std::optional<int> wrong;
  for (int first = 0; first < work_.size && !wrong; first += most_rows) {
    const int rows = std::min(most_rows, work_.size - first);
    const std::byte* from = static_cast<const std::byte*>(c_.get()) + static_cast<std::size_t>(first) * row_bytes;
    if (auto moved = gpu_.gpus->copy(gpu_.device, reported_.get(), from, static_cast<std::size_t>(rows) * row_bytes,
                                     stream_.get());
        !moved)
      return moved;
    if (auto done = gpu_.gpus->synchronize(gpu_.device, stream_.get()); !done) return done;
    wrong = work_.answer->wrong_row(static_cast<const std::byte*>(reported_.get()), first, rows, type);
  }
  ++(wrong ? times.wrong : times.right);
  if (wrong) wrong_rows_.push_back(fmt::format("{} {:016x} row {}", to_string(type), print, *wrong));
  return {};
}

Result<void> Bench::look_at_one(NumberType type) {
  // What a product did not write is not a result.
  if (auto set = gpu_.gpus->set(gpu_.device, c_.get(), nothing, result_bytes(type) / 4, stream_.get()); !set)
    return set;
  if (auto done = multiply(type); !done) return done;
  auto print = fingerprint(type);
  if (!print) return tl::unexpected(print.error());
  return check(type, *print);
}

/// Seconds of `passes`; nan: the gate was not opened in time, as where the library waits for the stream itself.
Result<double> Bench::sample(NumberType type, int passes) {
  const Gpus& gpus = *gpu_.gpus;
  const int device = gpu_.device;
  Result<void> done = gpus.set(device, c_.get(), nothing, result_bytes(type) / 4, stream_.get());
  const auto also = [&](auto&& step) {
    if (done) done = step();
  };
  const bool has_gate = is_gated_;
  if (has_gate) also([&] { return gate_.close(stream_.get()); });
  also([&] { return gpus.record(device, start_.get(), stream_.get()); });
  for (int i = 0; i < passes; ++i) also([&] { return multiply(type); });
  also([&] { return gpus.record(device, stop_.get(), stream_.get()); });
  if (has_gate) gate_.open();
  if (done && meter_) {
    const GpuReading reading = meter_->read();
    if (reading.watts) watts_.push_back(*reading.watts);
    if (reading.megahertz) megahertz_.push_back(*reading.megahertz);
  }
  if (done && work_.while_busy) work_.while_busy();
  also([&] { return gpus.synchronize(device, stream_.get()); });
  if (!done) return tl::unexpected(done.error());
  auto seconds = gpus.seconds_between(device, start_.get(), stop_.get());
  auto print = fingerprint(type);
  if (!seconds || !print) return tl::unexpected(seconds ? print.error() : seconds.error());
  if (auto checked = check(type, *print); !checked) return tl::unexpected(checked.error());
  if (!has_gate || !gate_.has_expired()) return seconds;
  is_gated_ = false;
  return std::numeric_limits<double>::quiet_NaN();
}

Result<void> Bench::time(NumberType type, Observation& seen, const Labels& where) {
  const bool is_judged = work_.context.timing_doubt.empty();
  SamplingGoal goal{.cap = work_.context.params.duration("cap")};
  if (!is_judged) goal = one_look();
  const double operations = 2.0 * work_.size * static_cast<double>(work_.size) * work_.size;
  watts_.clear();
  megahertz_.clear();
  // Once more alone: the first one loads code and finds out which to take.
  auto one = sample(type, 1);
  if (!one) return tl::unexpected(one.error());
  // Stand-ins compute as long as a host does, independent of their clock.
  const bool is_long = is_judged && this_machine().simulated.empty() && *one > 0;
  const int passes = is_long ? std::clamp(static_cast<int>(sample_seconds / *one), 1, 256) : 1;
  Sampler sampler(goal);
  std::uint64_t taken = 0;
  for (int count = sampler.next(); count > 0; count = sampler.next()) {
    std::vector<double> values;
    const double began = monotonic_seconds();
    for (int i = 0; i < count; ++i) {
      work_.context.recorder.iteration(taken++);
      auto seconds = sample(type, passes);
      if (!seconds) return tl::unexpected(seconds.error());
      values.push_back(*seconds > 0 ? 1e-12 * operations * passes / *seconds
                                    : std::numeric_limits<double>::quiet_NaN());
    }
    sampler.feed(values, Seconds{monotonic_seconds() - began});
  }
  if (blas_) gpu_copy::add_capable(seen, "rate", where, peak_of(gpu_.about(), type));
  gpu_copy::add_possible(seen, "rate", where, most_of(gpu_.about(), type));
  const auto add = [&](const char* metric, const Summary& summary) {
    if (summary.n > 0) seen.readings.push_back({metric, where, summary});
  };
  add("rate", sampler.result().summary);
  // The later half: power is a mean over the second before.
  add("power", summarize(std::span(watts_).subspan(watts_.size() / 2)));
  add("clock", summarize(std::span(megahertz_).subspan(megahertz_.size() / 2)));
  return {};
}

Result<void> Bench::measure(NumberType type, Observation& seen, Labels where) {
  where.emplace_back("by", blas_ ? "blas" : "own");
  where.emplace_back("type", to_string(type));
  std::sort(where.begin(), where.end());
  work_.context.recorder.step(fmt::format("product {}", to_string(type)));
  if (auto filled = fill(type); !filled) return filled;
  if (auto done = look_at_one(type); !done) {
    if (!is_refused_) return done;
    seen.facts.push_back({"refused", fmt::format("{} {} {}", gpu_copy::address_of(gpu_), to_string(type),
                                                 printable_line(done.error().what, 200))});
    ballots_.erase(type);
    return {};
  }
  return time(type, seen, where);
}

Result<void> Bench::repeat(NumberType type, int times) {
  if (auto filled = fill(type); !filled) return filled;
  for (int i = 0; i < times; ++i) {
    work_.context.recorder.step(fmt::format("again {}", to_string(type)));
    work_.context.recorder.iteration(static_cast<std::uint64_t>(i));
    if (auto done = look_at_one(type); !done) return done;
  }
  return {};
}

}  // namespace muster::gpu_compute
