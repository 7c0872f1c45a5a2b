#include "base/loop.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <mutex>
#include <system_error>

#include "base/uv_handle.hpp"

namespace muster {

void UvHandle::keep() {
  if (handles_++ != 0) return;
  self_ = shared_from_this();
  loop_->kept.insert(this);
}

void UvHandle::on_closed(uv_handle_t* handle) {
  auto* kept = static_cast<UvHandle*>(handle->data);
  if (--kept->handles_ != 0) return;
  kept->loop_->kept.erase(kept);
  const std::shared_ptr<UvHandle> last = std::move(kept->self_);
  last->forget();
}

namespace {

// A reader that went away must be an error of that write, not the end of the driver.
void ignore_broken_pipes() {
  struct sigaction now {};
  if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

// How long a loop that ends waits for children that it killed.
constexpr std::uint64_t reap_milliseconds = 2000;

std::uint64_t milliseconds(double seconds) {
  constexpr double most = 1e9;  // 31 years
  if (!(seconds > 0)) return 0;
  return static_cast<std::uint64_t>(std::ceil(std::min(seconds, most) * 1000));
}

}  // namespace

Loop::Implementation::Implementation() {
  ignore_broken_pipes();
  status = uv_loop_init(&uv);
  uv.data = this;
}

void Loop::Implementation::lend_buffer(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
  std::vector<char>& bytes = static_cast<Implementation*>(handle->loop->data)->buffer;
  *buffer = uv_buf_init(bytes.data(), static_cast<unsigned>(bytes.size()));
}

void Loop::Implementation::reap() {
  const auto waits = [this] {
    return std::any_of(kept.begin(), kept.end(), [](const UvHandle* one) { return one->is_waited_for(); });
  };
  if (!waits()) return;
  bool is_late = false;
  uv_timer_t limit;
  uv_timer_init(&uv, &limit);
  limit.data = &is_late;
  uv_update_time(&uv);
  uv_timer_start(
      &limit, [](uv_timer_t* timer) { *static_cast<bool*>(timer->data) = true; }, reap_milliseconds, 0);
  while (waits() && !is_late) uv_run(&uv, UV_RUN_ONCE);
  bool is_closed = false;
  limit.data = &is_closed;
  uv_close(reinterpret_cast<uv_handle_t*>(&limit),
           [](uv_handle_t* handle) { *static_cast<bool*>(handle->data) = true; });
  while (!is_closed) uv_run(&uv, UV_RUN_NOWAIT);
}

Loop::Implementation::~Implementation() {
  if (status != 0) return;
  // Copies: what is closed leaves the set.
  for (UvHandle* one : std::vector<UvHandle*>(kept.begin(), kept.end())) one->abandon();
  reap();
  for (UvHandle* one : std::vector<UvHandle*>(kept.begin(), kept.end())) one->give_up();
  while (uv_loop_close(&uv) == UV_EBUSY) uv_run(&uv, UV_RUN_NOWAIT);
}

Loop::Loop() : Loop(std::make_unique<Implementation>()) {
  if (implementation_->status != 0)
    throw std::system_error(-implementation_->status, std::generic_category(), "event loop");
}
Loop::Loop(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}

Result<std::unique_ptr<Loop>> Loop::open() {
  auto implementation = std::make_unique<Implementation>();
  if (implementation->status != 0) return fail(ErrorKind::system, "event loop", uv_strerror(implementation->status));
  return std::unique_ptr<Loop>(new Loop(std::move(implementation)));
}

Loop::~Loop() = default;

void Loop::run_until(const std::function<bool()>& done) {
  while (!done()) {
    if (uv_run(&implementation_->uv, UV_RUN_ONCE) != 0) continue;
    // Everything ended at once; `done` may start more.
    if (done() || uv_loop_alive(&implementation_->uv) == 0) return;
  }
}

// Timers -------------------------------------------------------------------------------------------------------

namespace {

class UvTimer final : public UvHandle {
 public:
  UvTimer(Loop::Implementation& loop, std::function<void()> act, bool is_repeated)
      : UvHandle(loop), act_(std::move(act)), is_repeated_(is_repeated) {}

