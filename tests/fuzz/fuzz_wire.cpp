// What a network may do to sealed frames: each pair of bytes is an act (send, alter, drop, repeat, reflect, put bytes
// in between) and its operand. Only whole frames of the sender come out, each once, in the order in which they were
// sent.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "run/sealed_frames.hpp"

namespace {

using namespace muster;

void require(bool claim) {
  if (!claim) std::abort();
}

using Bytes = std::vector<std::byte>;

/// One launch: an agent that seals, a driver that opens.
class Launch {
 public:
  void act(std::uint8_t what, std::uint8_t operand, std::span<const std::byte> rest) {
    switch (what % 8) {
      case 0:
      case 1:
        return send(operand, rest.first(std::min<std::size_t>(operand, rest.size())));
      case 2:
        return alter(operand);
      case 3:
        if (!wire_.empty()) wire_.pop_back();
        return;
      case 4:
        if (!wire_.empty()) wire_.push_back(wire_[operand % wire_.size()]);
        return;
      case 5:
        return wire_.push_back(reflecting_.seal(operand, rest.first(std::min<std::size_t>(8, rest.size()))));
      case 6:
        return wire_.push_back(encode_frame(operand, rest.first(std::min<std::size_t>(64, rest.size()))));
      default:
        if (wire_.size() > 1) std::swap(wire_.back(), wire_[operand % wire_.size()]);
    }
  }

  void deliver(std::size_t step) {
    Bytes all;
    for (const Bytes& one : wire_) all.insert(all.end(), one.begin(), one.end());
    FrameDecoder decoder;
    std::size_t next = 0;
    for (std::size_t at = 0; at < all.size(); at += step) {
      decoder.feed(std::span(all).subspan(at, std::min(step, all.size() - at)));
      while (const auto outer = decoder.next())
        if (const auto inner = opener_.open(*outer)) require(next < sent_.size() && *inner == sent_[next++]);
    }
  }

 private:
  void send(std::uint8_t type, std::span<const std::byte> payload) {
    sent_.push_back({type, {payload.begin(), payload.end()}});
    wire_.push_back(sealer_.seal(type, payload));
  }
  /// With the checksum made right again, half of the time.
  void alter(std::uint8_t operand) {
    if (wire_.empty()) return;
    Bytes& one = wire_.back();
    one[operand % one.size()] ^= std::byte{1};
    if (operand % 2 == 0 && one.size() > frame_head_size)
      one = encode_frame(std::to_integer<std::uint8_t>(one[4]), std::span(one).subspan(frame_head_size));
  }

  static LaunchKey key() {
    static const LaunchKey one = LaunchKey::random();
    return one;
  }
  FrameSealer sealer_{key(), FrameSender::agent};
  FrameSealer reflecting_{key(), FrameSender::driver};
  FrameOpener opener_{key(), FrameSender::agent};
  std::vector<Frame> sent_;
  std::vector<Bytes> wire_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  Launch launch;
  for (std::size_t at = 1; at + 2 <= size && at < 200; at += 2)
    launch.act(data[at], data[at + 1], bytes.subspan(at + 2));
  launch.deliver(data[0] + std::size_t{1});
  return 0;
}
