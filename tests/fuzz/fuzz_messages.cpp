// The payloads of the wire: the first byte chooses the message, as the frame's type does.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "run/messages.hpp"

namespace {

using namespace muster;

/// What was decoded once must come back the same when it is sent on.
void job(std::span<const std::byte> payload) {
  const auto message = decode_job(payload);
  if (!message) return;
  const auto again = decode_job(encode(*message));
  if (!again || again->items.size() != message->items.size()) std::abort();
}

void world(std::span<const std::byte> payload) {
  const auto message = decode_world(payload);
  if (message && !decode_world(encode(*message))) std::abort();
}

void case_end(std::span<const std::byte> payload) {
  const auto message = decode_case_end(payload);
  if (!message) return;
  const auto again = decode_case_end(encode_case_end(message->item, message->seconds));
  if (!again || again->item != message->item || again->seconds != message->seconds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto payload = std::as_bytes(std::span(data + 1, size - 1));
  switch (static_cast<MessageType>(data[0])) {
    case MessageType::job:
      job(payload);
      break;
    case MessageType::hello:
      (void)decode_hello(payload);
      break;
    case MessageType::world:
      world(payload);
      break;
    case MessageType::case_begin:
      (void)decode_case_begin(payload);
      break;
    case MessageType::case_part:
      (void)decode_case_part(payload);
      break;
    case MessageType::case_end:
      case_end(payload);
      break;
    default:
      break;
  }
  return 0;
}
