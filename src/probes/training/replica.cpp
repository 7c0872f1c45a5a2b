#include "probes/training/replica.hpp"

#include <utility>

#include "base/clock.hpp"
#include "measure/pattern.hpp"

namespace muster::training {

Replica::Replica(Execution& execution, const Settings& settings, const Layout& layout, Sums sums, UpdateFunction update,
                 Network network)
    : execution_(&execution),
      settings_(&settings),
      layout_(&layout),
      sums_with_(std::move(sums)),
      update_(std::move(update)),
      network_(std::move(network)) {}

Result<Replica> Replica::make(Execution& execution, const Settings& settings, const Layout& layout, int most_rows,
                              Sums sums, UpdateFunction update) {
  auto network = Network::make(execution, settings, layout, most_rows);
  if (!network) return tl::unexpected(network.error());
  Replica replica(execution, settings, layout, std::move(sums), std::move(update), std::move(*network));
  for (auto* memory : {&replica.parameters_, &replica.velocity_, &replica.gradient_, &replica.sums_}) {
    if (memory == &replica.sums_ && replica.sums_with_.comm == nullptr) continue;
    auto got = execution.allocate(layout.size);
    if (!got) return tl::unexpected(got.error());
    *memory = std::move(*got);
  }
  if (replica.is_staged()) {
    replica.host_gradient_.resize(layout.size);
    replica.host_sums_.resize(layout.size);
  }
  replica.load({initial_parameters(settings, layout), std::vector<float>(layout.size, 0.0f)});
  return replica;
}

void Replica::load(const State& state) {
  execution_->copy_in(state.parameters, parameters_->data());
  execution_->copy_in(state.velocity, velocity_->data());
}

State Replica::save() const {
  State state{std::vector<float>(layout_->size), std::vector<float>(layout_->size)};
  execution_->copy_out(parameters_->data(), state.parameters);
  execution_->copy_out(velocity_->data(), state.velocity);
  return state;
}

std::span<const float> Replica::host_copy(const ExecutionMemory& memory, std::vector<float>& room) const {
  if (execution_->is_host_memory()) return {memory.data(), layout_->size};
  room.resize(layout_->size);
  execution_->copy_out(memory.data(), room);
  return room;
}

std::uint64_t Replica::fingerprint() const {
  std::vector<float> room;
  const std::uint64_t parameters = scan(host_copy(*parameters_, room)).fingerprint;
  return p2p::mix(parameters) ^ scan(host_copy(*velocity_, room)).fingerprint;
}

double Replica::count_right(const DataSet& data, std::size_t first, std::size_t count) {
  return network_.count_right(data, first, count, parameters_->data());
}

std::span<std::byte> Replica::part(float* values, std::size_t number) const {
  const Layout::Bucket& bucket = layout_->buckets[number];
  return std::as_writable_bytes(std::span(values + bucket.begin, bucket.next - bucket.begin));
}

Result<void> Replica::start(std::size_t number) {
  if (!sums_with_.is_overlapped) return {};
  float* from = gradient_->data();
  float* to = sums_->data();
  if (is_staged()) {
    const Layout::Bucket& bucket = layout_->buckets[number];
    execution_->copy_out(from + bucket.begin,
                         std::span(host_gradient_).subspan(bucket.begin, bucket.next - bucket.begin));
    from = host_gradient_.data();
    to = host_sums_.data();
  }
  auto computed = execution_->finish();
  // The others have begun theirs, and a sum on the host can be made whatever became of the device.
  if (!computed && !is_staged()) return computed;
  auto sum = sums_with_.comm->start_sum(SumType::float32, part(from, number), part(to, number));
  if (!sum) return tl::unexpected(sum.error());
  pending_.push_back(std::move(*sum));
  return computed;
}

Result<void> Replica::wait() {
  for (const auto& sum : pending_)
    if (auto done = sum->wait(); !done) return done;
  pending_.clear();
  if (is_staged()) execution_->copy_in(host_sums_, sums_->data());
  return {};
}

Result<void> Replica::add_up() {
  if (sums_with_.is_overlapped) return wait();
  for (std::size_t bucket = 0; bucket < layout_->buckets.size(); ++bucket)
    if (auto done = sums_with_.comm->all_reduce_sum(SumType::float32, part(gradient_->data(), bucket),
                                                    part(sums_->data(), bucket));
        !done)
      return done;
  return {};
}

/// Collective. When it is not, sums that were begun are at an end.
Result<bool> Replica::all_fine(const Result<void>& trouble) {
  if (sums_with_.announce) sums_with_.announce(true);
  auto fine = sums_with_.alarm->all_true(trouble.has_value());
  if (!fine) return fine;
  if (sums_with_.announce) sums_with_.announce(false);
  if (*fine) return true;
  if (is_staged()) {
    if (auto done = wait(); !done) return tl::unexpected(done.error());
  } else if (sums_with_.abandon) {
    sums_with_.abandon();
  }
  pending_.clear();
  return false;
}

/// A failure after the ranks have exchanged their state is reported in the next step.
Result<void> Replica::put_off(Result<void> trouble) {
  if (trouble || sums_with_.alarm == nullptr || trouble.error().kind != ErrorKind::device) return trouble;
  if (!trouble_) trouble_ = trouble.error();
  return {};
}

Result<void> Replica::finish() {
  if (trouble_) return tl::unexpected(*trouble_);
  return execution_->finish();
}

Result<Step> Replica::step(const DataSet& data, std::span<const std::uint32_t> which, int batch) {
  Step step;
  const bool is_alone = sums_with_.comm == nullptr;
  Result<void> trouble = finish();
  const auto keep = [&](Result<void> done) {
    if (trouble && !done) trouble = std::move(done);
  };
  const double begun = monotonic_seconds();
  network_.backward(
      data, which, batch, parameters_->data(), gradient_->data(),
      [&](std::size_t bucket) {
        if (!is_alone && (trouble || is_staged())) keep(start(bucket));
      },
      [&] {
        // So that what is under way moves on: see PendingSum.
        for (const auto& sum : pending_)
          if (auto is_done = sum->test(); !is_done) keep(tl::unexpected(is_done.error()));
      });
  keep(execution_->finish());
  const double computed = monotonic_seconds();
  if (sums_with_.alarm != nullptr && (trouble || trouble.error().kind == ErrorKind::device)) {
    auto fine = all_fine(trouble);
    if (!fine) return tl::unexpected(fine.error());
    step.is_stopped = !*fine;
    if (step.is_stopped && trouble) return step;
  }
  if (!is_alone && trouble) keep(put_off(add_up()));
  if (!trouble) return tl::unexpected(trouble.error());
  const double summed = monotonic_seconds();
  step.record.before = fingerprint();

  const double updating = monotonic_seconds();
  const float* sums = is_alone ? gradient_->data() : sums_->data();
  for (const Layout::Bucket& bucket : layout_->buckets)
    update_(*execution_, {parameters_->data() + bucket.begin, velocity_->data() + bucket.begin, sums + bucket.begin,
                          bucket.end - bucket.begin, settings_->rate, settings_->momentum});
  if (auto done = put_off(execution_->finish()); !done) return tl::unexpected(done.error());
  step.times = {computed - begun, summed - computed, summed - begun + (monotonic_seconds() - updating)};
  look(step, batch);
  return step;
}

std::vector<float> Replica::gradient_of(const State& state, const DataSet& data, std::span<const std::uint32_t> which,
                                        int batch) {
  load(state);
  network_.backward(
      data, which, batch, parameters_->data(), gradient_->data(), [](std::size_t) {}, [] {});
  std::vector<float> gradient(layout_->size);
  execution_->copy_out(gradient_->data(), gradient);
  return gradient;
}

void Replica::look(Step& step, int batch) {
  std::vector<float> room;
  if (sums_with_.comm != nullptr) {
    const Scan own = scan_buckets(host_copy(*gradient_, room));
    step.is_own_finite = own.is_finite;
    step.is_own_zero = own.is_zero;
  }
  const auto sums = host_copy(sums_with_.comm == nullptr ? *gradient_ : *sums_, room);
  const Scan all = scan_buckets(sums);
  step.record.sum = all.fingerprint;
  step.is_sum_finite = all.is_finite;
  step.is_sum_zero = all.is_zero;
  for (std::size_t number = 0; number < layout_->buckets.size() && !step.miscovered; ++number) {
    const auto samples = static_cast<double>(sums[layout_->buckets[number].tally + Layout::samples_at]);
    if (samples != batch) step.miscovered = Miscovered{static_cast<int>(number), samples, batch};
  }
  step.loss = static_cast<double>(sums[layout_->buckets[0].tally + Layout::loss_at]) / batch;
  step.record.after = fingerprint();
}

Scan Replica::scan_buckets(std::span<const float> values) const {
  Scan all;
  for (const Layout::Bucket& bucket : layout_->buckets) {
    const Scan trained = scan(values.subspan(bucket.begin, bucket.end - bucket.begin));
    const Scan tally = scan(values.subspan(bucket.tally, Layout::tally_size));
    all.fingerprint = p2p::mix(p2p::mix(all.fingerprint ^ trained.fingerprint) ^ tally.fingerprint);
    all.is_finite = all.is_finite && trained.is_finite && tally.is_finite;
    all.is_zero = all.is_zero && trained.is_zero;
  }
  return all;
}

Result<double> Replica::time_sums() {
  const double begun = monotonic_seconds();
  for (std::size_t bucket = 0; bucket < layout_->buckets.size(); ++bucket)
    if (auto started = put_off(start(bucket)); !started) return tl::unexpected(started.error());
  if (auto done = put_off(add_up()); !done) return tl::unexpected(done.error());
  return monotonic_seconds() - begun;
}

}  // namespace muster::training
