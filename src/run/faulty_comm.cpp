#include "run/faulty_comm.hpp"

#include <algorithm>
#include <utility>

#include "base/fault_injection.hpp"

namespace muster {

namespace {

class CorruptedSum final : public PendingSum {
 public:
  CorruptedSum(std::unique_ptr<PendingSum> sum, std::span<std::byte> out) : sum_(std::move(sum)), out_(out) {}

  Result<bool> test() override {
    auto done = sum_->test();
    if (done && *done) arrived();
    return done;
  }
  Result<void> wait() override {
    auto done = sum_->wait();
    if (done) arrived();
    return done;
  }

 private:
  void arrived() {
    if (!std::exchange(is_spoilt_, true)) corrupt("sum", out_);
  }
  std::unique_ptr<PendingSum> sum_;
  std::span<std::byte> out_;
  bool is_spoilt_ = false;
};

/// The last message in each slot, once: a bit that is flipped twice is right again.
void spoil_slots(const Slots& in, std::uint64_t start, std::uint64_t messages) {
  const auto last = std::min<std::uint64_t>(messages, static_cast<std::uint64_t>(in.count));
  for (std::uint64_t i = 0; i < last; ++i) corrupt("received", in.at(start + messages - 1 - i));
}

}  // namespace

Result<std::vector<ByteVector>> FaultyComm::all_gather(std::span<const std::byte> bytes) {
  auto all = ForwardingComm::all_gather(bytes);
  if (all && !all->empty()) corrupt("gathered", all->front());
  return all;
}

Result<void> FaultyComm::all_reduce_sum(SumType type, std::span<const std::byte> in, std::span<std::byte> out) {
  auto done = ForwardingComm::all_reduce_sum(type, in, out);
  if (done) corrupt("sum", out);
  return done;
}

Result<std::unique_ptr<PendingSum>> FaultyComm::start_sum(SumType type, std::span<const std::byte> in,
                                                          std::span<std::byte> out) {
  auto sum = ForwardingComm::start_sum(type, in, out);
  if (sum) *sum = std::make_unique<CorruptedSum>(std::move(*sum), out);
  return sum;
}

Result<void> FaultyComm::ping_pong(const PairEnd& end, std::uint64_t start, int count) {
  auto done = ForwardingComm::ping_pong(end, start, count);
  if (done) spoil_slots(end.in, start, static_cast<std::uint64_t>(std::max(count, 0)));
  return done;
}

Result<void> FaultyComm::stream(const PairEnd& end, const Stream& stream) {
  auto done = ForwardingComm::stream(end, stream);
  // The first end gets messages only where both send.
  const bool gets = stream.both_ways || end.role == PairRole::second;
  const int messages = gets ? std::max(stream.count, 0) * std::max(stream.window, 0) : 0;
  if (done) spoil_slots(end.in, stream.start, static_cast<std::uint64_t>(messages));
  return done;
}

}  // namespace muster
