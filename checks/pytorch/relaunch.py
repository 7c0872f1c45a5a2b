"""A program started once per rank, beside the ranks that run: by the launcher that started those, on the same nodes. A process
below a rank can't be a rank itself: its launcher has given the place away. Building the command is pure."""
import os
import subprocess

# What the launch around this process set for its own ranks: beginnings of names (those of src/model/launcher_words.cpp), and names.
BEGINNINGS = ("OMPI_MCA_rmaps_base_mapping", "OMPI_MCA_rmaps_base_ranking", "OMPI_MCA_hwloc_base_binding",
              "OMPI_MCA_initial_wdir", "OMPI_MCA_mpi_oversubscribe", "OMPI_COMM_", "OMPI_MCA_ess", "OMPI_MCA_orte",
              "OMPI_MCA_pmix", "OMPI_APP_", "OMPI_ARGV", "OMPI_COMMAND", "OMPI_FIRST_RANKS", "OMPI_FILE_LOC",
              "OMPI_NUM_APP_CTX", "OMPI_UNIVERSE", "ORTE_", "PRTE_", "PMIX_", "PMI_", "PMI2_", "HYDI_", "MPI_LOCAL",
              "MV2_COMM_", "PALS_", "FLUX_TASK_", "FLUX_JOB_SIZE", "FLUX_JOB_NNODES", "JSM_NAMESPACE_", "SLURM_STEP",
              "SLURM_CPU_BIND", "SLURM_GPU_BIND", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS",
              "SLURM_TASK_PID", "SLURM_DISTRIBUTION", "SLURM_LAUNCH_NODE_IPADDR", "SLURM_MPI_TYPE", "MUSTER_")
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


def environment_for(environment):
    return {name: value for name, value in environment.items()
            if name not in NAMES and not name.startswith(BEGINNINGS)}


def counts(hosts):
    """[(host, ranks)] in order."""
    return [(host, hosts.count(host)) for host in dict.fromkeys(hosts)]


def command(launcher, family, hosts):
    """What stands in front of the program, and variables for it; None where muster knows no such line."""
    groups, world = counts(hosts), len(hosts)
    per_node = max(count for _, count in groups)
    if launcher == "srun":
        return ["srun", "--overlap", f"--nodes={len(groups)}", f"--ntasks={world}", f"--ntasks-per-node={per_node}",
                f"--nodelist={','.join(host for host, _ in groups)}", "--cpu-bind=none"], {}
    if launcher == "ibrun":
        return ["ibrun", "-n", str(world), "-o", "0"], {"IBRUN_TASKS_PER_NODE": str(per_node)}
    if launcher in ("mpirun", "mpiexec") and family == "Open MPI":
        # The ranks of this user were started so, or there would be none.
        as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return [launcher, *as_root, "-n", str(world), "-H", ",".join(f"{host}:{count}" for host, count in groups), "--bind-to", "none",
                "--oversubscribe"], {}
    if launcher in ("mpirun", "mpiexec") and family:
        return [launcher, "-n", str(world), "-hosts", ",".join(host for host, _ in groups), "-ppn", str(per_node)], {}
    return None


def start(front, variables, program, seconds, environment=None):
    """(output, status); (why, None) where it could not be started or did not end."""
    environment = environment_for(os.environ if environment is None else environment)
    environment.update(variables)
    try:
        done = subprocess.run([*front, *program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=seconds, text=True, errors="replace")
    except OSError as problem:
        return f"{front[0]}: {problem.strerror}", None
    except subprocess.TimeoutExpired:
        return f"{front[0]} did not end within {seconds:g} s", None
    return done.stdout, done.returncode
