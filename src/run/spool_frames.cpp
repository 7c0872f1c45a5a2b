#include "run/spool_frames.hpp"

#include <optional>

#include "model/json.hpp"
#include "model/plan_fields.hpp"

namespace muster {

namespace {

/// The fields of a record besides its observations.
struct RecordHead {
  CaseRecord record;
  int total = 0;
};

/// Takes `size` bytes off the front of `bytes`.
std::optional<std::span<const std::byte>> take(std::span<const std::byte>& bytes, std::size_t size) {
  if (bytes.size() < size) return std::nullopt;
  const auto taken = bytes.first(size);
  bytes = bytes.subspan(size);
  return taken;
}

/// Takes a u32 and that number of bytes.
std::optional<std::span<const std::byte>> take_sized(std::span<const std::byte>& bytes) {
  const auto head = take(bytes, 4);
  if (!head) return std::nullopt;
  std::size_t size = 0;
  for (int i = 3; i >= 0; --i) size = size << 8 | static_cast<std::size_t>((*head)[static_cast<std::size_t>(i)]);
  return take(bytes, size);
}

void put_sized(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::byte>(size >> (8 * i)));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
std::vector<std::byte> encode_fields(const T& value) {
  return to_cbor(write_json(value, TextForm::exact));
}

template <class T>
Result<T> decode_fields(std::span<const std::byte> payload) {
  const auto json = from_cbor(payload);
  if (!json) return tl::unexpected(json.error());
  return read_json<T>(*json);
}

}  // namespace

template <class Io>
void fields(Io& io, Is<PlanEntry> auto& entry) {
  io("version", entry.version);
  io("plan", entry.plan);
  io("run", entry.run);
}

template <class Io>
void fields(Io& io, Is<WorldEntry> auto& entry) {
  io("launch", entry.launch);
  io("world", entry.world);
}

template <class Io>
void fields(Io& io, Is<VerdictEntry> auto& entry) {
  io("case", entry.case_id);
  io("repetition", entry.repetition);
}

namespace {

template <class Io>
void fields(Io& io, Is<RecordHead> auto& head) {
  io("case", head.record.case_index);
  io("repetition", head.record.repetition);
  io("launch", head.record.launch);
  io("finished", head.record.finished);
  io("seconds", head.record.seconds);
  io("findings", head.record.findings);
  io("observations", head.total);
}

}  // namespace

std::vector<std::byte> encode_plan(const Plan& plan, const RunReport& header) {
  // Assembled here, not from a PlanEntry: a plan may be large and need not be copied.
  nlohmann::json json = {{"version", PlanEntry::newest_version}};
  json["plan"] = to_json(plan);
  json["run"] = write_json(header, TextForm::exact);
  return to_cbor(json);
}

std::vector<std::byte> encode_spool_world(int launch, const World& world) {
  return encode_fields(WorldEntry{launch, world});
}

std::vector<std::byte> encode_verdict(const std::string& case_id, const Repetition& repetition) {
  VerdictEntry entry{case_id, repetition};
  entry.repetition.reason = printable_line(entry.repetition.reason, longest_reason);
  return encode_fields(entry);
}

std::vector<std::vector<std::byte>> encode_record(const CaseRecord& record, std::size_t most) {
  RecordHead head;
  head.record.case_index = record.case_index;
  head.record.repetition = record.repetition;
  head.record.launch = record.launch;
  head.record.finished = record.finished;
  head.record.seconds = record.seconds;
  head.record.findings = record.findings;
  head.total = static_cast<int>(record.observations.size());
  const auto head_bytes = encode_fields(head);

  std::vector<std::vector<std::byte>> payloads;
  const auto begin_part = [&] { put_sized(payloads.emplace_back(), head_bytes); };
  begin_part();
  for (const auto& observation : record.observations) {
    const auto encoded = encode(observation);
    const auto in_part = payloads.back().size();
    if (in_part + encoded.size() > most && in_part > head_bytes.size() + 4) begin_part();
    put_sized(payloads.back(), encoded);
  }
  return payloads;
}

Result<PlanEntry> decode_plan(std::span<const std::byte> payload) {
  const auto json = from_cbor(payload);
  if (!json) return tl::unexpected(json.error());
  const auto version = json->is_object() ? json->value("version", nlohmann::json()) : nlohmann::json();
  if (version.is_number_integer() && version > PlanEntry::newest_version)
    return fail(ErrorKind::file, "version", "the spool was written by a newer muster");
  return read_json<PlanEntry>(*json);
}

Result<WorldEntry> decode_spool_world(std::span<const std::byte> payload) {
  return decode_fields<WorldEntry>(payload);
}

Result<RecordPart> decode_record(std::span<const std::byte> payload) {
  const auto head_bytes = take_sized(payload);
  if (!head_bytes) return fail(ErrorKind::protocol, "record", "ends within its head");
  auto head = decode_fields<RecordHead>(*head_bytes);
  if (!head) return tl::unexpected(head.error());
  RecordPart part{std::move(head->record), head->total};
  while (!payload.empty()) {
    const auto bytes = take_sized(payload);
    if (!bytes) return fail(ErrorKind::protocol, "record", "ends within an observation");
    auto observation = decode_observation(*bytes);
    if (!observation) return tl::unexpected(observation.error());
    part.record.observations.push_back(std::move(*observation));
  }
  return part;
}

Result<VerdictEntry> decode_verdict(std::span<const std::byte> payload) {
  return decode_fields<VerdictEntry>(payload);
}

}  // namespace muster
