/// What loop.cpp, process.cpp and listener.cpp share about libuv. Not included elsewhere.
#pragma once

#include <memory>
#include <unordered_set>
#include <uv.h>
#include <vector>

#include "base/loop.hpp"

namespace muster {

/// Something of ours that libuv knows by one or more handles. It lives until libuv has let go of the last of them,
/// so that its owner may drop it at any time, also from the callback that is just running.
class UvHandle : public std::enable_shared_from_this<UvHandle> {
 public:
  explicit UvHandle(Loop::Implementation& loop) : loop_(&loop) {}
  UvHandle(const UvHandle&) = delete;
  UvHandle& operator=(const UvHandle&) = delete;
  virtual ~UvHandle() = default;

  /// Its owner is gone, or the loop ends: no callback of the owner runs from now on. Safe to call again, also after
  /// the loop's end.
  virtual void abandon() = 0;
  /// True while abandoning it is not finished: a killed child that is still to be reaped.
  [[nodiscard]] virtual bool is_waited_for() const { return false; }
  /// Closes what abandon() kept open.
  virtual void give_up() {}

  /// Who a callback of libuv is about.
  template <class Mine, class Handle>
  [[nodiscard]] static std::shared_ptr<Mine> of(const Handle* handle) {
    return std::static_pointer_cast<Mine>(static_cast<UvHandle*>(handle->data)->shared_from_this());
  }

 protected:
  /// To be called once for each handle, right after uv_..._init.
  template <class Handle>
  void opened(Handle& handle) {
    handle.data = static_cast<UvHandle*>(this);
    keep();
  }
  /// Nothing happens when it was never opened or is closed.
  template <class Handle>
  static void close(Handle& handle) {
    auto* plain = reinterpret_cast<uv_handle_t*>(&handle);
    if (handle.data != nullptr && uv_is_closing(plain) == 0) uv_close(plain, on_closed);
  }
  template <class Handle>
  [[nodiscard]] static bool is_open(const Handle& handle) {
    return handle.data != nullptr && uv_is_closing(reinterpret_cast<const uv_handle_t*>(&handle)) == 0;
  }
  [[nodiscard]] Loop::Implementation& loop() const { return *loop_; }
  /// The last handle is closed and no callback runs: the place to drop the owner's functions, which may own us.
  virtual void forget() = 0;

 private:
  void keep();
  static void on_closed(uv_handle_t* handle);

  Loop::Implementation* loop_;
  std::shared_ptr<UvHandle> self_;
  int handles_ = 0;
};

struct Loop::Implementation {
  Implementation();
  ~Implementation();
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  /// A callback of an owner has run: run_until asks `done` before it blocks again. (Without it libuv would go on
  /// to wait for input after a timer that fired at the start of its turn.)
  void turned() { uv_stop(&uv); }
  /// One buffer for all streams: libuv fills it and hands it out within one call.
  static void lend_buffer(uv_handle_t* handle, std::size_t, uv_buf_t* buffer);

  uv_loop_t uv{};
  int status = 0;  ///< of libuv's start; nothing works, and nothing is there to be closed, when it is not 0
  std::vector<char> buffer = std::vector<char>(64u << 10);
  std::unordered_set<UvHandle*> kept;

 private:
  void reap();
};

}  // namespace muster
