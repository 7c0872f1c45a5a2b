/// A communicator that corrupts data received by this rank, by order (base/fault_injection.hpp).
#pragma once

#include "run/forwarding_comm.hpp"

namespace muster {

class FaultyComm final : public ForwardingComm {
 public:
  using ForwardingComm::ForwardingComm;

  Result<std::vector<ByteVector>> all_gather(std::span<const std::byte> bytes) override;
  Result<void> all_reduce_sum(SumType type, std::span<const std::byte> in, std::span<std::byte> out) override;
  Result<std::unique_ptr<PendingSum>> start_sum(SumType type, std::span<const std::byte> in,
                                                std::span<std::byte> out) override;
  Result<void> ping_pong(const PairEnd& end, std::uint64_t start, int count) override;
  Result<void> stream(const PairEnd& end, const Stream& stream) override;
};

}  // namespace muster
