// How ranks come to a communicator together, and who is at fault when they do not.
#include "device/collectives.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <thread>

#include "base/text.hpp"
#include "device/collective_capture.hpp"
#include "device/collective_comm.hpp"
#include "device/collective_rank.hpp"

namespace muster {

namespace {

/// How far a rank is with what all do together.
enum class Part : std::uint8_t { through, going_on, late, failed, lost_a_peer };

Part part_of(const Result<bool>& mine) {
  if (mine) return *mine ? Part::through : Part::going_on;
  return mine.error().kind == ErrorKind::protocol ? Part::lost_a_peer : Part::failed;
}

/// One rank's, with its error and its GPU.
struct RankReport {
  Part part = Part::through;
  std::string words;
};

Result<std::vector<RankReport>> exchange(Comm& base, Part part, std::string_view words) {
  std::string mine(1, static_cast<char>(part));
  mine += words.substr(0, 400);
  auto all = base.all_gather(std::as_bytes(std::span(mine)));
  if (!all) return tl::unexpected(all.error());
  std::vector<RankReport> reported;
  for (const ByteVector& bytes : *all) {
    if (bytes.empty()) return fail(ErrorKind::protocol, "all_gather", "a rank sent nothing");
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    reported.push_back({static_cast<Part>(text[0]), printable_line(text.substr(1), 400)});
  }
  return reported;
}

int first_with(const std::vector<RankReport>& all, Part part) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const RankReport& one) { return one.part == part; });
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

/// Who has an error of its own keeps it; the others lost those who have one, or all of them waited in vain.
Error blame(const std::vector<RankReport>& all, const Result<bool>& mine, std::string_view what) {
  if (!mine && mine.error().kind != ErrorKind::protocol) return mine.error();
  const int culprit = first_with(all, Part::failed);
  if (culprit >= 0)
    return {ErrorKind::protocol, "",
            fmt::format("{} failed on rank {}: {}", what, culprit, all[static_cast<std::size_t>(culprit)].words)};
  // All ranks report the same.
  if (!mine) return {ErrorKind::device, mine.error().where, mine.error().what};
  const int lost = first_with(all, Part::lost_a_peer);
  return {ErrorKind::protocol, "",
          lost < 0 ? fmt::format("{} did not end in time", what)
                   : fmt::format("{}: rank {} lost a peer: {}", what, lost, all[static_cast<std::size_t>(lost)].words)};
}

std::string error_words(const Result<bool>& mine) {
  return mine ? std::string() : to_string(mine.error());
}

/// Fails on all ranks when it fails on one.
Result<void> together(Comm& base, const Result<void>& mine, std::string_view what) {
  const Result<bool> state = mine ? Result<bool>(true) : Result<bool>(tl::unexpected(mine.error()));
  auto all = exchange(base, part_of(state), error_words(state));
  if (!all) return tl::unexpected(all.error());
  if (std::all_of(all->begin(), all->end(), [](const RankReport& one) { return one.part == Part::through; })) return {};
  return tl::unexpected(blame(*all, state, what));
}

/// The id that rank 0 made. Where it could not, the others report that they wait for it.
Result<CollectiveId> share_id(Comm& base, const CollectiveRank& rank) {
  CollectiveId id;
  const CollectiveTable& table = rank.table();
  Result<void> made;
  if (base.rank() == 0) {
    const int code = rank.watch()(table.new_id.name, table.new_id.function, &id);
    if (code != 0) made = fail(ErrorKind::device, rank.label(), reported_by(table, table.new_id.name, code, nullptr));
  }
  if (auto all = together(base, made, table.new_id.name); !all) return tl::unexpected(all.error());
  auto got = base.broadcast(std::as_bytes(std::span(id.bytes)), 0);
  if (!got) return tl::unexpected(got.error());
  if (got->size() != sizeof id.bytes) return fail(ErrorKind::protocol, "broadcast", "an id of another length");
  std::memcpy(id.bytes, got->data(), sizeof id.bytes);
  return id;
}

/// Polls for a while; longer the longer it lasts already.
void wait_a_while(CollectiveRank& rank, Result<bool>& mine, double waited_s) {
  const double until = monotonic_seconds() + std::clamp(waited_s, 0.01, 0.2);
  while (mine && !*mine && monotonic_seconds() < until) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    mine = rank.has_met();
  }
}

/// A communicator only to see that all come and can reach each other: it is made without blocking, so that ranks
/// exchange each other meanwhile how far they are, and all give up when one fails or time is up. It is not the one that
/// works: since 2.24 or so NCCL starts a thread for each operation on such a one, which would be measured.
Result<void> meet(Comm& base, CollectiveRank& rank) {
  auto id = share_id(base, rank);
  if (!id) return tl::unexpected(id.error());
  const std::string_view what = rank.table().meet.name;
  const double begun = monotonic_seconds();
  Result<bool> mine = rank.meet(base.size(), *id, base.rank());
  for (;;) {
    const double waited = monotonic_seconds() - begun;
    wait_a_while(rank, mine, waited);
    const bool is_late = mine && !*mine && waited > rank.deadline().value;
    auto all = exchange(base, is_late ? Part::late : part_of(mine), is_late ? rank.label() : error_words(mine));
    if (!all) return tl::unexpected(all.error());
    const auto has = [&](Part part) { return first_with(*all, part) >= 0; };
    if (has(Part::failed) || has(Part::lost_a_peer)) {
      const Error error = blame(*all, mine, what);
      static_cast<void>(rank.give_up(error));
      return tl::unexpected(error);
    }
    if (has(Part::late)) {
      const auto late =
          std::count_if(all->begin(), all->end(), [](const RankReport& one) { return one.part != Part::through; });
      const Error error{
          mine && *mine ? ErrorKind::protocol : ErrorKind::device, rank.label(),
          fmt::format("{} was not done after {} on {} of {} ranks and was given up ({})", what,
                      to_string(ParamScalar(rank.deadline())), late, base.size(), rank.table().abort.name)};
      static_cast<void>(rank.give_up(error));
      return tl::unexpected(error);
    }
    if (!has(Part::going_on)) break;
  }
  return together(base, rank.part(), rank.table().finalize.name);
}

}  // namespace

Result<std::unique_ptr<DeviceComm>> make_device_comm(Comm& base, const Gpus& gpus, int device,
                                                     const CollectiveLibrary& library, CallWatch watch,
                                                     Seconds deadline) {
  const CollectiveAsked asked;  // its logging, from its first call on
  Result<void> mine;
  if (library.table == nullptr) mine = fail(ErrorKind::device, library.report.name, "it is not there");
  std::shared_ptr<CollectiveRank> rank;
  if (mine) {
    rank = std::make_shared<CollectiveRank>(gpus, device, library.table, std::move(watch), deadline);
    mine = rank->prepare();
  }
  if (auto all = together(base, mine, "making a stream"); !all) return tl::unexpected(all.error());
  const CollectiveTable& table = *library.table;
  // Of one library on all nodes; where they differ, the oldest decides.
  auto can_meet = base.all_true(table.meet.function != nullptr && table.finalize.function != nullptr);
  if (!can_meet) return tl::unexpected(can_meet.error());
  if (*can_meet)
    if (auto met = meet(base, *rank); !met) return tl::unexpected(met.error());
  auto id = share_id(base, *rank);
  if (!id) return tl::unexpected(id.error());
  const CollectiveCapture capture = CollectiveCapture::from_here();
  auto made = together(base, rank->init(base.size(), *id, base.rank()), table.init.name);
  if (!made) return tl::unexpected(made.error());
  return comm_over(base, std::move(rank), capture);
}

}  // namespace muster
