#include "run/rank_key.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <span>
#include <unistd.h>

#include "base/clock.hpp"
#include "run/messages.hpp"

namespace muster {

std::vector<std::byte> key_frame(const LaunchKey& of_launch, const LaunchKey& of_rank_0) {
  const std::span<const unsigned char> bytes = of_rank_0.bytes();
  return FrameSealer(of_launch, FrameSender::driver)
      .seal(static_cast<std::uint8_t>(MessageType::key), std::as_bytes(bytes));
}

namespace {

/// As much of `room` as there is until the end of the stream, an error, or `until` (monotonic).
std::size_t read_until(int descriptor, std::span<std::byte> room, double until) {
  std::size_t size = 0;
  while (size < room.size()) {
    pollfd waiting{descriptor, POLLIN, 0};
    const double left = until - monotonic_seconds();
    const int ready = ::poll(&waiting, 1, left <= 0 ? 0 : static_cast<int>(left * 1000) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t count = ::read(descriptor, room.data() + size, room.size() - size);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  return size;
}

}  // namespace

LaunchKey take_key_of_rank_0(int descriptor, const LaunchKey& of_launch, double patience_s) {
  std::vector<std::byte> bytes(key_frame(of_launch, LaunchKey::random()).size());
  bytes.resize(read_until(descriptor, bytes, monotonic_seconds() + patience_s));
  FrameDecoder decoder;
  decoder.feed(bytes);
  const auto outer = decoder.next();
  const auto frame = outer ? FrameOpener(of_launch, FrameSender::driver).open(*outer) : std::nullopt;
  if (!frame || frame->type != static_cast<std::uint8_t>(MessageType::key)) return {};
  return LaunchKey::from_bytes(frame->payload).value_or(LaunchKey());
}

}  // namespace muster
