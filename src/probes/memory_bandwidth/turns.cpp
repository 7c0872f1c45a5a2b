#include "probes/memory_bandwidth/turns.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <thread>

namespace muster::memory_bandwidth {

namespace {

constexpr Seconds least_share{0.05};

/// A barrier whose waiting ranks sleep: in MPI_Barrier they would spin, on CPUs that may be those that are measured.
Result<void> wait_asleep(Comm& comm) {
  const std::array<std::int32_t, 1> mine{1};
  std::array<std::int32_t, 1> sum{};
  auto pending = comm.start_sum(SumType::int32, std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(sum)));
  if (!pending) return tl::unexpected(pending.error());
  for (;;) {
    const auto is_done = (*pending)->test();
    if (!is_done) return tl::unexpected(is_done.error());
    if (*is_done) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

Result<void> in_turn(RunContext& context, const std::function<void()>& measure) {
  const auto node = context.comm.split(context.place.node_index);
  if (!node) return tl::unexpected(node.error());
  for (int turn = 0; turn < (*node)->size(); ++turn) {
    if (turn == (*node)->rank()) measure();
    context.recorder.step("other ranks of the node");
    if (auto waited = wait_asleep(**node); !waited) return waited;
  }
  return {};
}

Seconds share_of_cap(Seconds cap, int local_size) {
  return std::max(Seconds{cap.value / std::max(1, local_size)}, std::min(cap, least_share));
}

}  // namespace muster::memory_bandwidth
