#include "probes/training/train.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "probes/training/exchange.hpp"
#include "probes/training/reference.hpp"
#include "probes/training/saving.hpp"
#include "stats/stats.hpp"

namespace muster::training {

namespace {

constexpr std::size_t most_miscounted = 4;

class Training {
 public:
  Training(const Parts& parts, const Task& task, const Layout& layout, Replica replica)
      : parts_(parts),
        task_(task),
        settings_(task.settings),
        identity_{settings_, layout, fingerprint(task.data)},
        replica_(std::move(replica)),
        rank_(parts.comm.rank()),
        ranks_(parts.comm.size()) {}

  [[nodiscard]] Result<Trained> run() {
    done_.planned_epochs = settings_.epochs;
    if (auto begun = begin(); !begun) return tl::unexpected(begun.error());
    const State start = replica_.save();
    Saving saving(parts_, identity_, task_.checkpoint);
    for (int epoch = first_epoch_; epoch < settings_.epochs && !is_over_; ++epoch) {
      if (epoch + 1 == settings_.epochs)
        if (auto saved = saving.save(replica_, epoch, done_.saved); !saved) return tl::unexpected(saved.error());
      if (auto done = run_epoch(epoch); !done) return tl::unexpected(done.error());
      ++done_.epochs;
    }
    if (!is_over_)
      if (auto ended = finish(start, saving); !ended) return tl::unexpected(ended.error());
    // Where ranks came apart it is known who did.
    if (is_over_ && !done_.divergence && !done_.broken)
      if (auto blamed = compare_gradients(start); !blamed) return tl::unexpected(blamed.error());
    return std::move(done_);
  }

 private:
  /// The same on every rank: what was asked for can't be had, and that is not a fault of a rank's.
  [[nodiscard]] static Result<void> refuse_resume(std::string why) {
    return fail(ErrorKind::usage, "resume", std::move(why));
  }

  /// The same on every rank.
  void stop(int step, const Result<void>& mine) {
    done_.broken = Broken{step, mine ? std::string() : mine.error().what};
    is_over_ = true;
  }

  /// Collective: whether all devices are healthy until now. Otherwise the training ends.
  [[nodiscard]] Result<bool> all_fine() {
    if (parts_.execution.is_host_memory()) return true;
    const auto mine = replica_.finish();
    auto all = parts_.comm.all_true(mine.has_value());
    if (all && !*all) stop(done_.first_step + static_cast<int>(done_.losses.size()), mine);
    return all;
  }

  /// The state to start from, which is compared with the first epoch's records, and the data.
  [[nodiscard]] Result<void> begin() {
    if (!task_.resume.empty()) {
      auto read = read_checkpoint(parts_.comm, identity_, task_.resume);
      if (!read) return refuse_resume(to_string(read.error()));
      if (read->checkpoint.epoch >= settings_.epochs)
        return refuse_resume(fmt::format("{}: its next epoch is {}, and {} are to be done in all", task_.resume,
                                         read->checkpoint.epoch, settings_.epochs));
      replica_.load(read->checkpoint.state);
      first_epoch_ = read->checkpoint.epoch;
      done_.first_step = first_epoch_ * settings_.steps_per_epoch();
    }
    const std::uint64_t mine[] = {replica_.fingerprint(), identity_.data};
    if (auto fine = all_fine(); !fine || !*fine) return fine ? Result<void>() : tl::unexpected(fine.error());
    auto all = parts_.comm.all_gather(std::as_bytes(std::span(mine)));
    if (!all) return tl::unexpected(all.error());
    std::vector<std::uint64_t> data;
    for (const ByteVector& one : *all) {
      const auto numbers = values_of<std::uint64_t>(one);
      former_.push_back(numbers.at(0));
      data.push_back(numbers.at(1));
    }
    done_.divergence = find_dissent(data, done_.first_step, Cause::data);
    is_over_ = done_.divergence.has_value();
    return {};
  }

