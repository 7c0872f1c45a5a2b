#include "device/collective_rank.hpp"

#include <ctime>
#include <fmt/format.h>
#include <sched.h>

#include "base/text.hpp"

namespace muster {

namespace {

constexpr int remote_error = 6;  // ncclRemoteError: a peer went away

}  // namespace

std::string reported_by(const CollectiveTable& table, std::string_view call, int code, void* comm) {
  const char* words = table.words == nullptr ? nullptr : table.words(code);
  std::string text = fmt::format("{} returned {}: {}", call, code, words == nullptr ? "a code without words" : words);
  const char* last = table.last_error == nullptr ? nullptr : table.last_error(comm);
  if (last != nullptr && *last != '\0') text += fmt::format(" ({})", printable_line(last, 200));
  return text;
}

CollectiveRank::CollectiveRank(const Gpus& gpus, int device, std::shared_ptr<const CollectiveTable> table,
                               CallWatch watch, Seconds deadline)
    : gpus_(gpus), device_(device), table_(std::move(table)), watch_(std::move(watch)), deadline_(deadline) {}

CollectiveRank::~CollectiveRank() {
  if (comm_ != nullptr && !is_aborted_) leave();
}

std::string CollectiveRank::label() const {
  return gpus_.devices()[static_cast<std::size_t>(device_)].full_label();
}

Error CollectiveRank::error_of(std::string_view name, int code) const {
  return {code == remote_error ? ErrorKind::protocol : ErrorKind::device, label(),
          reported_by(*table_, name, code, comm_)};
}

Error CollectiveRank::late(std::string_view name) const {
  return {ErrorKind::protocol, label(),
          fmt::format("{} was not done after {} and was given up ({})", name, to_string(ParamScalar(deadline_)),
                      table_->abort.name)};
}

Result<void> CollectiveRank::prepare() {
  auto stream = gpus_.stream(device_);
  if (!stream) return tl::unexpected(stream.error());
  auto tokens = gpus_.allocate(device_, 512);
  if (!tokens) return tl::unexpected(tokens.error());
  stream_ = std::move(*stream);
  tokens_ = std::move(*tokens);
  return {};
}

Result<bool> CollectiveRank::meet(int ranks, const CollectiveId& id, int rank) {
  if (auto current = gpus_.make_current(device_); !current) return tl::unexpected(current.error());
  CollectiveConfig config;
  const int code = call(table_->meet, &comm_, ranks, id, rank, &config);
  if (code != 0 && code != in_progress) return give_up(error_of(table_->meet.name, code));
  return code == 0;
}

Result<bool> CollectiveRank::has_met() {
  return is_through(table_->meet.name);
}

Result<void> CollectiveRank::part() {
  leave();
  return is_aborted_ ? Result<void>(tl::unexpected(aborted_by_)) : Result<void>();
}

Result<void> CollectiveRank::init(int ranks, const CollectiveId& id, int rank) {
  if (auto current = gpus_.make_current(device_); !current) return current;
  const int code = call(table_->init, &comm_, ranks, id, rank);
  if (code == 0) return {};
  if (code == in_progress) return settle(table_->init.name);  // NCCL_COMM_BLOCKING=0
  comm_ = nullptr;
  return tl::unexpected(error_of(table_->init.name, code));
}

Result<void> CollectiveRank::open_group() {
  auto opened = ask(table_->group_start);
  if (opened) ++open_groups_;
  return opened;
}

Result<void> CollectiveRank::close_group() {
  if (open_groups_ > 0) --open_groups_;
  return ask(table_->group_end);
}

Result<bool> CollectiveRank::look() {
  if (is_aborted_) return tl::unexpected(aborted_by_);
  auto done = gpus_.is_done(device_, stream_.get());
  if (!done) return give_up(done.error());
  return done;
}

namespace {

/// Between two looks of one that has waited that long [s]: an operation of 0.2 s or more may end 50 us late.
void leave_core(double waited) {
  constexpr timespec pause{0, 50'000};
  if (waited < 0.2)
    ::sched_yield();
  else
    ::nanosleep(&pause, nullptr);
}

}  // namespace

Result<void> CollectiveRank::finish(std::string_view name) {
  constexpr int turns_between_looks = 64;
  const double begun = monotonic_seconds();
  for (int turn = 1;; ++turn) {
    auto done = look();
    if (!done) return tl::unexpected(done.error());
    if (*done) return {};
    if (turn % turns_between_looks != 0) continue;
    const double waited = monotonic_seconds() - begun;
    leave_core(waited);
    if (auto fine = is_through(name); !fine) return tl::unexpected(fine.error());
    if (waited > deadline_.value) return give_up(late(name));
  }
}

/// Not passed to the watch: a rank that polls is to be found in the operation it waits for.
Result<bool> CollectiveRank::is_through(std::string_view name) {
  if (is_aborted_) return tl::unexpected(aborted_by_);
  int state = 0;
  const int code = table_->async_error.function(comm_, &state);
  if (code != 0) return give_up(error_of(table_->async_error.name, code));
  if (state != 0 && state != in_progress) return give_up(error_of(name, state));
  return state == 0;
}

Result<void> CollectiveRank::settle(std::string_view name) {
  const double begun = monotonic_seconds();
  for (;;) {
    auto through = is_through(name);
    if (!through) return tl::unexpected(through.error());
    if (*through) return {};
    const double waited = monotonic_seconds() - begun;
    leave_core(waited);
    if (waited > deadline_.value) return give_up(late(name));
  }
}

/// In order where the library can: destroying alone would wait for the others without an end.
void CollectiveRank::leave() {
  if (comm_ == nullptr || !gpus_.make_current(device_)) return;
  if (table_->finalize.function != nullptr)
    if (!ask(table_->finalize, comm_) || !settle(table_->finalize.name)) return;
  static_cast<void>(call(table_->destroy, comm_));
  comm_ = nullptr;
}

tl::unexpected<Error> CollectiveRank::give_up(Error error) {
  if (!is_aborted_) {
    is_aborted_ = true;
    aborted_by_ = error;
    // Who gave up must not wait for the others, as ncclCommDestroy does.
    if (comm_ != nullptr) static_cast<void>(call(table_->abort, comm_));
    comm_ = nullptr;
  }
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace muster
