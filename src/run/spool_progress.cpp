#include "run/spool_progress.hpp"

#include "base/frame.hpp"
#include "run/messages.hpp"
#include "run/spool_frames.hpp"

namespace muster {

namespace {

constexpr std::size_t most_read = 32u << 20;

}  // namespace

std::optional<SpoolProgress> read_progress(const fs::path& spool_file) {
  const auto text = read_file(spool_file, most_read);
  if (!text) return std::nullopt;
  FrameDecoder decoder;
  decoder.feed(std::as_bytes(std::span(text->data(), text->size())));
  std::optional<SpoolProgress> progress;
  while (const auto frame = decoder.next()) {
    const auto type = static_cast<MessageType>(frame->type);
    if (type == MessageType::plan)
      if (const auto entry = decode_plan(frame->payload))
        progress = SpoolProgress{0, static_cast<int>(entry->plan.cases.size()) * entry->plan.repeat, 0};
    if (type != MessageType::verdict || !progress) continue;
    const auto verdict = decode_verdict(frame->payload);
    if (!verdict) continue;
    ++progress->done;
    if (verdict->repetition.verdict == Verdict::fail) ++progress->failed;
  }
  return progress;
}

}  // namespace muster
