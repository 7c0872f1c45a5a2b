/// One rank's end of a communicator of NCCL or RCCL, and the stream on which all of it happens. Nothing here is
/// collective by itself, but most of it needs the other ranks to do the same.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "device/collective_table.hpp"

namespace muster {

class CollectiveRank {
 public:
  CollectiveRank(const Gpus& gpus, int device, std::shared_ptr<const CollectiveTable> table, CallWatch watch,
                 Seconds deadline);
  CollectiveRank(const CollectiveRank&) = delete;
  CollectiveRank& operator=(const CollectiveRank&) = delete;
  ~CollectiveRank();

  [[nodiscard]] const CollectiveTable& table() const { return *table_; }
  [[nodiscard]] void* comm() const { return comm_; }
  [[nodiscard]] void* stream() const { return stream_.get(); }
  [[nodiscard]] const CallWatch& watch() const { return watch_; }
  [[nodiscard]] Seconds deadline() const { return deadline_; }
  /// `GPU 0000:c1:00.0 (GPU-...)`
  [[nodiscard]] std::string label() const;
  /// One byte for each direction, for messages that only signal completion.
  [[nodiscard]] std::byte* token(int which) const { return static_cast<std::byte*>(tokens_.get()) + which * 256; }

  [[nodiscard]] Result<void> prepare();

  /// Begins a communicator whose making can be watched and given up. True: it is there; false: it goes on, see has_met.
  [[nodiscard]] Result<bool> meet(int ranks, const CollectiveId& id, int rank);
  [[nodiscard]] Result<bool> has_met();
  /// Gives that communicator back; all ranks must have met.
  [[nodiscard]] Result<void> part();
  /// Makes the communicator that works. Returns when all ranks have come, and not before.
  [[nodiscard]] Result<void> init(int ranks, const CollectiveId& id, int rank);

  /// Past the watch; an error aborts. What the library goes on with by itself is waited for, unless a group is open.
  template <class Call, class... Args>
  [[nodiscard]] Result<void> ask(const Call& what, Args... args) {
    if (is_aborted_) return tl::unexpected(aborted_by_);
    if (auto current = gpus_.make_current(device_); !current) return current;
    const int code = call(what, args...);
    if (code != 0 && code != in_progress) return give_up(error_of(what.name, code));
    return code == in_progress && open_groups_ == 0 ? settle(what.name) : Result<void>();
  }
  [[nodiscard]] Result<void> open_group();
  [[nodiscard]] Result<void> close_group();

  /// True when all that is on the stream is done.
  [[nodiscard]] Result<bool> look();
  /// Waits for all that is on the stream; `name` is what is waited for.
  [[nodiscard]] Result<void> finish(std::string_view name);
  /// Gives up: this and all later calls fail with `error`, and no rank waits for the others.
  tl::unexpected<Error> give_up(Error error);

 private:
  static constexpr int in_progress = 7;  // no error: a call that does not block goes on

  template <class Call, class... Args>
  int call(const Call& what, Args... args) const {
    return watch_(what.name, what.function, args...);
  }
  /// Asks the library what became of its own work: true when it is through.
  [[nodiscard]] Result<bool> is_through(std::string_view name);
  [[nodiscard]] Result<void> settle(std::string_view name);
  void leave();
  [[nodiscard]] Error error_of(std::string_view name, int code) const;
  [[nodiscard]] Error late(std::string_view name) const;

  const Gpus& gpus_;
  int device_;
  std::shared_ptr<const CollectiveTable> table_;
  CallWatch watch_;
  Seconds deadline_;
  void* comm_ = nullptr;
  int open_groups_ = 0;
  bool is_aborted_ = false;
  Error aborted_by_;
  GpuHandle stream_;
  GpuHandle tokens_;
};

/// The library's text for a code: `ncclAllReduce returned 1: unhandled cuda error (...)`. `comm` may be nullptr.
[[nodiscard]] std::string reported_by(const CollectiveTable& table, std::string_view call, int code, void* comm);

}  // namespace muster
