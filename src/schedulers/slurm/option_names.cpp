// Long options of sbatch and srun.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "schedulers/slurm/parts.hpp"

namespace muster::slurm {

namespace {

// Tried on sbatch 22.05; those of 23.02 to 25.05 are from its documentation.
constexpr std::string_view of_sbatch[] = {"account",
                                          "acctg-freq",
                                          "array",
                                          "batch",
                                          "bb",
                                          "bbf",
                                          "begin",
                                          "chdir",
                                          "cluster-constraint",
                                          "clusters",
                                          "comment",
                                          "consolidate-segments",
                                          "constraint",
                                          "container",
                                          "container-id",
                                          "contiguous",
                                          "core-spec",
                                          "cores-per-socket",
                                          "cpu-freq",
                                          "cpus-per-gpu",
                                          "cpus-per-task",
                                          "deadline",
                                          "delay-boot",
                                          "dependency",
                                          "distribution",
                                          "error",
                                          "exclude",
                                          "exclusive",
                                          "export",
                                          "export-file",
                                          "extra",
                                          "extra-node-info",
                                          "get-user-env",
                                          "gid",
                                          "gpu-bind",
                                          "gpu-freq",
                                          "gpus",
                                          "gpus-per-node",
                                          "gpus-per-socket",
                                          "gpus-per-task",
                                          "gres",
                                          "gres-flags",
                                          "hint",
                                          "hold",
                                          "ignore-pbs",
                                          "input",
                                          "job-name",
                                          "kill-on-invalid-dep",
                                          "licenses",
                                          "mail-type",
                                          "mail-user",
                                          "mcs-label",
                                          "mem",
                                          "mem-bind",
                                          "mem-per-cpu",
                                          "mem-per-gpu",
                                          "mincpus",
                                          "network",
                                          "nice",
                                          "no-kill",
                                          "no-requeue",
                                          "nodefile",
                                          "nodelist",
                                          "nodes",
                                          "ntasks",
                                          "ntasks-per-core",
                                          "ntasks-per-gpu",
                                          "ntasks-per-node",
                                          "ntasks-per-socket",
                                          "oom-kill-step",
                                          "open-mode",
                                          "output",
                                          "overcommit",
                                          "oversubscribe",
                                          "parsable",
                                          "partition",
                                          "power",
                                          "prefer",
                                          "priority",
                                          "profile",
                                          "propagate",
                                          "qos",
                                          "quiet",
                                          "reboot",
                                          "requeue",
                                          "reservation",
                                          "resv-ports",
                                          "segment",
                                          "signal",
                                          "sockets-per-node",
                                          "spread-job",
                                          "spread-segments",
                                          "stepmgr",
                                          "switches",
                                          "test-only",
                                          "thread-spec",
                                          "threads-per-core",
                                          "time",
                                          "time-min",
                                          "tmp",
                                          "tres-bind",
                                          "tres-per-node",
                                          "tres-per-task",
                                          "uid",
                                          "use-min-nodes",
                                          "verbose",
                                          "wait",
                                          "wait-all-nodes",
                                          "wckey",
                                          "wrap"};

// Of plug-ins that sites have: shifter, pyxis, uenv.
constexpr std::string_view of_plugins[] = {"container-entrypoint",
                                           "container-env",
                                           "container-image",
                                           "container-mount-home",
                                           "container-mounts",
                                           "container-name",
                                           "container-remap-root",
                                           "container-save",
                                           "container-workdir",
                                           "container-writable",
                                           "image",
                                           "module",
                                           "uenv",
                                           "view",
                                           "volume"};

// And not sbatch's.
constexpr std::string_view of_srun[] = {
    "accel-bind",       "bcast",          "bcast-exclude", "compress",    "cpu-bind",
    "cpu_bind",         "disable-status", "epilog",        "exact",       "het-group",
    "kill-on-bad-exit", "label",          "mpi",           "msg-timeout", "multi-prog",
    "overlap",          "preserve-env",   "prolog",        "pty",         "quit-on-interrupt",
    "relative",         "send-libs",      "slurmd-debug",  "task-epilog", "task-prolog",
    "unbuffered"};

/// sbatch takes the beginning of a name for the name, unless it is that of several.
bool is_abbreviated(std::string_view name) {
  return std::count_if(std::begin(of_sbatch), std::end(of_sbatch),
                       [&](std::string_view one) { return one.substr(0, name.size()) == name; }) == 1;
}

}  // namespace

bool is_of_srun(std::string_view name) {
  return name.size() > 2 && is_in(name.substr(2), of_srun);
}

std::string meant_option(std::string_view name) {
  const std::string_view bare = name.substr(std::min<std::size_t>(2, name.size()));
  if (is_in(bare, of_sbatch) || is_in(bare, of_plugins) || is_abbreviated(bare)) return "";
  std::vector<std::string> known(std::begin(of_sbatch), std::end(of_sbatch));
  known.insert(known.end(), std::begin(of_plugins), std::end(of_plugins));
  const auto near = closest(bare, known);
  return near.empty() ? "" : "--" + near;
}

}  // namespace muster::slurm
