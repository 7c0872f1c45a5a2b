#include "run/sealed_frames.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sodium.h>

namespace muster {

namespace {

constexpr std::size_t name_size = 16;
constexpr std::size_t nonce_size = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t tag_size = crypto_aead_xchacha20poly1305_ietf_ABYTES;
static_assert(nonce_size == name_size + sizeof(std::uint64_t));
static_assert(LaunchKey::size == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

/// libsodium chooses its implementation for this processor once; without it the portable one serves.
void start_sodium() {
  static const int status = sodium_init();
  (void)status;
}

using Nonce = std::array<unsigned char, nonce_size>;

Nonce nonce_of(const std::array<unsigned char, name_size>& name, std::uint64_t count) {
  Nonce nonce{};
  std::copy(name.begin(), name.end(), nonce.begin());
  for (std::size_t i = 0; i < sizeof count; ++i) nonce[name_size + i] = static_cast<unsigned char>(count >> (8 * i));
  return nonce;
}

const unsigned char* as_unsigned(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* as_unsigned(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

}  // namespace

LaunchKey::~LaunchKey() {
  sodium_memzero(bytes_.data(), bytes_.size());
}

LaunchKey LaunchKey::random() {
  start_sodium();
  LaunchKey key;
  randombytes_buf(key.bytes_.data(), key.bytes_.size());
  key.is_set_ = true;
  return key;
}

Result<LaunchKey> LaunchKey::from_hex(std::string_view text) {
  LaunchKey key;
  if (text.empty()) return key;
  std::size_t length = 0;
  const char* end = nullptr;
  const int status =
      sodium_hex2bin(key.bytes_.data(), key.bytes_.size(), text.data(), text.size(), nullptr, &length, &end);
  if (status != 0 || length != size || end != text.data() + text.size())
    return fail(ErrorKind::usage, "", "a launch key has 64 hexadecimal digits");
  key.is_set_ = true;
  return key;
}

Result<LaunchKey> LaunchKey::from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() != size) return fail(ErrorKind::usage, "", "a launch key has 32 bytes");
  LaunchKey key;
  std::memcpy(key.bytes_.data(), bytes.data(), size);
  key.is_set_ = true;
  return key;
}

Result<LaunchKey> LaunchKey::take_from_environment(const char* name) {
  char* const text = std::getenv(name);
  if (text == nullptr) return LaunchKey();
  auto key = from_hex(text);
  sodium_memzero(text, std::strlen(text));
  ::unsetenv(name);
  if (!key) return fail(ErrorKind::usage, name, key.error().what);
  return key;
}

std::string LaunchKey::hex() const {
  std::string text(2 * size + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes_.data(), bytes_.size());
  text.resize(2 * size);
  return text;
}

FrameSealer::FrameSealer(LaunchKey key, FrameSender sender) : key_(key), sender_(sender) {
  start_sodium();
  randombytes_buf(name_.data(), name_.size());
}

std::vector<std::byte> FrameSealer::seal(std::uint8_t type, std::span<const std::byte> payload) {
  if (key_.is_empty()) return encode_frame(type, payload);
  std::vector<std::byte> plain(1, static_cast<std::byte>(type));
  plain.insert(plain.end(), payload.begin(), payload.end());
  const Nonce nonce = nonce_of(name_, count_++);
  std::vector<std::byte> sealed(nonce_size + plain.size() + tag_size);
  std::memcpy(sealed.data(), nonce.data(), nonce_size);
  const auto sender = static_cast<unsigned char>(sender_);
  crypto_aead_xchacha20poly1305_ietf_encrypt(as_unsigned(sealed.data()) + nonce_size, nullptr,
                                             as_unsigned(plain.data()), plain.size(), &sender, 1, nullptr, nonce.data(),
                                             key_.bytes().data());
  return encode_frame(sealed_frame_type, sealed);
}

std::optional<Frame> FrameOpener::open(const Frame& outer) {
  if (key_.is_empty()) return outer.type == sealed_frame_type ? std::nullopt : std::optional(outer);
  if (outer.type != sealed_frame_type || outer.payload.size() <= nonce_size + tag_size) return std::nullopt;
  Nonce nonce{};
  std::memcpy(nonce.data(), outer.payload.data(), nonce_size);
  std::array<unsigned char, name_size> name{};
  std::copy_n(nonce.begin(), name_size, name.begin());
  const auto known = next_.find(name);
  const std::uint64_t expected = known == next_.end() ? 0 : known->second;
  if (nonce != nonce_of(name, expected)) return std::nullopt;

  start_sodium();
  std::vector<std::byte> plain(outer.payload.size() - nonce_size - tag_size);
  const auto sender = static_cast<unsigned char>(sender_);
  const int status = crypto_aead_xchacha20poly1305_ietf_decrypt(
      as_unsigned(plain.data()), nullptr, nullptr, as_unsigned(outer.payload.data()) + nonce_size,
      outer.payload.size() - nonce_size, &sender, 1, nonce.data(), key_.bytes().data());
  if (status != 0) return std::nullopt;
  next_[name] = expected + 1;
  Frame inner{static_cast<std::uint8_t>(plain.front()), {}};
  inner.payload.assign(plain.begin() + 1, plain.end());
  return inner;
}

}  // namespace muster
