/// The driver's end of the wire, as small as it can be: listens, sends a job, keeps what it is told.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "run/messages.hpp"
#include "run/sealed_frames.hpp"

namespace muster {

class FakeDriver {
 public:
  /// Answers every world with `job`. `most_callers` connections are served one after the other.
  /// With a key it opens and seals frames as the driver does.
  explicit FakeDriver(JobMessage job, int most_callers = 1, LaunchKey key = {})
      : job_(std::move(job)), most_callers_(most_callers), key_(key) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 64);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeDriver() {
    stop();
    ::close(listener_);
  }

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// Waits until all callers are gone. Valid afterwards: `frames`.
  void stop() {
    if (thread_.joinable()) thread_.join();
  }
  /// Nobody will call: ends the waiting.
  void give_up() { ::shutdown(listener_, SHUT_RDWR); }

  bool hangs_up_after_hello = false;
  bool closes_first = false;  ///< the first connection, unread
  std::vector<Frame> frames;

  [[nodiscard]] std::vector<Frame> of(MessageType type) const {
    std::vector<Frame> found;
    for (const Frame& frame : frames)
      if (frame.type == static_cast<std::uint8_t>(type)) found.push_back(frame);
    return found;
  }

 private:
  void serve() {
    for (int i = 0; i < most_callers_; ++i) {
      const int caller = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (caller < 0) return;
      if (!closes_first || i > 0) talk(caller);
      // As the driver's port is closed once rank 0 is known: later calls are refused.
      if (i + 1 == most_callers_) give_up();
      ::close(caller);
    }
  }
  void talk(int caller) {
    FrameDecoder decoder;
    std::byte chunk[4096];
    for (ssize_t count = 0; (count = ::read(caller, chunk, sizeof chunk)) > 0;) {
      decoder.feed(std::span(chunk, static_cast<std::size_t>(count)));
      while (const auto outer = decoder.next()) {
        const auto frame = opener_.open(*outer);
        if (!frame) continue;
        frames.push_back(*frame);
        if (hangs_up_after_hello) return;
        if (frame->type != static_cast<std::uint8_t>(MessageType::world)) continue;
        const auto job =
            FrameSealer(key_, FrameSender::driver).seal(static_cast<std::uint8_t>(MessageType::job), encode(job_));
        if (::send(caller, job.data(), job.size(), MSG_NOSIGNAL) < 0) return;
      }
    }
  }

  JobMessage job_;
  int most_callers_;
  LaunchKey key_;
  FrameOpener opener_{key_, FrameSender::agent};
  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace muster
