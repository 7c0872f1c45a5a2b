"""Virtual clusters on which live faults are injected, and what runs on them. Uses tests/cluster and tests/e2e. Part of live.py.

MUSTER_TEST_MPIS names a folder with MPIs that Debian does not have (tests/e2e/other_mpis.py); without it their machines are left out."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import typing

import other_mpis
import slurm_services
import support
import virtual_cluster as vc
from support import Run, check
from this_machine import run as command

DEADLINE_S = 6
# Before; eight cases of about 0.3 s, in which messages are under way and sums are compared in every rank; after.
BEFORE, AFTER = check("before", probe="hello", timeout=f"{DEADLINE_S}s"), check("after", probe="hello", timeout=f"{DEADLINE_S}s")
WORK = check("work", probe="allreduce", timeout=f"{DEADLINE_S}s", sweep={"seed": list(range(1, 9))}, sizes=["64KiB"], types=["float", "double"], memory="1MiB")
CHECKS = BEFORE + WORK + AFTER


class Machine(typing.NamedTuple):
    """A cluster of virtual nodes with two ranks each."""

    nodes: int
    launcher: str = "mpirun"
    data_network: bool = False
    mpi: str = ""  # one that Debian does not have

    @property
    def has_slurm(self):
        return self.launcher == "srun"


MACHINES = {
    "mpirun x 4": Machine(4),
    "mpirun x 2": Machine(2),
    "mpirun x 6": Machine(6),
    "two networks x 4": Machine(4, data_network=True),
    "Slurm x 4": Machine(4, "srun"),
    "Slurm, two networks x 4": Machine(4, "srun", True),
    "Hydra x 2": Machine(2, "mpiexec"),
    "Open MPI 5 x 4": Machine(4, mpi="openmpi"),
    "MPICH 5 x 2": Machine(2, mpi="mpich"),
    "Intel MPI x 2": Machine(2, mpi="intel"),
}
# As the kernel has their names: 15 characters.
DAEMONS = ("orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_pr", "slurmstepd")
LAUNCHERS = ("mpirun", "orterun", "prterun", "srun", "mpiexec.hydra", "mpiexec", "mpirun.mpich")


def comm_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Clusters:
    """One for each kind of machine, kept for the next run until a fault has changed it."""

    def __init__(self):
        self.up = {}

    def get(self, name):
        if name not in self.up:
            machine = MACHINES[name]
            label = f"live{os.getpid()}n{list(MACHINES).index(name)}"
            context = vc.running(machine.nodes, label, slurm=vc.Shape() if machine.has_slurm else None, data_network=machine.data_network)
            self.up[name] = (context, context.__enter__())
        return self.up[name][1]

    def drop(self, name):
        if name in self.up:
            context, _ = self.up.pop(name)
            context.__exit__(None, None, None)

    def drop_all(self):
        for name in list(self.up):
            self.drop(name)


class FaultContext:
    """One run on a cluster, with the node and the rank that the fault will hit."""

    def __init__(self, cluster, machine, random):
        self.cluster, self.machine, self.random = cluster, machine, random
        self.node, self.other = random.sample(cluster.names, 2)
        self.rank, self.other_rank = (2 * cluster.names.index(node) + random.randrange(2) for node in (self.node, self.other))
        self.own = set()  # pids on nodes that are this program's
        self.helpers, self.groups = [], []  # processes and control groups that end with the scene
        self.at_end = []  # commands that undo what was done outside of the cluster
        self.ended = threading.Event()
        self.run = None

    def role(self, name):
        """The culprits in that role of an answer."""
        peers = [{"node": node} for node in self.cluster.names]
        return peers if name == "peers" else [self.culprit(name)]

    def culprit(self, name):
        return {"rank": {"node": self.node, "rank": self.rank}, "node": {"node": self.node}, "other": {"node": self.other},
                "other rank": {"node": self.other, "rank": self.other_rank}, "launcher": {"launcher": True}}[name]

    def new_run(self, checks, options=(), env=None):
        machine, cluster = self.machine, self.cluster
        words = {"mpirun": ["--nodes", ",".join(cluster.names), "--ranks-per-node", "2", "--launcher", "mpirun"],
                 "mpiexec": ["--nodes", ",".join(cluster.names), "--ranks-per-node", "2", "--launcher", "mpiexec"],
                 "srun": ["--launcher", "srun", "--ranks-per-node", "2", "-J=--cpu-bind=none"]}[machine.launcher]
        job = ["salloc", "--quiet", f"--nodes={machine.nodes}", "--ntasks-per-node=2"] if machine.has_slurm else []
        variables = {**cluster.environment(), **(env or {})}
        if machine.launcher == "mpiexec":
            variables["PATH"] = f"{self.mpich_tools()}:{os.environ['PATH']}"
        if machine.mpi:
            variables.update(other_mpis.module(machine.mpi))
        self.run = Run(checks, *words, *options, env=variables, wrapper=cluster.argv_on_login(job), agent=self.agent())
        self.run.env["MUSTER_STARTUP_TIMEOUT"] = "15s"
        return self.run

    def agent(self):
        if self.machine.mpi:
            return other_mpis.agents(self.machine.mpi) / "muster-rank-test"
        return support.AGENT_MPICH if self.machine.launcher == "mpiexec" else support.AGENT

    def mpich_tools(self):
        tools = self.cluster.folder / "tools"
        if not tools.exists():
            tools.mkdir()
            (tools / "mpiexec").write_text('#!/bin/sh\nexec mpiexec.mpich "$@"\n')
            (tools / "mpiexec").chmod(0o755)
        return tools

    # What runs on it.

    def on(self, node, script, *words):
        """A shell script on a node, which changes the node for good."""
        self.cluster.is_as_made = False
        self.cluster.execute(node, ["sh", "-c", script, *map(str, words)], check=True, capture_output=True)

    def background(self, node, argv):
        """A process of this program on a node, which ends with the scene."""
        helper = subprocess.Popen(self.cluster.argv_in(node, argv), stdout=subprocess.PIPE, text=True)
        self.helpers.append(helper)
        self.own.add(helper.pid)
        return helper

    def ranks(self, node):
        """Pids of the ranks on a node, by number. A child has its rank's variables: the one whose parent has none is the rank. The watchdog that
        a rank leaves to init has them too, until it has shed them: the oldest is the rank."""
        found = {}
        pids = sorted(pid for pid in self.cluster.processes(node) if comm_of(pid).startswith("muster-rank"))
        for pid in pids:
            env = vc.environment_of(pid)
            number = env.get("OMPI_COMM_WORLD_RANK") or env.get("PMIX_RANK") or env.get("PMI_RANK")
            if number is not None and parent_of(pid) not in pids:
                found.setdefault(int(number), pid)
        return found

    def daemons(self, node):
        return [pid for pid in self.cluster.processes(node) if comm_of(pid) in DAEMONS]

    def launchers(self):
        return [pid for pid in self.run.processes() if comm_of(pid) in LAUNCHERS]

    def drivers(self):
        """The driver, and before it the process that cleans up after it, as where a whole control group is killed: the watchdogs are left."""
        pids = [pid for pid in [self.run.process.pid, *self.run.processes()] if comm_of(pid).startswith("muster-test")]
        return sorted(pids, reverse=True)

    def wait_for(self, find, seconds=20):
        """What `find` returns, once it is not empty; empty where the run has ended before."""
        support.wait_until(lambda: find() or self.run.process.poll() is not None, seconds)
        return find()

    # What is left.

    def leftovers(self):
        """Processes of the run, and files in /dev/shm of the nodes, that are still there."""
        left = [support.command_line(pid) for pid in self.run.processes() if pid not in self.own]
        for node in self.cluster.names:
            with contextlib.suppress(vc.ClusterError):
                holder = self.cluster.holder(node)
                words = [support.command_line(pid) for pid in self.cluster.processes(node) if pid not in {holder, *self.own}]
                # Slurm's daemons stay until they hear of the end of the job.
                left += [f"{node}: {line}" for line in words if ": slurmd" not in line and ": slurmstepd" not in line and not line.endswith(": ")]
                left += [f"{node}: /dev/shm/{name}" for name in os.listdir(f"/proc/{holder}/root/dev/shm") if name != "full"]
        return sorted(set(left))

    def close(self):
        self.ended.set()
        for words in self.at_end:
            command(*words)
        for helper in self.helpers:
            with contextlib.suppress(ProcessLookupError):
                helper.send_signal(signal.SIGKILL)
            helper.wait()
            helper.stdout.close()
        if self.run:
            self.run.clean()
        for group in self.groups:
            with contextlib.suppress(OSError):
                support.wait_until(lambda: not (group / "cgroup.procs").read_text(), 5)
                group.rmdir()


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def why_not(name):
    """Why this machine can't have that cluster; None: it can."""
    if MACHINES[name].has_slurm:
        return slurm_services.why_not()
    if MACHINES[name].launcher == "mpiexec" and not (shutil.which("mpiexec.mpich") and support.AGENT_MPICH.exists()):
        return "MPICH and its agent are not installed"
    if MACHINES[name].mpi and not other_mpis.has(MACHINES[name].mpi):
        return f"MUSTER_TEST_MPIS names no folder with {MACHINES[name].mpi}"
    return None
