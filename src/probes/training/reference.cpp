#include "probes/training/reference.hpp"

#include <algorithm>

namespace muster::training {

Result<std::vector<double>> train_alone(const Parts& parts, const Task& task, const State& start, int first_epoch,
                                        std::size_t most) {
  const Settings& settings = task.settings;
  const Layout layout = Layout::of(settings);
  Execution& execution = parts.reference == nullptr ? parts.execution : *parts.reference;
  const Parts right{execution, parts.comm, parts.recorder};
  auto alone = Replica::make(execution, settings, layout, settings.batch, {}, right.update);
  if (!alone) return tl::unexpected(alone.error());
  alone->load(start);
  std::vector<double> losses;
  const auto wanted = std::min<std::size_t>(static_cast<std::size_t>(settings.reference_steps), most);
  for (int epoch = first_epoch; losses.size() < wanted; ++epoch) {
    const auto order = order_of(settings, epoch);
    for (int at = 0; at < settings.steps_per_epoch() && losses.size() < wanted; ++at) {
      parts.recorder.iteration(losses.size());
      const auto from = static_cast<std::size_t>(at) * static_cast<std::size_t>(settings.batch);
      const int batch = settings.batch_at(at);
      auto step = alone->step(task.data, std::span(order).subspan(from, static_cast<std::size_t>(batch)), batch);
      if (!step) return tl::unexpected(step.error());
      losses.push_back(step->loss);
    }
  }
  return losses;
}

Result<bool> computes_rightly(const Parts& parts, const Task& task, Replica& replica, const State& start,
                              std::span<const std::uint32_t> which) {
  const Layout layout = Layout::of(task.settings);
  const int batch = task.settings.batch_at(0);
  const auto plain = make_host_execution(Products::plain, 1);
  Execution& right = parts.reference == nullptr ? *plain : *parts.reference;
  auto alone = Replica::make(right, task.settings, layout, static_cast<int>(which.size()), {}, parts.update);
  if (!alone) return tl::unexpected(alone.error());
  const auto due = alone->gradient_of(start, task.data, which, batch);
  const auto got = replica.gradient_of(start, task.data, which, batch);
  const auto are_alike = [&](std::size_t from, std::size_t count) {
    return are_close(std::span(got).subspan(from, count), std::span(due).subspan(from, count));
  };
  return std::all_of(layout.buckets.begin(), layout.buckets.end(), [&](const Layout::Bucket& bucket) {
    return are_alike(bucket.begin, bucket.end - bucket.begin) && are_alike(bucket.tally + Layout::loss_at, 1);
  });
}

}  // namespace muster::training
