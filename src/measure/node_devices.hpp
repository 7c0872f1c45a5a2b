/// The devices reported by one node, and the texts that all findings about it share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/inventory.hpp"
#include "device/kernel_log.hpp"
#include "muster/probe.hpp"

namespace muster::visibility {

/// The facts of one node that are not devices.
inline constexpr std::string_view job_variables[] = {
    "SLURM_JOB_ID",        "SLURM_NNODES",       "SLURM_GPUS",          "SLURM_JOB_GPUS",       "SLURM_STEP_GPUS",
    "SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_TASK", "SLURM_GPUS_PER_SOCKET"};
/// Variables with the number of granted GPUs, the most exact first.
inline constexpr std::string_view grant_variables[] = {
    "SLURM_GPUS_ON_NODE",  "SLURM_STEP_GPUS",       "SLURM_JOB_GPUS", "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_PER_TASK", "SLURM_GPUS_PER_SOCKET", "SLURM_GPUS"};

/// A kind of error in the kernel's log.
struct LoggedEvent {
  KernelEvent event;  ///< the first of them
  int count = 1;
};

struct NodeView {
  std::string host;
  Inventory inventory;
  std::map<std::string, std::string, std::less<>> job;  ///< those of the variables above that are set
  std::string kernel_log = {};                          ///< file; `-`: can't be read; empty: unknown
  std::int64_t kernel_log_begins = 0;                   ///< as in KernelLog; so is the next
  std::uint64_t kernel_log_missing = 0;
  std::vector<LoggedEvent> kernel_events = {};
};

/// Why a GPU can't be used, from the cause that lies deepest.
enum class DeviceProblem { none, lost, off_bus, no_driver, excluded, unknown_to_driver };

[[nodiscard]] DeviceProblem problem_of(const NodeView& node, const Device& gpu);
/// The job's control group excludes it.
[[nodiscard]] bool is_withheld(const Device& gpu);
/// Nothing that the host shows keeps this process from using it.
[[nodiscard]] bool is_usable(const NodeView& node, const Device& gpu);
[[nodiscard]] std::vector<const Device*> devices_of(const NodeView& node, DeviceKind kind);
/// Whether a source that knows the links between GPUs of a vendor saw it.
[[nodiscard]] bool are_links_known(const Device& gpu);
/// The driver that computing on a GPU needs; empty: any.
[[nodiscard]] std::string driver_for(const Device& gpu);

inline constexpr std::string_view by_profile = "expected by the profile";

/// The expected number of GPUs of a node, and its origin.
struct Wanted {
  int count = 0;
  bool is_least = false;  ///< a job's share: more may be there
  std::string by;         ///< `expected by the profile`
};

/// Variables of the job whose value is not a number of GPUs.
[[nodiscard]] std::vector<std::string_view> senseless_grants(const NodeView& node);
/// What the job was granted on this node, according to the scheduler's variables; nullopt: unknown.
[[nodiscard]] std::optional<Wanted> granted_to(const NodeView& node);
/// Of the check (`expected`), else of the profile; then what the job was granted. May be none.
[[nodiscard]] std::vector<Wanted> wanted_of(const CaseView& view, const NodeView& node);

[[nodiscard]] Culprit culprit_of(const NodeView& node);
[[nodiscard]] Culprit culprit_of(const NodeView& node, const Device& device);
/// A skip: as many nodes have no GPU, and none was expected there.
[[nodiscard]] Finding no_gpus_expected(std::size_t nodes, std::string remedy);
/// `GPU 0000:c1:00.0 on nid001`, `GPUs 0000:c1:00.0 and 0000:c5:00.0 on nid001`.
[[nodiscard]] std::string subject(const NodeView& node, const std::vector<const Device*>& devices);
/// A finding about these devices of a node.
[[nodiscard]] Finding about(const NodeView& node, const std::vector<const Device*>& devices, std::string reason,
                            std::string remedy);

using Findings = std::vector<Finding>;
using Nodes = std::vector<NodeView>;

// Each adds what it finds; in the order in which they are called, causes come before their consequences.
void judge_counts(const CaseView& view, const Nodes& nodes, Findings& findings);
void judge_problems(const CaseView& view, const NodeView& node, Findings& findings);
void judge_files(const NodeView& node, Findings& findings);
void judge_models(const CaseView& view, const NodeView& node, Findings& findings);
void judge_memory(const NodeView& node, Findings& findings);
void judge_links(const NodeView& node, Findings& findings);
/// Links between GPUs against the profile; what they were found to be, when that is right.
[[nodiscard]] std::string judge_gpu_links(const CaseView& view, const NodeView& node, Findings& findings);
/// Errors of GPUs in the logs of the nodes' kernels; once, where that can't be read.
void judge_kernel_log(const Nodes& nodes, Findings& findings);
/// Facts of a log, and back.
void add_kernel_log(const KernelLog& log, bool is_simulated, Observation& seen);
void parse_kernel_facts(const Observation& seen, NodeView& node);
/// Compares nodes, and devices of one model, with each other.
void judge_odd_ones(const Nodes& nodes, Findings& findings);

}  // namespace muster::visibility
