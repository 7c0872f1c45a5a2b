#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <unistd.h>

#include "base/number.hpp"
#include "run/agent.hpp"

namespace muster {

namespace {

template <class Number = int>
std::optional<Number> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? std::nullopt : parse_number_from<Number>(text, 0);
}

bool has(const char* variable) {
  return std::getenv(variable) != nullptr;
}

struct Signature {
  const char* who;
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* also = nullptr;  ///< another variable that only this launcher sets
};

// From the most specific to the least. Slurm comes last: below a batch script every rank that another launcher
// starts inherits SLURM_PROCID=0. Its own PMI-2 sets PMI_RANK as Hydra does, but never MPI_LOCALRANKID.
constexpr Signature signatures[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK"},
    {"PALS", "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID"},
    {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALRANKID"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "HYDRA_BOOTSTRAP"},
    {"Slurm", "PMI_RANK", "PMI_SIZE", "SLURM_LOCALID", "SLURM_STEP_ID"},
    {"a PMI launcher", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_ID"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_ID"},
};

}  // namespace

LaunchedBy launched_by() {
  for (const Signature& signature : signatures) {
    const auto rank = number_in(signature.rank);
    const auto size = number_in(signature.world_size);
    if (!rank || !size || (signature.also != nullptr && !has(signature.also))) continue;
    return {*rank, *size, signature.who, number_in(signature.local_rank).value_or(-1)};
  }
  return {};
}

std::vector<std::string> shared_memory_of_open_mpi(const std::string& host, int local_rank) {
  const auto job = number_in<std::int64_t>("OMPI_MCA_ess_base_jobid");
  if (!job || local_rank < 0) return {};
  std::vector<std::string> names;
  const std::string short_name = host.substr(0, host.find('.'));
  for (const std::string& name : short_name == host ? std::vector{host} : std::vector{host, short_name})
    names.push_back(fmt::format("vader_segment.{}.{}.{:x}.{}", name, ::geteuid(), *job, local_rank));
  return names;
}

}  // namespace muster
