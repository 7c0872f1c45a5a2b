/// What the torchrun of the user's launch line would do in each task: whether all of them become one job.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/device_selection.hpp"
#include "measure/variables.hpp"
#include "muster/observation.hpp"

namespace muster::environment {

/// What follows torchrun on the user's launch line, and its options; set by the driver (src/run/messages.hpp).
inline constexpr const char* env_torchrun = "MUSTER_TORCHRUN";
inline constexpr const char* env_torchrun_options = "MUSTER_TORCHRUN_OPTIONS";

/// In front of a value that is not known, that each task makes anew, and that no shell expands.
inline constexpr char unknown_value = '?';
inline constexpr char own_value = '*';
inline constexpr char literal_value = '!';

/// `torchrun.NAME` for each option of this task that counts, from `options` (src/config/torchrun_options.hpp) with the
/// task's own variables, else from PET_*, which torchrun reads, too. A value that is not known is `?` and its text;
/// `*`, `!`: as in `options`.
[[nodiscard]] std::vector<Fact> torchrun_facts(std::string_view options, const Variables& variables);

/// `torchrun`: how many processes the torchrun of the launch line starts in this task: a number, `gpu` (one for each
/// that it sees), `gpu/2` (half as many), or `?` and a text that is not known before the line runs. `torchrun.starter`:
/// what the line has in place of torchrun. Empty: the line starts none.
[[nodiscard]] std::vector<Fact> torchrun_processes(const Variables& variables);

/// Programs that start the processes of a training, and their options for one thing.
struct StarterWords {
  std::string_view starter;    ///< `torchrun`, `accelerate`, `deepspeed`
  std::string_view command;    ///< `accelerate launch`
  std::string_view nodes;      ///< `--num_machines`
  std::string_view number;     ///< `--machine_rank`
  std::string_view processes;  ///< `--num_processes`, which accelerate counts over all nodes
};
/// Those of torchrun for any other name.
[[nodiscard]] const StarterWords& words_of_starter(std::string_view starter);

/// `selecting`: variables that select GPUs, as the processes that `deepspeed` and `accelerate launch` start have them:
/// CUDA_VISIBLE_DEVICES follows --num_gpus, --include, the hostfile or --gpu_ids, whatever the task has.
void replace_devices(const Variables& variables, gpu_mapping::Variables& selecting);

/// The GPUs that this task sees, separated by spaces; `none`: the node has none; empty: not known.
[[nodiscard]] std::string torchrun_gpus(const Variables& variables, int local_rank);

}  // namespace muster::environment
