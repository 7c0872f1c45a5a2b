/// Messages between driver and agent. Each is one frame, sealed with the key of the launch (run/sealed_frames.hpp);
/// payloads are CBOR unless stated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/frame.hpp"
#include "model/plan.hpp"
#include "model/record.hpp"

namespace muster {

enum class MessageType : std::uint8_t {
  job = 1,         ///< driver -> rank 0: JobMessage
  hello = 2,       ///< rank 0 -> driver, first: HelloMessage
  refused = 3,     ///< any process -> driver: the world is not what was asked (text)
  world = 4,       ///< rank 0: World
  case_begin = 5,  ///< rank 0: item index (u32, little endian)
  case_part = 6,   ///< rank 0: item index (u32), then observations, each length (u32) and encode(Observation)
  case_end = 7,    ///< rank 0: item index (u32), seconds (f64)
  finish = 8,      ///< rank 0: all work done, about to finalize; empty
  key = 9,         ///< driver -> rank 0, on standard input alone: 32 bytes (run/rank_key.hpp)
  // In the spool only:
  plan = 32,     ///< Plan and run header
  record = 33,   ///< {item, repetition, launch, findings, seconds, finished} around the parts before it
  verdict = 34,  ///< case id, repetition, verdict, reason: written before the verdict is shown
};

/// Environment of the agent.
inline constexpr const char* env_tag = "MUSTER_TAG";                ///< names the launch; in recorder file names
inline constexpr const char* env_tag_secret = "MUSTER_TAG_SECRET";  ///< run/launch_tag.hpp
inline constexpr const char* env_wire = "MUSTER_WIRE";              ///< host:port of the driver
inline constexpr const char* env_key = "MUSTER_KEY";                ///< LaunchKey; frames are sealed with it
inline constexpr const char* env_path = "MUSTER_PATH";  ///< PATH of the driver, before a launcher changed it
inline constexpr const char* env_bundled_path =
    "MUSTER_BUNDLED_LIBRARY_PATH";                                ///< LD_LIBRARY_PATH as it was before that of a bundle
inline constexpr const char* env_mpi_files = "MUSTER_MPI_FILES";  ///< of the agent's MPI, for its probes
inline constexpr const char* env_torchrun = "MUSTER_TORCHRUN";    ///< of the user's launch line, from torchrun on
/// Its options, which `environment` judges (config/torchrun_options.hpp).
inline constexpr const char* env_torchrun_options = "MUSTER_TORCHRUN_OPTIONS";
/// What a shell of that line does before its program, and muster does not carry out.
inline constexpr const char* env_not_run = "MUSTER_NOT_RUN";
inline constexpr const char* env_version = "MUSTER_LAUNCH_VERSION";   ///< of the driver
inline constexpr const char* env_startup = "MUSTER_STARTUP_TIMEOUT";  ///< seconds until all ranks are introduced
inline constexpr const char* env_world = "MUSTER_WORLD";              ///< ranks asked for
/// How options of the launch line give each rank its GPU, which Slurm does not pass to its tasks. Read by
/// `environment`.
inline constexpr const char* env_gpu_bind = "MUSTER_GPU_BIND";
/// Variables with a value for each rank: `ROCR_VISIBLE_DEVICES={local_rank}|...`.
inline constexpr const char* env_by_rank = "MUSTER_BY_RANK";

struct JobItem {
  int index = 0;
  std::string case_id;
  std::string probe;
  std::string params;       ///< JSON text, as to_json(Params)
  std::string folder = {};  ///< of the check file; absolute
  /// Each node by itself: its ranks are all that the probe sees. Nodes of `not_on`, as the driver names them, do
  /// nothing.
  bool is_per_node = false;
  std::vector<std::string> not_on = {};
  std::string node = {};  ///< JSON text, as to_json(ExpectedNode); empty: not in the profile
  double timeout_s = 60;  ///< the driver ends the launch when the case takes longer
};

struct JobMessage {
  std::vector<JobItem> items;
  bool is_simulated = false;  ///< ranks are to be on the machine of MUSTER_MACHINE; otherwise none may be
  double gap_s = 10;          ///< the driver's deadline between two items
  double finish_s = 10;       ///< and after the last
};

struct HelloMessage {
  std::string muster_version;
  int world_size = 0;
};

[[nodiscard]] std::vector<std::byte> encode(const JobMessage& message);
[[nodiscard]] Result<JobMessage> decode_job(std::span<const std::byte> payload);
[[nodiscard]] std::vector<std::byte> encode(const HelloMessage& message);
[[nodiscard]] Result<HelloMessage> decode_hello(std::span<const std::byte> payload);
[[nodiscard]] std::vector<std::byte> encode(const World& world);
[[nodiscard]] Result<World> decode_world(std::span<const std::byte> payload);

struct CasePart {
  int item = 0;
  std::vector<Observation> observations;
};
[[nodiscard]] std::vector<std::byte> encode_case_begin(int item);
[[nodiscard]] Result<int> decode_case_begin(std::span<const std::byte> payload);
/// `encoded` holds encode(Observation) of some ranks.
[[nodiscard]] std::vector<std::byte> encode_case_part(int item, std::span<const std::vector<std::byte>> encoded);
[[nodiscard]] Result<CasePart> decode_case_part(std::span<const std::byte> payload);
[[nodiscard]] std::vector<std::byte> encode_case_end(int item, double seconds);
struct CaseEnd {
  int item = 0;
  double seconds = 0;
};
[[nodiscard]] Result<CaseEnd> decode_case_end(std::span<const std::byte> payload);

}  // namespace muster
