/// The variables that probe `environment` looks at, and how ranks compare theirs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/launcher_words.hpp"
#include "muster/comm.hpp"
#include "muster/observation.hpp"

namespace muster::environment {

/// What torch.distributed reads; the first three differ from rank to rank, the others are the job's.
inline constexpr std::array<std::string_view, 6> torch_variables = {"RANK",       "LOCAL_RANK",  "LOCAL_WORLD_SIZE",
                                                                    "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};

using Variables = std::map<std::string, std::string, std::less<>>;

[[nodiscard]] Variables parse_environment(const char* const* environment);
[[nodiscard]] bool is_own_variable(std::string_view name);
/// Those that a rank reports whatever the others have: torch's, the launchers', and a few of Slurm's.
[[nodiscard]] Variables own_variables(const Variables& all);
/// Those that all ranks should have alike: NCCL_*, FI_*, UCX_*, OMP_*, the loader's paths and so on; not those that
/// pin a rank to a device or to cores, and none that looks like a secret.
[[nodiscard]] Variables shared_variables(const Variables& all);

/// Whether a variable pins a rank to a network card or to cores, and so may differ.
[[nodiscard]] bool pins_to_device(std::string_view name);

/// Some choose which network cards MPI, libfabric, UCX or NCCL use, or stripe messages: a rank's card need not be the
/// nearest one.
[[nodiscard]] bool choose_nics(const Variables& all);

[[nodiscard]] ByteVector encode(const Variables& variables);
[[nodiscard]] Variables decode(std::span<const std::byte> bytes);

/// `env.NAME` of each variable.
void add_variables(const Variables& variables, std::vector<Fact>& facts);
/// What is different from `first`, rank 0's: `env.NAME` with our value, or `lacks.NAME`. So a large job does not report
/// the same hundred values once for every rank.
void add_differences(const Variables& first, const Variables& mine, std::vector<Fact>& facts);

}  // namespace muster::environment
