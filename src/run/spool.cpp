#include "run/spool.hpp"

#include <algorithm>

#include "base/frame.hpp"
#include "run/messages.hpp"
#include "run/spool_frames.hpp"

namespace muster {

namespace {

constexpr std::size_t first_reserve = 1u << 20;
constexpr std::size_t least_kept = 256u << 10;

std::uint8_t number(MessageType type) {
  return static_cast<std::uint8_t>(type);
}

}  // namespace

Spool::Spool(AppendFile file) : file_(std::move(file)), reserved_(first_reserve), kept_(least_kept) {}

Result<Spool> Spool::create(const fs::path& file) {
  auto opened = AppendFile::create(file, first_reserve);
  if (!opened) return tl::unexpected(opened.error());
  return Spool(std::move(*opened));
}

/// Sees to it that `bytes` can be appended and the reserve for verdicts is still there behind them.
Result<void> Spool::make_room(std::size_t bytes) {
  const auto needed = size_ + bytes + kept_;
  if (needed <= reserved_) return {};
  // Generously where there is space, so that not every record costs a call.
  if (auto reserved = file_.reserve(needed + first_reserve - size_)) {
    reserved_ = needed + first_reserve;
    return {};
  }
  auto exact = file_.reserve(needed - size_);
  if (exact) reserved_ = needed;
  return exact;
}

Result<void> Spool::append_bulk(std::uint8_t type, std::span<const std::byte> payload) {
  if (degraded_) return {};
  Result<void> written;
  if (payload.size() > largest_payload) {
    written = fail(ErrorKind::system, "spool", "a record is too large for a frame");
  } else {
    const auto frame = encode_frame(type, payload);
    written = make_room(frame.size());
    if (written) written = file_.append(frame);
    if (written) size_ += frame.size();
  }
  degraded_ = !written.has_value();
  return written;
}

Result<void> Spool::plan(const Plan& plan, const RunReport& header) {
  const auto verdicts = plan.cases.size() * static_cast<std::size_t>(std::max(1, plan.repeat));
  kept_ = std::max(least_kept, verdicts * largest_verdict_frame);
  return append_bulk(number(MessageType::plan), encode_plan(plan, header));
}

Result<void> Spool::world(int launch, const World& world) {
  if (degraded_) return {};
  return append_bulk(number(MessageType::world), encode_spool_world(launch, world));
}

Result<void> Spool::record(const CaseRecord& record) {
  if (degraded_) return {};
  for (const auto& payload : encode_record(record))
    if (auto written = append_bulk(number(MessageType::record), payload); !written) return written;
  return {};
}

Result<void> Spool::verdict(const std::string& case_id, const Repetition& repetition) {
  const auto frame = encode_frame(number(MessageType::verdict), encode_verdict(case_id, repetition));
  auto written = file_.append(frame);
  if (!written) return written;
  size_ += frame.size();
  // What is planned to come needs less from now on; the least stays, for what was not planned.
  kept_ = std::max(least_kept, kept_ - std::min(kept_, frame.size()));
  return written;
}

}  // namespace muster