  void start(double seconds) {
    uv_timer_init(&loop().uv, &timer_);
    opened(timer_);
    uv_update_time(&loop().uv);  // else the time since the last event would be missing from the wait
    const std::uint64_t wait = milliseconds(seconds);
    uv_timer_start(&timer_, on_time, wait, is_repeated_ ? std::max<std::uint64_t>(wait, 1) : 0);
  }
  void abandon() override { close(timer_); }

 protected:
  void forget() override { act_ = nullptr; }

 private:
  static void on_time(uv_timer_t* timer) {
    const auto self = of<UvTimer>(timer);
    self->loop().turned();
    if (!self->is_repeated_) close(self->timer_);
    self->act_();
  }

  uv_timer_t timer_{};
  std::function<void()> act_;
  bool is_repeated_;
};

}  // namespace

class Loop::Timer {
 public:
  explicit Timer(std::shared_ptr<UvTimer> kept) : kept_(std::move(kept)) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { kept_->abandon(); }

 private:
  std::shared_ptr<UvTimer> kept_;
};

std::shared_ptr<Loop::Timer> Loop::after(double seconds, std::function<void()> act) {
  auto kept = std::make_shared<UvTimer>(*implementation_, std::move(act), false);
  kept->start(seconds);
  return std::make_shared<Timer>(std::move(kept));
}

std::shared_ptr<Loop::Timer> Loop::every(double seconds, std::function<void()> act) {
  auto kept = std::make_shared<UvTimer>(*implementation_, std::move(act), true);
  kept->start(seconds);
  return std::make_shared<Timer>(std::move(kept));
}

// Signals ------------------------------------------------------------------------------------------------------

namespace {

// libuv leaves the default disposition behind when the last watch of a signal ends; ours gives back what was there
// before the first, for all loops of the process.
class FormerDispositions {
 public:
  void watch_begins(int signal) {
    const std::lock_guard lock(mutex_);
    Former& former = formers_[static_cast<std::size_t>(signal)];
    if (former.watches++ == 0) sigaction(signal, nullptr, &former.action);
  }
  void watch_ends(int signal) {
    const std::lock_guard lock(mutex_);
    Former& former = formers_[static_cast<std::size_t>(signal)];
    if (--former.watches == 0) sigaction(signal, &former.action, nullptr);
  }

 private:
  struct Former {
    int watches = 0;
    struct sigaction action {};
  };
  std::mutex mutex_;
  std::array<Former, 65> formers_;
};

FormerDispositions& former_dispositions() {
  static FormerDispositions dispositions;
  return dispositions;
}

class UvSignal final : public UvHandle {
 public:
  UvSignal(Loop::Implementation& loop, std::function<void(int)> act) : UvHandle(loop), act_(std::move(act)) {}

  void start(int signal) {
    number_ = signal;
    uv_signal_init(&loop().uv, &signal_);
    opened(signal_);
    former_dispositions().watch_begins(signal);
    uv_signal_start(&signal_, on_arrival, signal);
  }
  void abandon() override {
    if (!is_open(signal_)) return;
    uv_signal_stop(&signal_);
    former_dispositions().watch_ends(number_);
    close(signal_);
  }

 protected:
  void forget() override { act_ = nullptr; }

 private:
  static void on_arrival(uv_signal_t* handle, int signal) {
    const auto self = of<UvSignal>(handle);
    self->loop().turned();
    if (is_open(self->signal_)) self->act_(signal);
  }

  uv_signal_t signal_{};
  std::function<void(int)> act_;
  int number_ = 0;
};

}  // namespace

class Loop::SignalWatch {
 public:
  explicit SignalWatch(std::shared_ptr<UvSignal> kept) : kept_(std::move(kept)) {}
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch() { kept_->abandon(); }

 private:
  std::shared_ptr<UvSignal> kept_;
};

std::shared_ptr<Loop::SignalWatch> Loop::on_signal(int signal, std::function<void(int)> act) {
  auto kept = std::make_shared<UvSignal>(*implementation_, std::move(act));
  kept->start(signal);
  return std::make_shared<SignalWatch>(std::move(kept));
}

}  // namespace muster