  [[nodiscard]] Result<Step> run_step(std::span<const std::uint32_t> order, int step,
                                      std::vector<std::uint32_t>& taken) {
    const int batch = settings_.batch_at(step);
    const auto whole = order.subspan(static_cast<std::size_t>(step) * static_cast<std::size_t>(settings_.batch),
                                     static_cast<std::size_t>(batch));
    const auto mine = parts_.part(whole, rank_, ranks_);
    taken.insert(taken.end(), mine.begin(), mine.end());
    return replica_.step(task_.data, mine, batch);
  }

  [[nodiscard]] Result<void> run_epoch(int epoch) {
    const auto order = parts_.order(settings_, epoch);
    EpochOfRank mine;
    std::size_t before = 0;
    for (int step = 0; step < settings_.steps_per_epoch(); ++step) {
      const int number = epoch * settings_.steps_per_epoch() + step;
      parts_.recorder.step("train");
      parts_.recorder.iteration(static_cast<std::uint64_t>(number));
      auto done = run_step(order, step, mine.taken);
      if (!done && done.error().kind != ErrorKind::device) return tl::unexpected(done.error());
      if (!done || done->is_stopped) {
        stop(number, done ? Result<void>() : tl::unexpected(done.error()));
        return {};
      }
      note(*done, number, static_cast<int>(mine.taken.size() - before));
      before = mine.taken.size();
      mine.records.push_back(done->record);
      mine.is_finite = mine.is_finite && done->is_own_finite && done->is_sum_finite;
    }
    if (done_.same_order < 0 && epoch > first_epoch_ && mine.taken.size() > 1 && mine.taken == last_taken_)
      done_.same_order = epoch;
    last_taken_ = mine.taken;
    last_records_ = mine.records;
    if (auto fine = all_fine(); !fine || !*fine) return fine ? Result<void>() : tl::unexpected(fine.error());
    return compare(epoch, mine);
  }

  void note(const Step& step, int number, int samples) {
    const auto once = [&](int& first, bool holds) {
      if (first < 0 && holds) first = number;
    };
    once(done_.not_finite_own, !step.is_own_finite);
    once(done_.not_finite_sum, !step.is_sum_finite);
    once(done_.zero_own, step.is_own_zero && samples > 0);
    once(done_.zero_sum, step.is_sum_zero);
    if (!done_.miscovered && step.miscovered) {
      done_.miscovered = step.miscovered;
      done_.miscovered_step = number;
    }
    done_.losses.push_back(step.loss);
    done_.times.push_back(step.times);
    done_.own_samples.push_back(samples);
  }

  /// All ranks see the same and so decide the same.
  [[nodiscard]] Result<void> compare(int epoch, const EpochOfRank& mine) {
    parts_.recorder.step("compare");
    auto all = parts_.comm.all_gather(encode(mine));
    if (!all) return tl::unexpected(all.error());
    std::vector<std::vector<StepRecord>> records;
    std::vector<std::vector<std::uint32_t>> taken;
    for (const ByteVector& bytes : *all) {
      auto one = decode(bytes, mine.records.size());
      if (!one) return tl::unexpected(one.error());
      is_over_ = is_over_ || !one->is_finite;
      records.push_back(std::move(one->records));
      taken.push_back(std::move(one->taken));
    }
    const auto miscounted = find_miscounted(taken, settings_.samples, most_miscounted);
    if (miscounted.empty()) ++done_.covered;
    if (done_.miscounted.empty())
      for (const Miscounted& one : miscounted) done_.miscounted.push_back({epoch, one});
    done_.divergence = find_divergence(records, former_, epoch * settings_.steps_per_epoch());
    for (std::size_t rank = 0; rank < records.size(); ++rank) former_[rank] = records[rank].back().after;
    if (!done_.divergence) return {};
    is_over_ = true;
    return replay();
  }

