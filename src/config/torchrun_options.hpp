/// The options by which several torchruns become one job, or several. docs/launch-line.md
#pragma once

#include <string>
#include <string_view>

#include "muster/launcher.hpp"

namespace muster {

/// `nnodes=2|node-rank=$SLURM_PROCID|rdzv-endpoint?$(head -n 1 hosts):29500`: of torchrun, `python -m
/// torch.distributed.run` or `bash -c` with one of them, with which `program` begins; empty: it begins with none.
/// `=`: the value, in which only the ranks know the variables of a shell's text; `?`: it is not known; `*`: each task
/// makes another one (`$RANDOM`); `!`: it holds a dollar sign that no shell expands. `$MUSTER_HOST` stands for
/// `$(hostname)`.
/// `starter=accelerate|nnodes=2|num-processes=16`: of `accelerate launch` and `deepspeed`, whose options have the names
/// of those of torchrun that are alike.
[[nodiscard]] std::string torchrun_options(const Argv& program);

/// The same of the first torchrun in a shell script that each rank runs. `arguments`: `$1` is the first.
[[nodiscard]] std::string torchrun_options_of_script(std::string_view script, const Argv& arguments = {});

}  // namespace muster
