#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include "base/uv_handle.hpp"

namespace muster {

namespace {

class UvConnection;

// What the driver holds. Dropping it closes the connection.
class TcpConnection final : public Listener::Connection {
 public:
  explicit TcpConnection(std::shared_ptr<UvConnection> kept) : kept_(std::move(kept)) {}
  ~TcpConnection() override;
  void send(std::vector<std::byte> bytes) override;
  void close() override;
  [[nodiscard]] bool has_unread() const override;

 private:
  std::shared_ptr<UvConnection> kept_;
};

class UvConnection final : public UvHandle {
 public:
  using UvHandle::UvHandle;

  bool accept(uv_stream_t* server) {
    uv_tcp_init(&loop().uv, &tcp_);
    opened(tcp_);
    if (uv_accept(server, stream()) != 0) {
      UvHandle::close(tcp_);
      return false;
    }
    uv_tcp_nodelay(&tcp_, 1);
    return true;
  }

  void read(const std::shared_ptr<TcpConnection>& owner) {
    owner_ = owner;
    uv_read_start(stream(), Loop::Implementation::lend_buffer, on_read);
  }

  void send(std::vector<std::byte> bytes) {
    if (is_closing_ || !is_open(tcp_) || bytes.empty()) return;
    auto write = std::make_unique<Write>();
    write->bytes = std::move(bytes);
    const uv_buf_t buffer =
        uv_buf_init(reinterpret_cast<char*>(write->bytes.data()), static_cast<unsigned>(write->bytes.size()));
    // libuv calls back in any case, also when the connection is closed; a failure shows in on_read too.
    const auto written = [](uv_write_t* request, int) { delete reinterpret_cast<Write*>(request); };
    if (uv_write(&write->request, stream(), &buffer, 1, written) == 0) (void)write.release();
  }

  // What was sent before still goes out.
  void close_gently() {
    if (is_closing_ || !is_open(tcp_)) return;
    is_closing_ = true;
    uv_read_stop(stream());
    const auto shut = [](uv_shutdown_t* request, int) { UvHandle::of<UvConnection>(request->handle)->abandon(); };
    if (uv_stream_get_write_queue_size(stream()) == 0 || uv_shutdown(&shutdown_, stream(), shut) != 0) return abandon();
    uv_unref(reinterpret_cast<uv_handle_t*>(&tcp_));
  }

  [[nodiscard]] bool has_unread() const {
    uv_os_fd_t descriptor = -1;
    int count = 0;
    return is_open(tcp_) && uv_fileno(reinterpret_cast<const uv_handle_t*>(&tcp_), &descriptor) == 0 &&
           ::ioctl(descriptor, FIONREAD, &count) == 0 && count > 0;
  }

  void abandon() override { UvHandle::close(tcp_); }

 protected:
  void forget() override {
    const auto owner = owner_.lock();
    if (!owner) return;
    owner->on_bytes = nullptr;
    owner->on_close = nullptr;
  }

 private:
  struct Write {
    uv_write_t request{};  // first: libuv hands its address back
    std::vector<std::byte> bytes;
  };

  static void on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
    const auto self = of<UvConnection>(stream);
    if (count == 0) return;
    self->loop().turned();
    const auto owner = self->owner_.lock();
    if (count < 0) {
      self->abandon();
      if (!owner) return;
      const auto act = std::move(owner->on_close);
      if (act) act();
    } else if (owner && owner->on_bytes) {
      owner->on_bytes(std::as_bytes(std::span(buffer->base, static_cast<std::size_t>(count))));
    }
  }

  uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&tcp_); }

  uv_tcp_t tcp_{};
  uv_shutdown_t shutdown_{};
  bool is_closing_ = false;
  std::weak_ptr<TcpConnection> owner_;
};