  /// If the update made the difference and no majority agrees: repeat it to find the rank at fault.
  [[nodiscard]] Result<void> replay() {
    if (done_.divergence->cause != Cause::update) return {};
    const std::byte mine[] = {std::byte{updates_rightly(parts_, settings_) ? std::uint8_t{1} : std::uint8_t{0}}};
    auto all = parts_.comm.all_gather(mine);
    if (!all) return tl::unexpected(all.error());
    std::vector<int> wrong;
    for (std::size_t rank = 0; rank < all->size(); ++rank)
      if ((*all)[rank].empty() || (*all)[rank][0] == std::byte{0}) wrong.push_back(static_cast<int>(rank));
    if (wrong.empty()) return {};
    done_.divergence->suspects = std::move(wrong);
    done_.divergence->is_certain = true;
    return {};
  }

  [[nodiscard]] Result<void> finish(const State& start, Saving& saving) {
    parts_.recorder.step("accuracy");
    if (auto done = measure_accuracy(); !done) return done;
    if (auto done = report_compute(); !done) return done;
    if (auto done = time_sums(); !done) return done;
    if (auto fine = all_fine(); !fine || !*fine) return fine ? Result<void>() : tl::unexpected(fine.error());
    if (auto done = compare_with_reference(start); !done) return done;
    if (done_.reference.first >= 0)
      if (auto done = compare_gradients(start); !done) return done;
    return resume(saving);
  }

  [[nodiscard]] Result<void> measure_accuracy() {
    const std::size_t count = task_.held_out.size();
    const auto rank = static_cast<std::size_t>(rank_);
    const auto ranks = static_cast<std::size_t>(ranks_);
    const std::size_t begin = count * rank / ranks;
    const double right[] = {replica_.count_right(task_.held_out, begin, count * (rank + 1) / ranks - begin)};
    double sum[] = {0};
    auto added = parts_.comm.all_reduce_sum(SumType::float64, std::as_bytes(std::span(right)),
                                            std::as_writable_bytes(std::span(sum)));
    if (!added) return added;
    if (count > 0) done_.accuracy = sum[0] / static_cast<double>(count);
    return {};
  }

  [[nodiscard]] Result<void> report_compute() {
    std::vector<double> seconds;
    for (std::size_t i = 0; i < done_.times.size(); ++i)
      if (done_.own_samples[i] > 0) seconds.push_back(done_.times[i].compute);
    const double mine[] = {median(seconds).value_or(0)};
    auto all = parts_.comm.all_gather(std::as_bytes(std::span(mine)));
    if (!all) return tl::unexpected(all.error());
    for (const ByteVector& one : *all) done_.compute_by_rank.push_back(values_of<double>(one).at(0));
    return {};
  }

  [[nodiscard]] Result<void> time_sums() {
    constexpr int repetitions = 15;
    if (!task_.times_sums || ranks_ < 2) return {};
    parts_.recorder.step("sums");
    for (int i = 0; i < repetitions; ++i) {
      if (auto met = parts_.comm.barrier(); !met) return met;
      auto took = replica_.time_sums();
      if (!took) return tl::unexpected(took.error());
      done_.sum_seconds.push_back(*took);
    }
    return {};
  }

  /// Rank 0 trains alone, with the right parts; the others wait.
  [[nodiscard]] Result<void> compare_with_reference(const State& start) {
    parts_.recorder.step("reference");
    parts_.recorder.peer(0);
    std::vector<double> reported(6, 0);
    Result<void> trouble;
    if (rank_ == 0) {
      auto losses = train_alone(parts_, task_, start, first_epoch_, done_.losses.size());
      if (losses) {
        const CurveDifference found = compare_curves(done_.losses, *losses, parts_.tolerance);
        const double there = found.first < 0 ? 0 : (*losses)[static_cast<std::size_t>(found.first)];
        reported = {1, double(found.steps), double(found.worst), found.most, double(found.first), there};
      } else {
        trouble = tl::unexpected(losses.error());
      }
    }
    auto heard = parts_.comm.broadcast(std::as_bytes(std::span(reported)), 0);
    if (!trouble) return trouble;
    if (!heard) return tl::unexpected(heard.error());
    const auto numbers = values_of<double>(*heard);
    if (numbers.size() != reported.size() || numbers[0] != 1)
      return fail(ErrorKind::system, "reference", "rank 0 has none");
    done_.reference = {int(numbers[1]), int(numbers[2]), numbers[3], int(numbers[4])};
    done_.reference_loss = numbers[5];
    parts_.recorder.peer(-1);
    return {};
  }

