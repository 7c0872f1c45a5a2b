/// Frames between driver and agent, encrypted and authenticated with the key of their launch: XChaCha20-Poly1305 of
/// libsodium (crypto_aead_xchacha20poly1305_ietf).
///
/// The payload of a sealed frame is 16 random bytes that name the sender, a counter (u64, little endian, from 0), and
/// the ciphertext of the inner frame's type (u8) and payload. The direction is authenticated with them. A receiver
/// takes the frames of each sender in order and each once, so none can be altered, replayed, reordered or reflected.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/frame.hpp"
#include "muster/result.hpp"

namespace muster {

/// Type of the outer frame; not one of MessageType.
inline constexpr std::uint8_t sealed_frame_type = 0x53;

/// 32 random bytes, wiped when they are destroyed. An empty key (an agent that was started by hand) seals nothing:
/// frames travel as they are.
class LaunchKey {
 public:
  static constexpr std::size_t size = 32;
  using Bytes = std::array<unsigned char, size>;

  LaunchKey() = default;
  LaunchKey(const LaunchKey&) = default;
  LaunchKey& operator=(const LaunchKey&) = default;
  ~LaunchKey();
  [[nodiscard]] static LaunchKey random();
  /// 64 hexadecimal digits; empty text gives an empty key. Fails with kind `usage`.
  [[nodiscard]] static Result<LaunchKey> from_hex(std::string_view text);
  /// Fails with kind `usage` where these are not 32 bytes.
  [[nodiscard]] static Result<LaunchKey> from_bytes(std::span<const std::byte> bytes);
  /// Takes the key out of the environment: it is overwritten where the kernel shows it (/proc/PID/environ) and unset.
  /// Call it before any thread or child starts.
  [[nodiscard]] static Result<LaunchKey> take_from_environment(const char* name);

  [[nodiscard]] bool is_empty() const { return !is_set_; }
  [[nodiscard]] std::string hex() const;
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_{};
  bool is_set_ = false;
};

enum class FrameSender : unsigned char { driver = 'D', agent = 'A' };

class FrameSealer {
 public:
  FrameSealer(LaunchKey key, FrameSender sender);
  /// The bytes of one frame, ready to be sent.
  [[nodiscard]] std::vector<std::byte> seal(std::uint8_t type, std::span<const std::byte> payload);

 private:
  LaunchKey key_;
  FrameSender sender_;
  std::array<unsigned char, 16> name_{};
  std::uint64_t count_ = 0;
};

class FrameOpener {
 public:
  /// For frames that `sender` sealed.
  FrameOpener(LaunchKey key, FrameSender sender) : key_(key), sender_(sender) {}
  /// The inner frame; nothing where the frame was not sealed with this key by this kind of sender, or out of order.
  [[nodiscard]] std::optional<Frame> open(const Frame& outer);

 private:
  LaunchKey key_;
  FrameSender sender_;
  std::map<std::array<unsigned char, 16>, std::uint64_t> next_;  ///< counter expected from each sender
};

}  // namespace muster
