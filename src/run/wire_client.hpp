/// The agent's end of the wire: frames to and from the driver, over TCP or over standard input and output.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/frame.hpp"
#include "muster/result.hpp"
#include "run/messages.hpp"
#include "run/sealed_frames.hpp"

namespace muster {

/// One address of the driver: `10.0.0.1:4711`, `login1:4711`, `[::1]:4711`.
struct WireAddress {
  std::string host;
  std::string port;
  friend bool operator==(const WireAddress&, const WireAddress&) = default;
};

/// The addresses of a comma-separated list in order; invalid ones are left out.
[[nodiscard]] std::vector<WireAddress> parse_wire_addresses(std::string_view text);

class WireClient {
 public:
  /// Calls the addresses in order, `patience_s` each; the first that answers is it. When none does, or there are
  /// none, the frames go through standard input and output: a launcher forwards those of rank 0.
  [[nodiscard]] static WireClient open(std::string_view addresses, const LaunchKey& key, double patience_s = 3.0);
  /// Over descriptors that are already open; `owned` ones are closed at the end.
  WireClient(int in, int out, bool owned, const LaunchKey& key)
      : in_(in), out_(out), is_owned_(owned), sealer_(key, FrameSender::agent), opener_(key, FrameSender::driver) {}
  WireClient(WireClient&& other) noexcept;
  WireClient& operator=(WireClient&&) = delete;
  ~WireClient();

  /// From now on this process is ended by SIGALRM, without MPI_Finalize, 2 s after the other end closed the connection:
  /// all that a rank can do for a driver that was killed. Takes SIGIO, which no MPI library uses. Does nothing over
  /// standard input.
  void end_with_peer() const;
  /// From now on receive() fails when nothing comes for so long; 0: it waits.
  void limit_silence(double seconds) { longest_silence_s_ = seconds; }
  void live_without_peer() const;  ///< takes it back, before the other end may rightly close

  [[nodiscard]] bool is_stdio() const { return !is_owned_; }
  /// One frame, handed over to the kernel in whole. May wait as long as the driver does not read.
  [[nodiscard]] Result<void> send(MessageType type, std::span<const std::byte> payload);
  /// Waits for the next frame that the driver sealed; others are dropped. Fails when the stream ends before one is
  /// complete.
  [[nodiscard]] Result<Frame> receive();

 private:
  int in_;
  int out_;
  bool is_owned_;
  FrameDecoder decoder_;
  FrameSealer sealer_;
  FrameOpener opener_;
  double longest_silence_s_ = 0;
  bool has_dropped_ = false;  ///< a frame that the driver did not seal
};

}  // namespace muster