  /// Collective: whose own gradients of its part of the first batch are not those that the host computes?
  [[nodiscard]] Result<void> compare_gradients(const State& start) {
    parts_.recorder.step("gradients");
    const int batch = settings_.batch_at(0);
    const auto order = parts_.order(settings_, first_epoch_);
    const auto mine = parts_.part(std::span(order).first(static_cast<std::size_t>(batch)), rank_, ranks_);
    auto is_right = computes_rightly(parts_, task_, replica_, start, mine);
    if (!is_right) return tl::unexpected(is_right.error());
    const std::byte vote[] = {std::byte{*is_right ? std::uint8_t{1} : std::uint8_t{0}}};
    auto all = parts_.comm.all_gather(vote);
    if (!all) return tl::unexpected(all.error());
    for (std::size_t rank = 0; rank < all->size(); ++rank)
      if ((*all)[rank].empty() || (*all)[rank][0] == std::byte{0})
        done_.wrong_gradients.push_back(static_cast<int>(rank));
    return {};
  }

  /// The last epoch again, from the file: the same to the bit?
  [[nodiscard]] Result<void> resume(Saving& saving) {
    parts_.recorder.step("resume");
    auto state = saving.read_back(done_.saved);
    if (!state) return tl::unexpected(state.error());
    if (!*state) return {};
    replica_.load(**state);
    const auto order = parts_.order(settings_, settings_.epochs - 1);
    std::vector<std::uint32_t> taken;
    for (int step = 0; step < settings_.steps_per_epoch(); ++step) {
      auto again = run_step(order, step, taken);
      if (!again && again.error().kind != ErrorKind::device) return tl::unexpected(again.error());
      if (!again || again->is_stopped) {
        stop((settings_.epochs - 1) * settings_.steps_per_epoch() + step,
             again ? Result<void>() : tl::unexpected(again.error()));
        return {};
      }
      ++done_.saved.compared;
      if (done_.saved.first_difference < 0 && again->record != last_records_[static_cast<std::size_t>(step)])
        done_.saved.first_difference = (settings_.epochs - 1) * settings_.steps_per_epoch() + step;
    }
    return {};
  }

  const Parts& parts_;
  const Task& task_;
  const Settings& settings_;
  Identity identity_;
  Replica replica_;
  int rank_;
  int ranks_;
  int first_epoch_ = 0;
  bool is_over_ = false;
  std::vector<std::uint64_t> former_;  ///< by rank: fingerprint at the end of the last step
  std::vector<std::uint32_t> last_taken_;
  std::vector<StepRecord> last_records_;
  Trained done_;
};

}  // namespace

Result<Trained> train(const Parts& parts, const Task& task) {
  const Layout layout = Layout::of(task.settings);
  const int ranks = parts.comm.size();
  // A part may be larger than it should: what does wrong must not write out of bounds.
  const int most_rows = task.settings.batch / ranks + 17;
  const Carrier& carrier = parts.carrier;
  Sums sums{carrier.comm == nullptr ? &parts.comm : carrier.comm, carrier.takes_device_memory, carrier.is_overlapped,
            carrier.abandon, parts.execution.is_host_memory() ? nullptr : &parts.comm,
            // A rank that waits, by its own word, is not the one that the others wait for.
            [&recorder = parts.recorder](bool is_waiting) { recorder.step(is_waiting ? "await gradients" : "train"); }};
  auto replica = Replica::make(parts.execution, task.settings, layout, most_rows, std::move(sums), parts.update);
  if (!parts.execution.is_host_memory()) {
    auto all = parts.comm.all_true(replica.has_value());
    if (!all) return tl::unexpected(all.error());
    Trained nothing;
    nothing.broken = Broken{0, replica ? std::string() : replica.error().what};
    if (!*all) return nothing;
  }
  if (!replica) return tl::unexpected(replica.error());
  return Training(parts, task, layout, std::move(*replica)).run();
}

}  // namespace muster::training
