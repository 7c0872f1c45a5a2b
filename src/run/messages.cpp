#include "run/messages.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text.hpp"
#include "model/json.hpp"

namespace muster {

namespace {

using nlohmann::json;
using Bytes8 = std::vector<std::byte>;

tl::unexpected<Error> broken(const char* message, const std::string& what) {
  return fail(ErrorKind::protocol, message, what);
}

// CBOR ---------------------------------------------------------------------------------------------------------

Bytes8 to_bytes(const json& value) {
  const std::vector<std::uint8_t> cbor = json::to_cbor(value);
  Bytes8 bytes(cbor.size());
  if (!cbor.empty()) std::memcpy(bytes.data(), cbor.data(), cbor.size());
  return bytes;
}

// nlohmann's reader of CBOR recurses for every level of nesting: a few thousand bytes of damage could use up the
// stack. Our messages are flat, so a callback-free limit on depth is checked before.
constexpr int most_depth = 32;

class DepthCheck final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= most_depth; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t) override { return ++depth_ <= most_depth; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  int depth_ = 0;
};

Result<json> from_bytes(const char* message, std::span<const std::byte> payload) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(payload.data());
  const auto* last = first + payload.size();
  DepthCheck check;
  if (!json::sax_parse(first, last, &check, json::input_format_t::cbor))
    return broken(message, "its CBOR is damaged or nested too deeply");
  json value = json::from_cbor(first, last, true, false);
  if (value.is_discarded()) return broken(message, "its CBOR is damaged");
  return value;
}

// Runs `read` on the payload's JSON; what nlohmann throws for missing keys and wrong types becomes an error.
template <class Read>
auto decode(const char* message, std::span<const std::byte> payload, Read read) -> decltype(read(json())) {
  const auto value = from_bytes(message, payload);
  if (!value) return tl::unexpected(value.error());
  try {
    return read(*value);
  } catch (const std::exception& problem) {
    return broken(message, printable_line(problem.what()));
  }
}

int whole_number(const json& value, const char* name) {
  if (!value.is_number_integer()) throw std::invalid_argument(std::string(name) + " is not a whole number");
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
  const bool is_negative = !value.is_number_unsigned() && value.get<std::int64_t>() < 0;
  if (is_negative || value.get<std::uint64_t>() > most)
    throw std::invalid_argument(std::string(name) + " is out of range");
  return value.get<int>();
}

// By hand --------------------------------------------------------------------------------------------------------

void put_u32(Bytes8& bytes, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::byte>(number >> shift & 0xff));
}

void put_u64(Bytes8& bytes, std::uint64_t number) {
  put_u32(bytes, static_cast<std::uint32_t>(number));
  put_u32(bytes, static_cast<std::uint32_t>(number >> 32));
}

/// Takes from the front of a payload, never past its end.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> rest) : rest_(rest) {}

  bool take_u32(std::uint32_t& number) {
    std::span<const std::byte> bytes;
    if (!take(4, bytes)) return false;
    number = 0;
    for (std::size_t i = 4; i-- > 0;) number = number << 8 | std::to_integer<std::uint32_t>(bytes[i]);
    return true;
  }
  bool take_u64(std::uint64_t& number) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    if (!take_u32(low) || !take_u32(high)) return false;
    number = std::uint64_t{high} << 32 | low;
    return true;
  }
  bool take(std::size_t count, std::span<const std::byte>& bytes) {
    if (count > rest_.size()) return false;
    bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return true;
  }
  /// The index of an item of the job.
  bool take_item(int& item) {
    std::uint32_t number = 0;
    if (!take_u32(number) || number > static_cast<std::uint32_t>(std::numeric_limits<int>::max())) return false;
    item = static_cast<int>(number);
    return true;
  }
  [[nodiscard]] bool is_empty() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace

std::vector<std::byte> encode(const JobMessage& message) {
  json items = json::array();
  for (const JobItem& item : message.items)
    items.push_back({{"index", item.index},
                     {"case", item.case_id},
                     {"probe", item.probe},
                     {"params", item.params},
                     {"folder", item.folder},
                     {"per_node", item.is_per_node},
                     {"not_on", item.not_on},
                     {"node", item.node},
                     {"timeout", item.timeout_s}});
  return to_bytes({{"simulated", message.is_simulated},
                   {"gap", message.gap_s},
                   {"finish", message.finish_s},
                   {"items", std::move(items)}});
}

