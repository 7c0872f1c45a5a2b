/// A communicator that hands everything on to another; a test derives from it and changes what it wants to change.
#pragma once

#include "muster/comm.hpp"

namespace muster {

class ForwardingComm : public Comm {
 public:
  /// `good` must outlive this.
  explicit ForwardingComm(Comm& good) : good_(good) {}

  int rank() const override { return good_.rank(); }
  int size() const override { return good_.size(); }
  std::string library() const override { return good_.library(); }
  Result<void> barrier() override { return good_.barrier(); }
  Result<ByteVector> broadcast(std::span<const std::byte> bytes, int root) override {
    return good_.broadcast(bytes, root);
  }
  Result<std::vector<ByteVector>> gather(std::span<const std::byte> bytes, int root) override {
    return good_.gather(bytes, root);
  }
  Result<std::vector<ByteVector>> all_gather(std::span<const std::byte> bytes) override {
    return good_.all_gather(bytes);
  }
  Result<bool> all_true(bool mine) override { return good_.all_true(mine); }
  Result<void> all_reduce_sum(SumType type, std::span<const std::byte> in, std::span<std::byte> out) override {
    return good_.all_reduce_sum(type, in, out);
  }
  Result<std::unique_ptr<PendingSum>> start_sum(SumType type, std::span<const std::byte> in,
                                                std::span<std::byte> out) override {
    return good_.start_sum(type, in, out);
  }
  Result<void> send(std::span<const std::byte> bytes, int to, int tag) override { return good_.send(bytes, to, tag); }
  Result<void> receive(std::span<std::byte> bytes, int from, int tag) override {
    return good_.receive(bytes, from, tag);
  }
  Result<void> ping_pong(const PairEnd& end, std::uint64_t start, int count) override {
    return good_.ping_pong(end, start, count);
  }
  Result<void> stream(const PairEnd& end, const Stream& stream) override { return good_.stream(end, stream); }
  Result<std::unique_ptr<Comm>> split(int group) override { return good_.split(group); }

 protected:
  Comm& good_;
};

}  // namespace muster
