#include "probes/allreduce/measure.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/clock.hpp"
#include "stats/stats.hpp"

namespace muster::allreduce {

namespace {

constexpr int poison = 0xa5;

template <class T>
std::vector<T> values_of(const ByteVector& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// What a rank tells of a batch: its durations in us, and last 0 (clean), 1 (contaminated) or 2 (nobody can say).
using Report = std::vector<double>;

double flag_of(std::optional<bool> contaminated) {
  return !contaminated ? 2 : *contaminated ? 1 : 0;
}

class Operations {
 public:
  Operations(p2p::Equipment& with, const Task& task)
      : with_(with),
        task_(task),
        values_(task.type, with.seed, with.comm.size()),
        elements_(task.size / size_of(task.type)) {
    for (int slot = 0; slot < task.slots; ++slot)
      values_.fill(part(with.out, slot), with.comm.rank(), static_cast<std::size_t>(slot) * elements_);
    std::memset(with.in.bytes().data(), poison, task.size * static_cast<std::size_t>(task.slots));
  }

  [[nodiscard]] Result<Measured> run(const SamplingGoal& goal) {
    Sampler sampler(goal);  // rank 0's alone is fed
    for (;;) {
      std::int64_t count = sampler.next();
      if (auto agreed = agree(count); !agreed) return tl::unexpected(agreed.error());
      if (count <= 0) break;
      if (auto done = batch(count, sampler); !done) return tl::unexpected(done.error());
    }
    Measured measured;
    measured.operations = done_;
    measured.own = summarize(own_);
    measured.skew = summarize(skew_);
    if (with_.comm.rank() == 0) name_slowest(measured);
    if (auto told = tell_time(sampler, measured); !told) return tl::unexpected(told.error());
    measured.wrong = look();
    return measured;
  }

 private:
  [[nodiscard]] std::span<std::byte> part(const p2p::Buffer& buffer, int slot) const {
    return buffer.bytes().subspan(static_cast<std::size_t>(slot) * task_.size, task_.size);
  }

  [[nodiscard]] Result<void> agree(std::int64_t& count) {
    auto told = with_.comm.broadcast(std::as_bytes(std::span(&count, 1)), 0);
    if (!told) return tl::unexpected(told.error());
    std::memcpy(&count, told->data(), sizeof count);
    return {};
  }

  [[nodiscard]] Result<void> batch(std::int64_t count, Sampler& sampler) {
    const double begun = monotonic_seconds();
    Report mine;
    for (std::int64_t i = 0; i < count; ++i) {
      with_.recorder.iteration(done_);
      const int slot = static_cast<int>(done_ % static_cast<std::uint64_t>(task_.slots));
      if (auto met = with_.comm.barrier(); !met) return met;
      const double start = monotonic_seconds();
      auto summed = with_.comm.all_reduce_sum(task_.type, part(with_.out, slot), part(with_.in, slot));
      mine.push_back((monotonic_seconds() - start) * 1e6);
      if (!summed) return summed;
      ++done_;
    }
    const auto own = with_.watch == nullptr ? std::nullopt : with_.own_s();
    mine.push_back(flag_of(own ? with_.watch->ask(*own) : std::nullopt));
    return settle(mine, begun, sampler);
  }

  /// Rank 0 finds the slowest of each operation and tells all.
  [[nodiscard]] Result<void> settle(const Report& mine, double begun, Sampler& sampler) {
    auto reports = with_.comm.gather(std::as_bytes(std::span(mine)), 0);
    if (!reports) return tl::unexpected(reports.error());
    Report slowest(mine.size() - 1, 0);
    if (with_.comm.rank() == 0) feed(*reports, slowest, begun, sampler);
    auto told = with_.comm.broadcast(std::as_bytes(std::span(slowest)), 0);
    if (!told) return tl::unexpected(told.error());
    slowest = values_of<double>(*told);
    for (std::size_t i = 0; i < slowest.size(); ++i) {
      own_.push_back(mine[i]);
      skew_.push_back(slowest[i] - mine[i]);
    }
    return {};
  }

  void feed(const std::vector<ByteVector>& reports, Report& slowest, double begun, Sampler& sampler) {
    std::vector<int> who(slowest.size(), 0);
    bool is_any_bad = false;
    bool is_any_unknown = false;
    for (std::size_t rank = 0; rank < reports.size(); ++rank) {
      const Report report = values_of<double>(reports[rank]);
      if (report.size() != slowest.size() + 1) continue;
      is_any_bad |= report.back() == 1;
      is_any_unknown |= report.back() == 2;
      for (std::size_t i = 0; i < slowest.size(); ++i)
        if (report[i] > slowest[i]) slowest[i] = report[i], who[i] = static_cast<int>(rank);
    }
    for (const int rank : who) ++times_slowest_[rank];
    std::optional<bool> contaminated = false;
    if (is_any_unknown) contaminated = std::nullopt;
    if (is_any_bad) contaminated = true;
    sampler.feed(slowest, Seconds{monotonic_seconds() - begun}, contaminated);
  }

  void name_slowest(Measured& measured) const {
    for (const auto& [rank, times] : times_slowest_) {
      const double share = static_cast<double>(times) / static_cast<double>(std::max<std::uint64_t>(1, done_));
      if (share > measured.slowest_share) measured.slowest = rank, measured.slowest_share = share;
    }
  }

  /// The samples' summary is rank 0's; all report the same operation.
  [[nodiscard]] Result<void> tell_time(const Sampler& sampler, Measured& measured) {
    measured.time = sampler.result();
    const Summary& summary = measured.time.summary;
    const double numbers[] = {static_cast<double>(summary.n),
                              summary.min,
                              summary.median,
                              summary.p95,
                              summary.max,
                              summary.mad,
                              measured.time.is_disturbed ? 1.0 : 0.0,
                              static_cast<double>(measured.time.end)};
    auto told = with_.comm.broadcast(std::as_bytes(std::span(numbers)), 0);
    if (!told) return tl::unexpected(told.error());
    const auto got = values_of<double>(*told);
    measured.time.summary = {static_cast<std::int64_t>(got[0]), got[1], got[2], got[3], got[4], got[5]};
    measured.time.is_disturbed = got[6] != 0;
    measured.time.end = static_cast<SamplingEnd>(static_cast<int>(got[7]));
    return {};
  }

  /// The last result in every slot that was used.
  [[nodiscard]] std::optional<WrongElement> look() const {
    const auto used = std::min<std::uint64_t>(done_, static_cast<std::uint64_t>(task_.slots));
    std::optional<WrongElement> found;
    for (std::uint64_t slot = 0; slot < used; ++slot) {
      auto wrong = values_.find_wrong(part(with_.in, static_cast<int>(slot)), slot * elements_);
      if (!wrong) continue;
      if (found)
        found->count += wrong->count;
      else
        found = std::move(wrong);
    }
    return found;
  }

  p2p::Equipment& with_;
  const Task& task_;
  Values values_;
  std::size_t elements_;
  std::uint64_t done_ = 0;
  std::vector<double> own_;
  std::vector<double> skew_;
  std::map<int, std::uint64_t> times_slowest_;
};

}  // namespace

Result<Measured> measure(p2p::Equipment& with, const Task& task, const SamplingGoal& goal) {
  with.recorder.step("allreduce");
  with.recorder.peer(-1);
  return Operations(with, task).run(goal);
}

}  // namespace muster::allreduce
