// Slurm: jobs by sbatch, asked about with scontrol, squeue, sinfo and, where it answers, sacct. All of it was tried on
// a real Slurm 22.05; words of other versions are from its documentation.
#include "schedulers/slurm/parts.hpp"

namespace muster {

namespace {

Argv submit(std::string_view script_file) {
  return {"sbatch", "--parsable", std::string(script_file)};
}

/// One job and all that is known of it, also for some minutes after its end; squeue would forget restarts and exit
/// code.
Argv ask(std::string_view job) {
  return {"scontrol", "--oneliner", "show", "job", std::string(job)};
}

Argv ask_past(std::string_view job) {
  return {"sacct",
          "--noheader",
          "--parsable2",
          "--allocations",
          "--jobs=" + std::string(job),
          "--format=JobID,State,ExitCode,NodeList"};
}

Argv ask_queue(std::string_view partition) {
  Argv argv{"squeue", "--noheader", "--states=PENDING", "--sort=-p,i", "--format=%i"};
  if (!partition.empty()) argv.push_back("--partition=" + std::string(partition));
  return argv;
}

Argv cancel(std::string_view job) {
  return {"scancel", std::string(job)};
}

Argv ask_nodes(std::span<const JobOption> options) {
  Argv argv{"sinfo", "--noheader", "--Node", "--format=%N|%T|%P|%E"};
  if (const auto partition = slurm::value_of(options, "--partition"); !partition.empty())
    argv.push_back("--partition=" + partition);
  return argv;
}

Argv ask_steps(std::string_view job) {
  return {"squeue", "--noheader", "--steps", "--jobs=" + std::string(job), "--format=%i|%N"};
}

}  // namespace

extern const SchedulerSpec scheduler_slurm{
    .name = "slurm",
    .title = "Slurm",
    .program = "sbatch",
    .read_option = slurm::read_option,
    .meant_option = slurm::meant_option,
    .variables = slurm::variables,
    .script = slurm::script,
    .submit = submit,
    .read_submit = slurm::read_submit,
    .ask = ask,
    .read_status = slurm::read_status,
    .ask_past = ask_past,
    .read_past = slurm::read_past,
    .ask_queue = ask_queue,
    .read_position = slurm::read_position,
    .cancel = cancel,
    .ask_nodes = ask_nodes,
    .read_nodes = slurm::read_nodes,
    .ask_steps = ask_steps,
    .read_busy = slurm::read_busy,
    .ask_configured = slurm::ask_configured,
    .read_configured = slurm::read_configured,
    .ask_cluster = slurm::ask_cluster,
    .read_cluster = slurm::read_cluster,
    .cluster_variable = "SLURM_CLUSTER_NAME",
    .partition_variable = "SLURM_JOB_PARTITION",
    .ask_gpus = slurm::ask_gpus,
    .read_gpus = slurm::read_gpus,
    .gpu_option = slurm::gpu_option,
    .asks_for_gpus = slurm::asks_for_gpus,
    .service_program = "scontrol",
    .greet_service = slurm::greet_service,
    .is_greeted = slurm::is_greeted,
    .ask_service = slurm::ask_service,
    .read_service = slurm::read_service,
    .drain = slurm::drain,
    .resume = slurm::resume,
};

}  // namespace muster
