/// What the frames of a spool hold. All but `record` are one CBOR document (fields in spool_frames.cpp):
///
///   plan     {version, plan, run}         the plan, and the report's header when the run began
///   world    {launch, world}
///   record   u32 size of head, head {case, repetition, launch, finished, seconds, findings, observations}, then
///            observations, each u32 size and encode(Observation). Integers are little endian. A record that is too
///            large for one frame goes on in further frames with the same head; `observations` counts all of them.
///   verdict  {case, repetition}
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/plan.hpp"
#include "model/record.hpp"
#include "muster/report.hpp"

namespace muster {

struct PlanEntry {
  static constexpr int newest_version = 1;
  int version = newest_version;
  Plan plan;
  RunReport run;
};

struct WorldEntry {
  int launch = -1;
  World world;
};

/// One frame's share of a record.
struct RecordPart {
  CaseRecord record;  ///< `observations` are those of this part
  int total = 0;      ///< observations of the whole record
};

struct VerdictEntry {
  std::string case_id;
  Repetition repetition;
};

/// The longest reason that a verdict frame holds, so that the size of the reserve can be known in advance.
inline constexpr std::size_t longest_reason = 400;
/// A frame of a verdict with such a reason is at most as large.
inline constexpr std::size_t largest_verdict_frame = 768;

[[nodiscard]] std::vector<std::byte> encode_plan(const Plan& plan, const RunReport& header);
[[nodiscard]] std::vector<std::byte> encode_spool_world(int launch, const World& world);
[[nodiscard]] std::vector<std::byte> encode_verdict(const std::string& case_id, const Repetition& repetition);
/// Payloads of one or more frames, each of about `most` bytes (one observation is never divided).
[[nodiscard]] std::vector<std::vector<std::byte>> encode_record(const CaseRecord& record, std::size_t most = 64u << 20);

/// These fail with kind `protocol` or `file` on anything else.
[[nodiscard]] Result<PlanEntry> decode_plan(std::span<const std::byte> payload);
[[nodiscard]] Result<WorldEntry> decode_spool_world(std::span<const std::byte> payload);
[[nodiscard]] Result<RecordPart> decode_record(std::span<const std::byte> payload);
[[nodiscard]] Result<VerdictEntry> decode_verdict(std::span<const std::byte> payload);

}  // namespace muster