TcpConnection::~TcpConnection() {
  kept_->close_gently();
}
void TcpConnection::send(std::vector<std::byte> bytes) {
  kept_->send(std::move(bytes));
}
void TcpConnection::close() {
  kept_->close_gently();
}
bool TcpConnection::has_unread() const {
  return kept_->has_unread();
}

constexpr int backlog = 512;
/// Callers that are accepted before the loop turns to anything else: libuv itself would accept as long as they come.
constexpr int most_at_once = 64;
constexpr std::uint64_t pause_milliseconds = 1;

int port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

struct Listener::Implementation final : UvHandle {
  Implementation(Loop::Implementation& loop, std::function<void(std::shared_ptr<Connection>)> act)
      : UvHandle(loop), act_(std::move(act)) {}

  int open(const std::string& address) {
    sockaddr_storage where{};
    if (uv_ip4_addr(address.c_str(), 0, reinterpret_cast<sockaddr_in*>(&where)) != 0)
      if (const int bad = uv_ip6_addr(address.c_str(), 0, reinterpret_cast<sockaddr_in6*>(&where)); bad != 0)
        return bad;
    uv_tcp_init(&loop().uv, &tcp_);
    opened(tcp_);
    uv_timer_init(&loop().uv, &pause_);
    opened(pause_);
    int status = uv_tcp_bind(&tcp_, reinterpret_cast<const sockaddr*>(&where), 0);
    if (status == 0) status = uv_listen(reinterpret_cast<uv_stream_t*>(&tcp_), backlog, on_connection);
    int size = sizeof(where);
    if (status == 0) status = uv_tcp_getsockname(&tcp_, reinterpret_cast<sockaddr*>(&where), &size);
    if (status != 0) abandon();
    port_ = port_of(where);
    return status;
  }
  void abandon() override {
    close(tcp_);
    close(pause_);
  }

  int port_ = 0;

 protected:
  void forget() override { act_ = nullptr; }

 private:
  static void on_connection(uv_stream_t* server, int status) {
    const auto self = of<Implementation>(server);
    if (status != 0) return;  // the caller gave up, or no descriptor is free: it may call again
    self->loop().turned();
    // One that is not taken now waits, and stops libuv from accepting others.
    if (++self->accepted_ > most_at_once) {
      uv_timer_start(&self->pause_, go_on, pause_milliseconds, 0);
      return;
    }
    if (uv_is_active(reinterpret_cast<uv_handle_t*>(&self->pause_)) == 0)
      uv_timer_start(&self->pause_, go_on, pause_milliseconds, 0);
    auto kept = std::make_shared<UvConnection>(self->loop());
    if (!kept->accept(server)) return;
    const auto connection = std::make_shared<TcpConnection>(kept);
    kept->read(connection);
    self->act_(connection);
  }

  static void go_on(uv_timer_t* timer) {
    const auto self = of<Implementation>(timer);
    const bool has_one_waiting = self->accepted_ > most_at_once;
    self->accepted_ = 0;
    if (has_one_waiting && is_open(self->tcp_)) on_connection(reinterpret_cast<uv_stream_t*>(&self->tcp_), 0);
  }

  uv_tcp_t tcp_{};
  uv_timer_t pause_{};
  int accepted_ = 0;  ///< since the last pause
  std::function<void(std::shared_ptr<Connection>)> act_;
};

Result<std::unique_ptr<Listener>> Listener::open(Loop& loop, const std::string& address,
                                                 std::function<void(std::shared_ptr<Connection>)> on_connection) {
  auto implementation = std::make_shared<Implementation>(loop.implementation(), std::move(on_connection));
  const int status = implementation->open(address);
  if (status != 0) return fail(ErrorKind::system, address, std::string("can't listen there: ") + uv_strerror(status));
  return std::make_unique<Listener>(std::move(implementation));
}

Listener::Listener(std::shared_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
Listener::~Listener() {
  implementation_->abandon();
}
int Listener::port() const {
  return implementation_->port_;
}

}  // namespace muster
