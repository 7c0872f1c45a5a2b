/// Frames: how records travel on the wire and lie in the spool.
///
/// 16 bytes of head, then the payload: magic "\xffMU1", type (u8), 3 bytes zero, payload length (u32, little
/// endian), CRC-32 (IEEE 802.3) of type and payload (u32, little endian).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster {

struct Frame {
  std::uint8_t type = 0;
  std::vector<std::byte> payload;
  friend bool operator==(const Frame&, const Frame&) = default;
};

inline constexpr std::size_t frame_head_size = 16;
inline constexpr std::size_t largest_payload = 256u << 20;

[[nodiscard]] std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t seed = 0);
[[nodiscard]] std::vector<std::byte> encode_frame(std::uint8_t type, std::span<const std::byte> payload);

/// Takes bytes as they come and gives back whole frames. Bytes that belong to no frame (another program's output
/// in the same stream, damage) are collected as `noise` and skipped; decoding goes on at the next good frame.
/// Time grows with the bytes fed, whatever they are (n log n at worst).
class FrameDecoder {
 public:
  void feed(std::span<const std::byte> bytes);
  /// The next complete frame, or nothing until more bytes come.
  [[nodiscard]] std::optional<Frame> next();
  /// What was skipped since the last call.
  [[nodiscard]] std::string take_noise();
  /// The stream has ended: everything left over is noise.
  void finish();

 private:
  void skip(std::size_t count);
  [[nodiscard]] std::uint32_t check_of(std::uint8_t type, std::size_t from, std::size_t to);
  [[nodiscard]] std::uint32_t state_at(std::size_t at);

  std::vector<std::byte> buffer_;
  std::size_t at_ = 0;
  std::string noise_;
  std::vector<std::uint32_t> states_;  ///< of the CRC over the buffer from its start, at every so many bytes
};

}  // namespace muster
