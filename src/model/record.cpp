/// The binary form of an observation: version byte, then fields in order. Integers are LEB128 (signed ones zigzag),
/// text and lists have their count in front, doubles are 8 bytes, little endian.
#include "model/record.hpp"

#include <bit>
#include <string>

namespace muster {

namespace {

constexpr std::uint8_t version = 1;

// The fewest bytes that one of these can be, so that a count is checked before anything is allocated for it.
constexpr std::size_t smallest_pair = 2;
constexpr std::size_t smallest_reading = 1 + 1 + 1 + 5 * 8 + 1 + 1;  // metric, where, n, five values, peer, unit

class Encoder {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void count(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  void integer(std::int64_t value) {
    count((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void real(double value) {
    auto bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i, bits >>= 8) byte(static_cast<std::uint8_t>(bits));
  }
  void text(const std::string& value) {
    count(value.size());
    const auto* from = reinterpret_cast<const std::byte*>(value.data());
    bytes_.insert(bytes_.end(), from, from + value.size());
  }
  void reserve(std::size_t size) { bytes_.reserve(size); }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// After the first error everything reads as zero, and `good` is false at the end.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  std::uint8_t byte() {
    if (at_ == end_) return bad(), std::uint8_t{0};
    return static_cast<std::uint8_t>(*at_++);
  }
  std::uint64_t count() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto next = byte();
      if (shift == 63 && next > 1) break;
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
    return bad(), std::uint64_t{0};
  }
  /// Of things that take at least `smallest` bytes each.
  std::size_t count_of(std::size_t smallest) {
    const auto value = count();
    if (value > left() / smallest) return bad(), std::size_t{0};
    return static_cast<std::size_t>(value);
  }
  std::int64_t integer() {
    const auto value = count();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  int small_integer() {
    const auto value = integer();
    if (value != static_cast<int>(value)) bad();
    return static_cast<int>(value);
  }
  double real() {
    if (left() < 8) return bad(), 0.0;
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= static_cast<std::uint64_t>(at_[i]) << (8 * i);
    at_ += 8;
    return std::bit_cast<double>(bits);
  }
  void text(std::string& value) {
    const auto size = count_of(1);
    value.assign(reinterpret_cast<const char*>(at_), size);
    at_ += size;
  }
  void bad() {
    good_ = false;
    at_ = end_;
  }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] bool is_good() const { return good_; }

 private:
  const std::byte* at_;
  const std::byte* end_;
  bool good_ = true;
};

void put(Encoder& out, const Reading& reading) {
  out.text(reading.metric);
  out.count(reading.where.size());
  for (const auto& [key, value] : reading.where) {
    out.text(key);
    out.text(value);
  }
  out.integer(reading.summary.n);
  for (const double value :
       {reading.summary.min, reading.summary.median, reading.summary.p95, reading.summary.max, reading.summary.mad})
    out.real(value);
  out.integer(reading.peer);
  out.text(reading.unit);
}

void get(Decoder& in, Reading& reading) {
  in.text(reading.metric);
  reading.where.resize(in.count_of(smallest_pair));
  for (auto& [key, value] : reading.where) {
    in.text(key);
    in.text(value);
  }
  reading.summary.n = in.integer();
  for (double* value : {&reading.summary.min, &reading.summary.median, &reading.summary.p95, &reading.summary.max,
                        &reading.summary.mad})
    *value = in.real();
  reading.peer = in.small_integer();
  in.text(reading.unit);
}

std::size_t likely_size(const Observation& observation) {
  return 64 + observation.readings.size() * 96 + observation.facts.size() * 32 + observation.output.size() +
         observation.error.size();
}

}  // namespace

std::vector<std::byte> encode(const Observation& observation) {
  Encoder out;
  out.reserve(likely_size(observation));
  out.byte(version);
  out.integer(observation.rank);
  out.byte(static_cast<std::uint8_t>(observation.state));
  out.text(observation.error);
  out.count(observation.readings.size());
  for (const auto& reading : observation.readings) put(out, reading);
  out.count(observation.facts.size());
  for (const auto& fact : observation.facts) {
    out.text(fact.key);
    out.text(fact.value);
  }
  out.text(observation.output);
  out.real(observation.seconds);
  return out.take();
}

Result<Observation> decode_observation(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  if (in.byte() != version) return fail(ErrorKind::protocol, "observation", "is of another version or damaged");
  Observation observation;
  observation.rank = in.small_integer();
  const auto state = in.byte();
  if (state > static_cast<std::uint8_t>(ObservationState::unable)) in.bad();
  observation.state = static_cast<ObservationState>(state);
  in.text(observation.error);
  observation.readings.resize(in.count_of(smallest_reading));
  for (auto& reading : observation.readings) get(in, reading);
  observation.facts.resize(in.count_of(smallest_pair));
  for (auto& fact : observation.facts) {
    in.text(fact.key);
    in.text(fact.value);
  }
  in.text(observation.output);
  observation.seconds = in.real();
  if (!in.is_good()) return fail(ErrorKind::protocol, "observation", "ends too early or is damaged");
  if (in.left() != 0)
    return fail(ErrorKind::protocol, "observation", std::to_string(in.left()) + " bytes follow its end");
  return observation;
}

}  // namespace muster
