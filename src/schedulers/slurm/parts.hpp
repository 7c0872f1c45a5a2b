/// The parts of slurm.cpp, each in a file of its own.
#pragma once

#include "muster/scheduler.hpp"

namespace muster::slurm {

// options.cpp
[[nodiscard]] Result<JobOption> read_option(std::string_view word);
[[nodiscard]] std::vector<std::string> variables(const JobRequest& request);
/// The value behind `name`; empty: not set.
[[nodiscard]] std::string value_of(std::span<const JobOption> options, std::string_view name);
[[nodiscard]] bool chooses(std::span<const JobOption> options, std::string_view name);

// option_names.cpp
[[nodiscard]] bool is_of_srun(std::string_view name);
[[nodiscard]] std::string meant_option(std::string_view name);

// script.cpp
[[nodiscard]] std::string script(const JobRequest& request);

// refusals.cpp
[[nodiscard]] Result<std::string> read_submit(std::string_view out, std::string_view err, int status);

// status.cpp
[[nodiscard]] Result<JobStatus> read_status(std::string_view out, std::string_view err, int status);
[[nodiscard]] std::optional<JobStatus> read_past(std::string_view out, std::string_view job);

// words.cpp
/// Sets phase, fault, why, remedy and is_stuck from state and reason.
void explain(JobStatus& status);

// nodes.cpp
[[nodiscard]] std::vector<NodeState> read_nodes(std::string_view out);
[[nodiscard]] std::vector<std::string> read_busy(std::string_view out);
[[nodiscard]] int read_position(std::string_view out, std::string_view job);

// partitions.cpp
[[nodiscard]] Argv ask_configured();
[[nodiscard]] std::vector<ConfiguredNode> read_configured(std::string_view out);
[[nodiscard]] Argv ask_cluster();
[[nodiscard]] std::string read_cluster(std::string_view out);

// gpus.cpp
/// GPUs in a list of generic resources, `gpu:h100:8(S:0-1),nvme:1`.
[[nodiscard]] int gpus_of(std::string_view gres);
/// Their type; empty: unknown, or several.
[[nodiscard]] std::string gpu_type_of(std::string_view gres);
[[nodiscard]] Argv ask_gpus(std::string_view partition);
[[nodiscard]] std::vector<CountedGpus> read_gpus(std::string_view out, std::string_view partition);
[[nodiscard]] std::string gpu_option(std::span<const JobOption> options);
[[nodiscard]] bool asks_for_gpus(std::string_view out);

// service.cpp
[[nodiscard]] Argv greet_service();
[[nodiscard]] bool is_greeted(std::string_view out, int status);
/// Times in the answer are UTC.
[[nodiscard]] LaunchCommand ask_service(std::string_view node);
[[nodiscard]] std::vector<NodeService> read_service(std::string_view out);
[[nodiscard]] Argv drain(std::string_view node, std::string_view reason);
[[nodiscard]] Argv resume(std::string_view node);

}  // namespace muster::slurm
