#include "base/frame.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

namespace muster {

namespace {

constexpr std::array<unsigned char, 4> magic{0xff, 'M', 'U', '1'};

/// Table of the reflected polynomial 0xEDB88320 (IEEE 802.3).
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t n = 0; n < 256; ++n) {
    auto c = n;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1u) != 0 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    table[n] = c;
  }
  return table;
}
constexpr auto table = make_table();

void put_u32(std::vector<std::byte>& out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

std::uint32_t get_u32(const std::byte* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(at[i]) << (8 * i);
  return value;
}

std::uint32_t crc_state(std::uint32_t state, std::span<const std::byte> bytes) {
  for (const auto byte : bytes) state = table[(state ^ std::to_integer<std::uint32_t>(byte)) & 0xffu] ^ (state >> 8);
  return state;
}

std::uint32_t state_of(std::uint8_t type) {
  const std::array head{static_cast<std::byte>(type)};
  return crc_state(~0u, head);
}

/// Product of two polynomials over GF(2) modulo the CRC's; the highest bit is x^0, as in the reflected CRC.
constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result = 0;
  for (std::uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) result ^= b;
    b = (b & 1u) != 0 ? 0xedb88320u ^ (b >> 1) : b >> 1;
  }
  return result;
}

/// [k] = x^(8 * 2^k): what 2^k zero bytes do to a state.
constexpr std::array<std::uint32_t, 32> make_shifts() {
  std::array<std::uint32_t, 32> shifts{0x00800000u};
  for (std::size_t k = 1; k < shifts.size(); ++k) shifts[k] = product(shifts[k - 1], shifts[k - 1]);
  return shifts;
}
constexpr auto shifts = make_shifts();

/// The state after `count` zero bytes.
std::uint32_t after_zeros(std::uint32_t state, std::size_t count) {
  for (std::size_t k = 0; count != 0; ++k, count >>= 1)
    if ((count & 1) != 0) state = product(shifts[k], state);
  return state;
}

constexpr std::size_t state_stride = 256;

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t seed) {
  return ~crc_state(~seed, bytes);
}

std::vector<std::byte> encode_frame(std::uint8_t type, std::span<const std::byte> payload) {
  assert(payload.size() <= largest_payload);
  std::vector<std::byte> out;
  out.reserve(frame_head_size + payload.size());
  for (const auto c : magic) out.push_back(static_cast<std::byte>(c));
  out.push_back(static_cast<std::byte>(type));
  out.resize(8);
  put_u32(out, static_cast<std::uint32_t>(payload.size()));
  put_u32(out, ~crc_state(state_of(type), payload));
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

void FrameDecoder::feed(std::span<const std::byte> bytes) {
  // What was taken is dropped only when it outweighs what is left: linear over the whole stream.
  if (at_ > 65536 && at_ > buffer_.size() / 2) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
    states_.clear();
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void FrameDecoder::skip(std::size_t count) {
  noise_.append(reinterpret_cast<const char*>(buffer_.data()) + at_, count);
  at_ += count;
}

std::uint32_t FrameDecoder::state_at(std::size_t at) {
  const std::span all(buffer_);
  if (states_.empty()) states_.push_back(0);
  while (states_.size() <= at / state_stride)
    states_.push_back(crc_state(states_.back(), all.subspan((states_.size() - 1) * state_stride, state_stride)));
  const auto start = at / state_stride * state_stride;
  return crc_state(states_[at / state_stride], all.subspan(start, at - start));
}

/// The check value of a frame whose payload is buffer_[from, to). LaunchOutcome, or malice, may leave a head every 16
/// bytes that claims all the rest, so a long payload is not read for each: the CRC is linear, and that of a part
/// follows from those of the whole up to its start and up to its end.
std::uint32_t FrameDecoder::check_of(std::uint8_t type, std::size_t from, std::size_t to) {
  if (to - from <= 2 * state_stride) return ~crc_state(state_of(type), std::span(buffer_).subspan(from, to - from));
  return ~(state_at(to) ^ after_zeros(state_at(from) ^ state_of(type), to - from));
}

std::optional<Frame> FrameDecoder::next() {
  while (at_ < buffer_.size()) {
    const auto* data = buffer_.data() + at_;
    const auto left = buffer_.size() - at_;
    if (const auto* found = static_cast<const std::byte*>(std::memchr(data, magic[0], left)); found != data) {
      skip(found == nullptr ? left : static_cast<std::size_t>(found - data));
      continue;
    }
    if (std::memcmp(data, magic.data(), std::min<std::size_t>(left, 4)) != 0) {
      skip(1);
      continue;
    }
    if (left < frame_head_size) return std::nullopt;
    const auto size = get_u32(data + 8);
    const bool is_head = data[5] == std::byte{0} && data[6] == std::byte{0} && data[7] == std::byte{0};
    if (!is_head || size > largest_payload) {
      skip(1);
      continue;
    }
    if (left < frame_head_size + size) return std::nullopt;
    const auto type = std::to_integer<std::uint8_t>(data[4]);
    const auto from = at_ + frame_head_size;
    if (get_u32(data + 12) != check_of(type, from, from + size)) {
      skip(1);
      continue;
    }
    at_ = from + size;
    return Frame{type, {data + frame_head_size, data + frame_head_size + size}};
  }
  return std::nullopt;
}

std::string FrameDecoder::take_noise() {
  return std::exchange(noise_, {});
}

void FrameDecoder::finish() {
  skip(buffer_.size() - at_);
  buffer_.clear();
  states_.clear();
  at_ = 0;
}

}  // namespace muster
