#include "probes/gpu_copy/bench.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <thread>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "measure/pattern.hpp"
#include "model/fact_fields.hpp"
#include "probes/gpu_copy/facts.hpp"
#include "probes/gpu_copy/repeated_samples.hpp"
#include "system/numa_policy.hpp"

namespace muster::gpu_copy {

namespace {

constexpr std::uint64_t seed = 0x6d757374;
constexpr std::uint32_t nothing = 0xa5a5a5a5U;

std::string_view by(bool is_kernel) {
  return is_kernel ? "kernel" : "engine";
}

std::byte* bytes_of(const GpuHandle& handle) {
  return static_cast<std::byte*>(handle.get());
}

template <class Value>
Result<void> keep(Result<Value> got, Value& where) {
  if (!got) return tl::unexpected(got.error());
  where = std::move(*got);
  return {};
}

}  // namespace

Result<std::unique_ptr<Bench>> Bench::make(RunContext& context, const SeenGpu& gpu, std::size_t bytes, int domain) {
  std::unique_ptr<Bench> bench(new Bench(context, gpu, bytes));
  if (auto taken = bench->take(domain); !taken) return tl::unexpected(taken.error());
  return bench;
}

Bench::~Bench() {
  for (const GpuHandle* stream : {&stream_, &other_stream_})
    if (*stream) static_cast<void>(gpu_.gpus->synchronize(gpu_.device, stream->get()));
}

Result<void> Bench::take(int domain) {
  const Gpus& gpus = *gpu_.gpus;
  const int device = gpu_.device;
  Result<void> done;
  const auto also = [&](auto&& step) {
    if (done) done = step();
  };
  {
    const PreferDomain policy(domain);
    also([&] { return keep(gpus.pin(device, bytes_), source_); });
    also([&] { return keep(gpus.pin(device, bytes_), back_); });
    if (!done) return done;
    // First touch, as far as the driver has not done it.
    p2p::fill({bytes_of(source_), bytes_}, seed);
    std::memset(back_.get(), 0, bytes_);
  }
  pinned_at_ = domains_of(source_.get(), bytes_);
  also([&] { return keep(gpus.device_address(device, source_.get()), source_seen_); });
  also([&] { return keep(gpus.device_address(device, back_.get()), back_seen_); });
  also([&] { return keep(gpus.allocate(device, bytes_), first_); });
  also([&] { return keep(gpus.allocate(device, bytes_), second_); });
  also([&] { return keep(gpus.stream(device), stream_); });
  also([&] { return keep(gpus.stream(device), other_stream_); });
  also([&] { return keep(gpus.event(device), start_); });
  also([&] { return keep(gpus.event(device), stop_); });
  also([&] { return keep(gpus.event(device), other_stop_); });
  if (!done) return done;
  if (auto loaded = gpus.load_kernels(device); !loaded) {
    no_kernels_ = to_string(loaded.error());
    return {};
  }
  also([&] { return gate_.make(gpus, device); });
  also([&] { return keep(gate_.holds(stream_.get()), has_gate_); });
  return done;
}

Result<void> Bench::move(void* to, const void* from) const {
  return gpu_.gpus->copy(gpu_.device, to, from, bytes_, stream_.get());
}

Result<void> Bench::by_kernel(const void* from, void* to) const {
  std::uint64_t count = bytes_ / 16;
  const auto processors = static_cast<unsigned>(std::max(gpu_.about().multiprocessors, 1));
  return gpu_.gpus->launch(gpu_.device, "muster_copy", {.blocks = processors * 4, .threads = 512}, {&from, &to, &count},
                           stream_.get());
}

/// Seconds of `passes`.
Result<double> Bench::sample(const Cell& cell, int passes, bool& has_expired) {
  const Gpus& gpus = *gpu_.gpus;
  const int device = gpu_.device;
  const bool has_gate = cell.is_gated && has_gate_;
  Result<void> done;
  const auto also = [&](auto&& step) {
    if (done) done = step();
  };
  if (has_gate) also([&] { return gate_.close(stream_.get()); });
  also([&] { return gpus.record(device, start_.get(), stream_.get()); });
  if (cell.uses_second) also([&] { return gpus.wait(device, other_stream_.get(), start_.get()); });
  for (int i = 0; i < passes; ++i) also(cell.pass);
  if (cell.uses_second) {
    also([&] { return gpus.record(device, other_stop_.get(), other_stream_.get()); });
    also([&] { return gpus.wait(device, stream_.get(), other_stop_.get()); });
  }
  also([&] { return gpus.record(device, stop_.get(), stream_.get()); });
  if (has_gate) gate_.open();
  if (done && while_busy_ && !std::exchange(has_looked_, true)) while_busy_();
  also([&] { return gpus.synchronize(device, stream_.get()); });
  if (!done) return tl::unexpected(done.error());
  has_expired = has_gate && gate_.has_expired();
  return gpus.seconds_between(device, start_.get(), stop_.get());
}

Result<void> Bench::measure(const Cell& cell, Observation& seen, const Labels& labels, int peer_rank) {
  if (auto cleared = cell.clear(); !cleared) return cleared;
  has_looked_ = false;
  taken_ = 0;
  const double began = monotonic_seconds();
  auto rate = look(cell);
  if (!rate) return tl::unexpected(rate.error());
  if (auto verified = verify(cell, Seconds{monotonic_seconds() - began}, seen); !verified) return verified;
  if (context_.timing_doubt.empty())
    if (auto done = look_further(cell, *rate, seen); !done) return done;
  ++cells_;
  Labels where = labels;
  where.emplace_back("by", std::string(cell.by));
  std::sort(where.begin(), where.end());
  if (rate->n > 0)
    seen.readings.push_back({std::string(cell.metric), std::move(where), *rate, peer_rank});
  else
    ++disturbed_;
  return {};
}

Result<void> Bench::look_further(const Cell& cell, Summary& rate, Observation& seen) {
  const bool is_of_link = cell.by == by(false) && (cell.metric == "host_to_device" || cell.metric == "device_to_host");
  const auto looks = look_again(
      rate, is_of_link ? least_of_link_ : 0, [&] { return look(cell); },
      [&] {
        context_.recorder.step("await a free link");
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      });
  if (!looks) return tl::unexpected(looks.error());
  rate = looks->best;
  if (looks->have_varied())
    seen.facts.push_back(
        to_fact("varied", VariedCopies{own_address(), cell.to.empty() ? "-" : cell.to, std::string(cell.metric),
                                       std::string(cell.by), looks->slowest, rate.median}));
  return {};
}

std::string Bench::own_address() const {
  return gpu_.about().address ? to_string(*gpu_.about().address) : gpu_.key;
}

/// GB/s; without samples where all were disturbed.
Result<Summary> Bench::look(const Cell& cell) {
  context_.recorder.step(fmt::format("{} {}", cell.metric, cell.by));
  SamplingGoal goal{.cap = context_.params.duration("cap")};
  if (!context_.timing_doubt.empty()) goal = one_look();
  const int passes =
      context_.timing_doubt.empty() ? std::clamp(static_cast<int>((std::size_t{64} << 20) / bytes_), 4, 64) : 1;
  Sampler sampler(goal);
  const std::uint64_t before = taken_;
  for (int count = sampler.next(); count > 0; count = sampler.next()) {
    std::vector<double> values;
    const double began = monotonic_seconds();
    for (int i = 0; i < count; ++i) {
      context_.recorder.iteration(taken_++);
      bool has_expired = false;
      auto seconds = sample(cell, passes, has_expired);
      if (!seconds) return tl::unexpected(seconds.error());
      expired_ += has_expired;
      const double moved = cell.moved * passes * 1e-9;
      values.push_back(has_expired || *seconds <= 0 ? std::numeric_limits<double>::quiet_NaN() : moved / *seconds);
    }
    sampler.feed(values, Seconds{monotonic_seconds() - began});
  }
  all_copies_ += (taken_ - before) * static_cast<std::uint64_t>(passes) * static_cast<std::uint64_t>(cell.copies);
  return sampler.result().summary;
}

/// What is wrong is noted whatever fails afterwards.
Result<void> Bench::verify(const Cell& cell, Seconds timed, Observation& seen) {
  context_.recorder.step("verify");
  compared_ = {};
  const auto done = compare_copies(cell, timed);
  all_compared_ += compared_.compared;
  if (compared_.messages == 0) return done;
  seen.facts.push_back(to_fact(
      "wrong", WrongCopy{own_address(), cell.to.empty() ? "-" : cell.to, std::string(cell.metric), std::string(cell.by),
                         fmt::format("{}, in {} of {} copies compared", p2p::describe(compared_.first),
                                     compared_.messages, compared_.compared)}));
  return done;
}

/// What the timed copies left, and then one copy at a time for `verify` times as long as they took.
Result<void> Bench::compare_copies(const Cell& cell, Seconds timed) {
  if (auto looked = cell.look(); !looked) return looked;
  const double end = monotonic_seconds() + context_.params.real("verify") * timed.value;
  for (std::uint64_t further = 1; monotonic_seconds() < end; ++further) {
    context_.recorder.iteration(further);
    for (const auto* step : {&cell.clear, &cell.pass, &cell.look})
      if (auto done = (*step)(); !done) return done;
    all_copies_ += static_cast<std::uint64_t>(cell.copies);
  }
  return {};
}

void Bench::compare() {
  // To compute what is expected takes longer than copying. Where something is wrong, the source may be.
  const bool is_computed = compared_.compared++ == 0 || compared_.messages > 0;
  if (!is_computed && std::memcmp(back_.get(), source_.get(), bytes_) == 0) return;
  const auto wrong = p2p::find_corruption({bytes_of(back_), bytes_}, seed);
  if (!wrong) return;
  if (compared_.messages++ == 0)
    compared_.first = *wrong;
  else
    compared_.first.bytes += wrong->bytes;
}

Result<void> Bench::overwrite(void* memory) const {
  return gpu_.gpus->set(gpu_.device, memory, nothing, bytes_ / 4, stream_.get());
}

Result<void> Bench::ended() const {
  for (const GpuHandle* stream : {&stream_, &other_stream_})
    if (auto done = gpu_.gpus->synchronize(gpu_.device, stream->get()); !done) return done;
  return {};
}

Result<void> Bench::bring(const void* memory) {
  std::memset(back_.get(), 0, bytes_);
  if (auto moved = move(back_.get(), memory); !moved) return moved;
  if (auto done = ended(); !done) return done;
  compare();
  return {};
}

Result<void> Bench::from_host(Observation& seen, const Labels& labels, bool is_kernel) {
  Cell cell{.metric = "host_to_device", .by = by(is_kernel), .moved = static_cast<double>(bytes_)};
  cell.pass = [&] { return is_kernel ? by_kernel(source_seen_, first_.get()) : move(first_.get(), source_.get()); };
  cell.clear = [&] { return overwrite(first_.get()); };
  cell.look = [&] { return bring(first_.get()); };
  return measure(cell, seen, labels, -1);
}

Result<void> Bench::to_host(Observation& seen, const Labels& labels, bool is_kernel) {
  Cell cell{.metric = "device_to_host", .by = by(is_kernel), .moved = static_cast<double>(bytes_)};
  cell.pass = [&] { return is_kernel ? by_kernel(first_.get(), back_seen_) : move(back_.get(), first_.get()); };
  cell.clear = [&]() -> Result<void> {
    std::memset(back_.get(), 0, bytes_);
    return {};
  };
  cell.look = [&]() -> Result<void> {
    if (auto done = ended(); !done) return done;
    compare();
    return {};
  };
  if (auto filled = move(first_.get(), source_.get()); !filled) return filled;
  return measure(cell, seen, labels, -1);
}

Result<void> Bench::both_ways(Observation& seen, const Labels& labels) {
  Cell cell{.metric = "both_ways", .by = by(false), .moved = 2.0 * static_cast<double>(bytes_)};
  cell.uses_second = true;
  cell.copies = 2;
  cell.pass = [&]() -> Result<void> {
    if (auto in = move(first_.get(), source_.get()); !in) return in;
    return gpu_.gpus->copy(gpu_.device, back_.get(), second_.get(), bytes_, other_stream_.get());
  };
  cell.clear = [&]() -> Result<void> {
    std::memset(back_.get(), 0, bytes_);
    if (auto set = overwrite(first_.get()); !set) return set;
    return ended();
  };
  cell.look = [&]() -> Result<void> {
    if (auto done = ended(); !done) return done;
    compare();
    return bring(first_.get());
  };
  if (auto filled = move(second_.get(), source_.get()); !filled) return filled;
  return measure(cell, seen, labels, -1);
}

Result<void> Bench::within(Observation& seen, const Labels& labels, bool is_kernel) {
  Cell cell{.metric = "local_copy", .by = by(is_kernel), .moved = 2.0 * static_cast<double>(bytes_)};
  cell.pass = [&] { return is_kernel ? by_kernel(first_.get(), second_.get()) : move(second_.get(), first_.get()); };
  cell.clear = [&] { return overwrite(second_.get()); };
  cell.look = [&] { return bring(second_.get()); };
  if (auto filled = move(first_.get(), source_.get()); !filled) return filled;
  return measure(cell, seen, labels, -1);
}

Result<void> Bench::alone(Observation& seen, const Labels& labels) {
  const int kinds = no_kernels_.empty() ? 2 : 1;
  for (int kind = 0; kind < kinds; ++kind) {
    if (auto done = from_host(seen, labels, kind == 1); !done) return done;
    if (auto done = to_host(seen, labels, kind == 1); !done) return done;
    if (auto done = within(seen, labels, kind == 1); !done) return done;
  }
  return both_ways(seen, labels);
}

Result<void> Bench::to_peer(const SeenGpu& peer, Observation& seen, const Labels& labels, int peer_rank) {
  const Gpus& gpus = *gpu_.gpus;
  auto reaches = gpus.reach(gpu_.device, peer.device);
  if (!reaches) return tl::unexpected(reaches.error());
  auto memory = gpus.allocate(peer.device, bytes_);
  if (!memory) return tl::unexpected(memory.error());
  auto peer_stream = gpus.stream(peer.device);
  if (!peer_stream) return tl::unexpected(peer_stream.error());
  const std::string to = peer.about().address ? to_string(*peer.about().address) : peer.key;
  if (auto filled = move(first_.get(), source_.get()); !filled) return filled;
  if (auto done = gpus.synchronize(gpu_.device, stream_.get()); !done) return done;
  for (const bool is_kernel : {false, true}) {
    if (is_kernel && (!*reaches || !no_kernels_.empty())) break;
    Cell cell{.metric = "peer_copy", .by = by(is_kernel), .moved = static_cast<double>(bytes_), .to = to};
    // A driver that goes by way of the host may wait for the stream while it enqueues.
    cell.is_gated = *reaches;
    cell.pass = [&]() -> Result<void> {
      if (is_kernel) return by_kernel(first_.get(), memory->get());
      return gpus.copy_to_peer(gpu_.device, first_.get(), peer.device, memory->get(), bytes_, stream_.get());
    };
    cell.clear = [&]() -> Result<void> {
      if (auto set = gpus.set(peer.device, memory->get(), nothing, bytes_ / 4, peer_stream->get()); !set) return set;
      return gpus.synchronize(peer.device, peer_stream->get());
    };
    cell.look = [&]() -> Result<void> {
      if (auto done = ended(); !done) return done;
      std::memset(back_.get(), 0, bytes_);
      if (auto back = gpus.copy(peer.device, back_.get(), memory->get(), bytes_, peer_stream->get()); !back)
        return back;
      if (auto done = gpus.synchronize(peer.device, peer_stream->get()); !done) return done;
      compare();
      return {};
    };
    if (auto measured = measure(cell, seen, labels, peer_rank); !measured) return measured;
  }
  return {};
}

}  // namespace muster::gpu_copy
