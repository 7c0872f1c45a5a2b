#include "probes/allreduce/measure.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "base/clock.hpp"
#include "measure/pair_verify.hpp"
#include "stats/stats.hpp"

namespace muster::allreduce {

namespace {

constexpr std::size_t shift_step = 64;  // bytes; a multiple of every type's

template <class T>
std::vector<T> values_of(const ByteVector& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// Rank 0's `values`, as many as this rank expects.
template <class T>
Result<std::vector<T>> from_first_rank(Comm& comm, std::span<const T> values) {
  auto reported = comm.broadcast(std::as_bytes(values), 0);
  if (!reported) return tl::unexpected(reported.error());
  if (reported->size() != values.size_bytes())
    return fail(ErrorKind::system, "broadcast", "rank 0 sent data of another length");
  return values_of<T>(*reported);
}

/// A rank's data on a batch: its durations in us, and last one of these.
using Report = std::vector<double>;
constexpr double clean = 0;
constexpr double contaminated = 1;
constexpr double unknown = 2;  // too short

double flag_of(std::optional<bool> is_contaminated) {
  return !is_contaminated ? unknown : *is_contaminated ? contaminated : clean;
}

/// Of a rank's own, the samples that belong to those that rank 0's Sampler keeps.
class Series {
 public:
  void add(std::span<const double> values, bool was_warming, double flag) {
    if (was_warming) clear();
    samples_.insert(samples_.end(), values.begin(), values.end());
    if (flag == contaminated) samples_.resize(settled_);
    if (flag != unknown) settled_ = samples_.size();
  }
  void clear() {
    samples_.clear();
    settled_ = 0;
  }
  [[nodiscard]] Summary summary() const { return summarize(samples_); }

 private:
  std::vector<double> samples_;
  std::size_t settled_ = 0;  ///< how many were found clean; the others wait for an answer
};

class Operations {
 public:
  Operations(p2p::Equipment& with, const Task& task)
      : with_(with),
        task_(task),
        values_(task.type, with.seed, with.comm.size()),
        elements_(task.size / size_of(task.type)) {
    // One slot continues the other, so that a sum can begin anywhere.
    values_.fill(with.out.host().first(filled_bytes()), with.comm.rank(), 0);
    std::memset(with.in.host().data(), p2p::poison, used_bytes());
  }

  [[nodiscard]] Result<Measured> run(const SamplingGoal& goal) {
    if (auto pushed = with_.out.push(filled_bytes()); !pushed) return tl::unexpected(pushed.error());
    if (auto pushed = with_.in.push(used_bytes()); !pushed) return tl::unexpected(pushed.error());
    Sampler sampler(goal);  // rank 0's alone is fed
    for (;;) {
      std::int64_t count = sampler.next();
      if (auto agreed = agree(count); !agreed) return tl::unexpected(agreed.error());
      if (count <= 0) break;
      if (auto done = batch(count, sampler); !done) return tl::unexpected(done.error());
    }
    if (auto settled = settle({answer(true)}, monotonic_seconds(), sampler); !settled)
      return tl::unexpected(settled.error());
    Measured measured;
    measured.operations = done_;
    if (with_.comm.rank() == 0) name_slowest(measured);
    if (auto reported = report_time(sampler, measured); !reported) return tl::unexpected(reported.error());
    if (measured.time.is_disturbed) own_.clear(), skew_.clear();
    measured.own = own_.summary();
    measured.skew = skew_.summary();
    with_.recorder.step("verify");
    const auto slots = static_cast<std::uint64_t>(task_.slots);
    if (auto looked = look(std::min(done_, slots), 0); !looked) return tl::unexpected(looked.error());
    const double limit_s = goal.most > 1 ? with_.verify * measured.time.taken.value : 0;
    if (auto more = verify(limit_s, done_ > slots); !more) return tl::unexpected(more.error());
    measured.summed = done_ + verified_;
    measured.looked = looked_;
    measured.wrong = std::move(wrong_);
    measured.wrong_sums = wrong_sums_;
    return measured;
  }

 private:
  [[nodiscard]] std::size_t used_bytes() const { return task_.size * static_cast<std::size_t>(task_.slots); }

  /// Further sums begin further on, so that no two in a row of a slot are alike.
  [[nodiscard]] std::size_t shifts() const {
    const std::size_t room = with_.out.host().size() - used_bytes();
    return 1 + std::min(room, p2p::burst_slack) / shift_step;
  }
  [[nodiscard]] std::size_t filled_bytes() const { return used_bytes() + (shifts() - 1) * shift_step; }
  [[nodiscard]] std::size_t shift_of(std::uint64_t pass) const { return pass % shifts() * shift_step; }

  [[nodiscard]] std::span<std::byte> part(std::span<std::byte> memory, int slot) const {
    return memory.subspan(static_cast<std::size_t>(slot) * task_.size, task_.size);
  }

  [[nodiscard]] Result<void> agree(std::int64_t& count) {
    auto reported = from_first_rank<std::int64_t>(with_.comm, std::span(&count, 1));
    if (!reported) return tl::unexpected(reported.error());
    count = reported->front();
    return {};
  }

  [[nodiscard]] Result<void> batch(std::int64_t count, Sampler& sampler) {
    const double begun = monotonic_seconds();
    Report mine;
    mine.reserve(static_cast<std::size_t>(count) + 1);
    for (std::int64_t i = 0; i < count; ++i) {
      with_.recorder.iteration(done_);
      const int slot = static_cast<int>(done_ % static_cast<std::uint64_t>(task_.slots));
      if (auto met = with_.carrier().barrier(); !met) return met;
      const double start = monotonic_seconds();
      auto summed =
          with_.carrier().all_reduce_sum(task_.type, part(with_.out.bytes(), slot), part(with_.in.bytes(), slot));
      mine.push_back((monotonic_seconds() - start) * 1e6);
      if (!summed) return summed;
      ++done_;
    }
    mine.push_back(answer(false));
    return settle(mine, begun, sampler);
  }

  /// Of this rank's watch, since its last answer.
  [[nodiscard]] double answer(bool is_last) {
    const auto own = with_.watch == nullptr ? std::nullopt : with_.own_s();
    if (!own) return unknown;
    return flag_of(is_last ? with_.watch->ask_last(*own) : with_.watch->ask(*own));
  }

  /// Rank 0 finds the slowest of each operation and sends it to all, with the result of the batch. Without operations,
  /// after the last batch, the answers count for all samples that have none.
  [[nodiscard]] Result<void> settle(const Report& mine, double begun, Sampler& sampler) {
    auto reports = with_.comm.gather(std::as_bytes(std::span(mine)), 0);
    if (!reports) return tl::unexpected(reports.error());
    const std::size_t count = mine.size() - 1;
    Report word(count + 2, 0);
    if (with_.comm.rank() == 0) feed(*reports, word, begun, sampler);
    auto reported = from_first_rank<double>(with_.comm, word);
    if (!reported) return tl::unexpected(reported.error());
    std::vector<double> skew;
    for (std::size_t i = 0; i < count; ++i) skew.push_back((*reported)[i] - mine[i]);
    const bool was_warming = (*reported)[count] != 0;
    const double flag = (*reported)[count + 1];
    own_.add(std::span(mine).first(count), was_warming, flag);
    skew_.add(skew, was_warming, flag);
    return {};
  }

  /// `word`: the slowest rank's durations, then whether this was warm-up, then the joint result of all ranks.
  void feed(const std::vector<ByteVector>& reports, Report& word, double begun, Sampler& sampler) {
    const std::span<double> slowest = std::span(word).first(word.size() - 2);
    std::vector<int> who(slowest.size(), 0);
    bool is_whole = true;
    bool is_any_bad = false;
    bool is_any_unknown = false;
    for (std::size_t rank = 0; rank < reports.size(); ++rank) {
      const Report report = values_of<double>(reports[rank]);
      is_whole = is_whole && report.size() == slowest.size() + 1;
      if (!is_whole) break;
      is_any_bad |= report.back() == contaminated;
      is_any_unknown |= report.back() == unknown;
      for (std::size_t i = 0; i < slowest.size(); ++i)
        if (report[i] > slowest[i]) slowest[i] = report[i], who[i] = static_cast<int>(rank);
    }
    // A rank without reported times may have been the slowest: then there are no samples.
    if (!is_whole) std::fill(slowest.begin(), slowest.end(), std::numeric_limits<double>::quiet_NaN());
    const double flag = is_any_bad ? contaminated : is_any_unknown ? unknown : clean;
    for (const int rank : who) ++times_slowest_[rank];
    word[slowest.size()] = sampler.is_warming() && !slowest.empty() ? 1 : 0;
    word[slowest.size() + 1] = flag;
    const std::optional<bool> is_bad = flag == unknown ? std::nullopt : std::optional(flag == contaminated);
    if (slowest.empty())
      sampler.settle(is_bad);
    else
      sampler.feed(slowest, Seconds{monotonic_seconds() - begun}, is_bad);
  }

  void name_slowest(Measured& measured) const {
    for (const auto& [rank, times] : times_slowest_) {
      const double share = static_cast<double>(times) / static_cast<double>(std::max<std::uint64_t>(1, done_));
      if (share > measured.slowest_share) measured.slowest = rank, measured.slowest_share = share;
    }
  }

  /// The samples' summary is rank 0's; all report the same operation.
  [[nodiscard]] Result<void> report_time(const Sampler& sampler, Measured& measured) {
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
    auto reported = from_first_rank<double>(with_.comm, numbers);
    if (!reported) return tl::unexpected(reported.error());
    const auto& got = *reported;
    measured.time.summary = {static_cast<std::int64_t>(got[0]), got[1], got[2], got[3], got[4], got[5]};
    measured.time.is_disturbed = got[6] != 0;
    measured.time.end = static_cast<SamplingEnd>(static_cast<int>(got[7]));
    return {};
  }

  /// Sums of which every one is compared, for `limit_s` of rank 0; at least some if `is_needed`.
  [[nodiscard]] Result<void> verify(double limit_s, bool is_needed) {
    p2p::TimeShare time(limit_s);
    for (std::uint64_t pass = 1; with_.verify > 0; ++pass) {
      std::int64_t goes_on = time.begins_another(pass == 1 && is_needed);
      if (auto agreed = agree(goes_on); !agreed) return agreed;
      if (goes_on == 0) break;
      if (auto summed = sum_untimed(pass); !summed) return summed;
    }
    return {};
  }

  [[nodiscard]] Result<void> sum_untimed(std::uint64_t pass) {
    constexpr int most = 64;
    const int count = std::min(task_.slots, most);
    with_.recorder.iteration(pass);
    for (int slot = 0; slot < count; ++slot)
      if (auto summed = with_.carrier().all_reduce_sum(
              task_.type, part(with_.out.bytes().subspan(shift_of(pass)), slot), part(with_.in.bytes(), slot));
          !summed)
        return summed;
    verified_ += static_cast<std::uint64_t>(count);
    return look(static_cast<std::uint64_t>(count), pass);
  }

  /// What is in the first slots, after a pass of `verify`; 0: after the timed sums.
  [[nodiscard]] Result<void> look(std::uint64_t slots, std::uint64_t pass) {
    if (auto pulled = with_.in.pull(slots * task_.size); !pulled) return pulled;
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      const std::size_t first = slot * elements_ + shift_of(pass) / size_of(task_.type);
      auto wrong = values_.find_wrong(part(with_.in.host(), static_cast<int>(slot)), first);
      if (!wrong) continue;
      ++wrong_sums_;
      if (wrong_) {
        wrong_->count += wrong->count;
        continue;
      }
      wrong->index -= first;
      wrong_ = std::move(wrong);
    }
    looked_ += slots;
    return {};
  }

  p2p::Equipment& with_;
  const Task& task_;
  Values values_;
  std::size_t elements_;
  std::uint64_t done_ = 0;      ///< timed
  std::uint64_t verified_ = 0;  ///< further ones
  std::uint64_t looked_ = 0;
  std::uint64_t wrong_sums_ = 0;
  std::optional<WrongElement> wrong_;
  Series own_;
  Series skew_;
  std::map<int, std::uint64_t> times_slowest_;
};

}  // namespace

Summary rate_of(const Summary& time, double factor) {
  Summary rate;
  if (time.n == 0) return rate;
  rate.n = time.n;
  rate.min = factor / time.max;
  rate.median = factor / time.median;
  // Only the order is turned round: the slow end of times is the low end of rates. What 95 % of operations reach is not
  // known from the summary; the largest is the closest bound.
  rate.p95 = factor / time.min;
  rate.max = factor / time.min;
  rate.mad = factor * time.mad / (time.median * time.median);
  return rate;
}

Result<Measured> measure(p2p::Equipment& with, const Task& task, const SamplingGoal& goal) {
  with.recorder.step("allreduce");
  with.recorder.peer(-1);
  return Operations(with, task).run(goal);
}

}  // namespace muster::allreduce