Result<JobMessage> decode_job(std::span<const std::byte> payload) {
  return decode("job", payload, [](const json& value) -> Result<JobMessage> {
    JobMessage message;
    message.is_simulated = value.at("simulated").get<bool>();
    message.gap_s = value.value("gap", message.gap_s);
    message.finish_s = value.value("finish", message.finish_s);
    const json& items = value.at("items");
    if (!items.is_array()) return broken("job", "items is not an array");
    for (const json& item : items)
      message.items.push_back({whole_number(item.at("index"), "index"), item.at("case").get<std::string>(),
                               item.at("probe").get<std::string>(), item.at("params").get<std::string>(),
                               item.at("folder").get<std::string>(), item.at("per_node").get<bool>(),
                               item.at("not_on").get<std::vector<std::string>>(), item.value("node", std::string()),
                               item.value("timeout", JobItem().timeout_s)});
    return message;
  });
}

std::vector<std::byte> encode(const HelloMessage& message) {
  return to_bytes({{"version", message.muster_version}, {"world_size", message.world_size}});
}

Result<HelloMessage> decode_hello(std::span<const std::byte> payload) {
  return decode("hello", payload, [](const json& value) -> Result<HelloMessage> {
    HelloMessage message;
    message.muster_version = printable_line(value.at("version").get<std::string>());
    message.world_size = whole_number(value.at("world_size"), "world_size");
    return message;
  });
}

std::vector<std::byte> encode(const World& world) {
  return to_bytes(to_json(world));
}

Result<World> decode_world(std::span<const std::byte> payload) {
  return decode("world", payload, [](const json& value) -> Result<World> {
    Result<World> world = world_from_json(value);
    if (!world) return broken("world", to_string(world.error()));
    return world;
  });
}

std::vector<std::byte> encode_case_begin(int item) {
  Bytes8 bytes;
  put_u32(bytes, static_cast<std::uint32_t>(item));
  return bytes;
}

Result<int> decode_case_begin(std::span<const std::byte> payload) {
  Reader reader(payload);
  int item = 0;
  if (!reader.take_item(item) || !reader.is_empty()) return broken("case begin", "is not one item index");
  return item;
}

std::vector<std::byte> encode_case_part(int item, std::span<const std::vector<std::byte>> encoded) {
  Bytes8 bytes;
  put_u32(bytes, static_cast<std::uint32_t>(item));
  for (const auto& observation : encoded) {
    put_u32(bytes, static_cast<std::uint32_t>(observation.size()));
    bytes.insert(bytes.end(), observation.begin(), observation.end());
  }
  return bytes;
}

Result<CasePart> decode_case_part(std::span<const std::byte> payload) {
  Reader reader(payload);
  CasePart part;
  if (!reader.take_item(part.item)) return broken("case part", "has no item index");
  while (!reader.is_empty()) {
    std::uint32_t size = 0;
    std::span<const std::byte> bytes;
    if (!reader.take_u32(size) || !reader.take(size, bytes)) return broken("case part", "ends within an observation");
    auto observation = decode_observation(bytes);
    if (!observation) return tl::unexpected(observation.error());
    part.observations.push_back(std::move(*observation));
  }
  return part;
}

std::vector<std::byte> encode_case_end(int item, double seconds) {
  Bytes8 bytes;
  put_u32(bytes, static_cast<std::uint32_t>(item));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &seconds, sizeof(bits));
  put_u64(bytes, bits);
  return bytes;
}

Result<CaseEnd> decode_case_end(std::span<const std::byte> payload) {
  Reader reader(payload);
  CaseEnd end;
  std::uint64_t bits = 0;
  if (!reader.take_item(end.item) || !reader.take_u64(bits) || !reader.is_empty())
    return broken("case end", "is not an item index and a time");
  std::memcpy(&end.seconds, &bits, sizeof(bits));
  if (!std::isfinite(end.seconds) || end.seconds < 0) return broken("case end", "its time is not a valid time");
  return end;
}

}  // namespace muster
