#include "run/wire_client.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/tcp.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// Waits until a connect that was begun is through.
bool is_connected(int socket, double patience_s) {
  const double until = monotonic_seconds() + patience_s;
  for (;;) {
    const double left = until - monotonic_seconds();
    if (left <= 0) return false;
    pollfd waiting{socket, POLLOUT, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left * 1000) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }
}

int connect_to(const addrinfo& address, double patience_s) {
  const int socket = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  const int begun = ::connect(socket, address.ai_addr, address.ai_addrlen);
  if (begun != 0 && (errno != EINPROGRESS || !is_connected(socket, patience_s))) {
    ::close(socket);
    return -1;
  }
  // From here on calls wait: the driver keeps the time.
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) & ~O_NONBLOCK);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  return socket;
}

int call(const WireAddress& address, double patience_s) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found) != 0) return -1;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int socket = connect_to(*one, patience_s);
    if (socket >= 0) return socket;
  }
  return -1;
}

constexpr unsigned patience_without_driver_s = 2;

/// The socket that on_input looks at.
std::atomic<int> watched{-1};

/// Something came, or the other end is gone. Only what a signal handler may do.
void on_input(int) {
  const int error = errno;
  char byte = 0;
  const int socket = watched.load();
  const ssize_t count = socket < 0 ? 1 : ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  const bool is_gone = count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  if (is_gone) {
    constexpr std::string_view words = "muster-rank: the driver is gone; ending the launch\n";
    (void)!::write(STDERR_FILENO, words.data(), words.size());
    watched.store(-1);
    // The next write to the driver fails and ends the process in order. Otherwise SIGALRM ends us without MPI_Finalize,
    // and the launcher all other ranks.
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(patience_without_driver_s);
  }
  errno = error;
}

}  // namespace

void WireClient::end_with_peer() const {
  if (!is_owned_) return;
  watched.store(in_);
  struct sigaction action {};
  action.sa_handler = on_input;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGIO, &action, nullptr);
  ::fcntl(in_, F_SETOWN, ::getpid());
  ::fcntl(in_, F_SETFL, ::fcntl(in_, F_GETFL) | O_ASYNC);
  on_input(SIGIO);  // it may have gone before
}

void WireClient::live_without_peer() const {
  if (watched.exchange(-1) < 0) return;
  ::fcntl(in_, F_SETFL, ::fcntl(in_, F_GETFL) & ~O_ASYNC);
  ::signal(SIGIO, SIG_IGN);
}

std::vector<WireAddress> parse_wire_addresses(std::string_view text) {
  std::vector<WireAddress> addresses;
  for (const std::string& item : split(text, ',')) {
    const std::string_view word = trim(item);
    const std::size_t colon = word.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == word.size()) continue;
    std::string_view host = word.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    const std::string_view port = word.substr(colon + 1);
    if (port.find_first_not_of("0123456789") != std::string_view::npos) continue;
    addresses.push_back({std::string(host), std::string(port)});
  }
  return addresses;
}

WireClient WireClient::open(std::string_view addresses, const LaunchKey& key, double patience_s) {
  for (const WireAddress& address : parse_wire_addresses(addresses)) {
    const int socket = call(address, patience_s);
    if (socket >= 0) return {socket, socket, true, key};
  }
  return {STDIN_FILENO, STDOUT_FILENO, false, key};
}

WireClient::WireClient(WireClient&& other) noexcept
    : in_(other.in_),
      out_(other.out_),
      is_owned_(std::exchange(other.is_owned_, false)),
      decoder_(std::move(other.decoder_)),
      sealer_(std::move(other.sealer_)),
      opener_(std::move(other.opener_)) {}

WireClient::~WireClient() {
  if (!is_owned_) return;
  ::close(in_);
  if (out_ != in_) ::close(out_);
}

Result<void> WireClient::send(MessageType type, std::span<const std::byte> payload) {
  std::vector<std::byte> frame = sealer_.seal(static_cast<std::uint8_t>(type), payload);
  // srun hands on whole lines: without an end of line the last frame would wait for the one after it.
  if (is_stdio()) frame.push_back(std::byte{'\n'});
  std::size_t sent = 0;
  while (sent < frame.size()) {
    // A driver that is gone must be an error here, not a SIGPIPE.
    ssize_t count = ::send(out_, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == ENOTSOCK) count = ::write(out_, frame.data() + sent, frame.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      pollfd waiting{out_, POLLOUT, 0};
      ::poll(&waiting, 1, -1);
      continue;
    }
    if (count < 0)
      return fail(ErrorKind::system, "wire", std::string("the driver does not take data: ") + std::strerror(errno));
    sent += static_cast<std::size_t>(count);
  }
  return {};
}

Result<Frame> WireClient::receive() {
  std::byte chunk[1 << 16];
  for (;;) {
    while (const auto outer = decoder_.next()) {
      if (auto frame = opener_.open(*outer)) return std::move(*frame);
      has_dropped_ = true;
    }
    if (longest_silence_s_ > 0) {
      pollfd waiting{in_, POLLIN, 0};
      if (::poll(&waiting, 1, static_cast<int>(longest_silence_s_ * 1000)) == 0)
        return fail(ErrorKind::protocol, "wire", "the driver sent nothing");
    }
    const ssize_t count = ::read(in_, chunk, sizeof chunk);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      pollfd waiting{in_, POLLIN, 0};
      ::poll(&waiting, 1, -1);
      continue;
    }
    if (count < 0) return fail(ErrorKind::system, "wire", std::string("reading failed: ") + std::strerror(errno));
    if (count == 0)
      return fail(ErrorKind::protocol, is_stdio() ? "standard input" : "wire",
                  has_dropped_ ? "ended; what came was not sealed with the key of this launch"
                               : "ended before the driver sent work");
    decoder_.feed(std::span(chunk, static_cast<std::size_t>(count)));
  }
}

}  // namespace muster
