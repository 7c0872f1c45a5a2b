"""One training, started in two ways: one task per rank by the launcher (srun, mpirun), as large systems want it; and
torchrun in one task of each node. Compared are the time until all ranks have met, the training's own, and the CPUs.

A launcher inside a launcher shows in the CPUs: torchrun's workers inherit those of the one task that started it, and
where that has a single core, ten seconds become ten minutes.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import muster_torch as muster
from job import Job

MARK = "launched: "  # prefix of the report of a torchrun worker to the task that started it
FACTOR, SLACK = 5, 20  # slower by this factor and by more than these seconds is not noise
STARTED = "MUSTER_TORCHRUN_STARTED"  # for its workers: the node's uptime when torchrun was started
OURS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
        "MUSTER_MEETING")


def age():
    """Seconds since the launch of this rank: the interpreter, its imports and torchrun are part of it."""
    if STARTED in os.environ:
        return uptime() - float(os.environ[STARTED])
    with open("/proc/self/stat") as file:
        return uptime() - int(file.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")


def uptime():
    with open("/proc/uptime") as file:
        return float(file.read().split()[0])


def work(patience):
    """Meets the others, trains for one epoch. Returns the job and what is to be compared."""
    mask = sorted(os.sched_getaffinity(0))  # before torch starts threads of its own
    job = Job(muster.import_torch(), patience)
    startup = age()
    import training
    small = training.Training(job)
    begun = time.perf_counter()
    small.epoch()
    took = time.perf_counter() - begun
    return job, {"rank": job.place.rank, "node": muster.HOST, "mask": mask, "cpus": os.cpu_count(),
                 "startup": startup, "training": took}


def run_torchrun(workers, mask, patience):
    """The same, by torchrun on this node: the workers' reports, or the reason of their absence."""
    environment = {name: value for name, value in os.environ.items() if name not in OURS}
    environment[STARTED] = str(uptime())
    own = os.sched_getaffinity(0)
    # Documented is one task per node that has all of its cores. Here that task has its own ranks' cores together, where
    # the control group lets it.
    try:
        os.sched_setaffinity(0, mask)
    except OSError:
        pass
    logs = tempfile.mkdtemp(prefix="muster-torch-")
    # Its own way of keeping the workers' output, written in full: with Python 3.11, torch 1.13 stumbles over its default.
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={workers}",
               "--redirects=1", "--tee=1", f"--log_dir={logs}",
               os.path.abspath(__file__), "--worker", "--patience", str(patience)]
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=patience, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return {"problem": f"its workers had not finished after {patience:g} s"}
    finally:
        os.sched_setaffinity(0, own)
        shutil.rmtree(logs, ignore_errors=True)
    reported = [json.loads(line.partition(MARK)[2]) for line in done.stdout.splitlines() if MARK in line]
    if done.returncode == 0 and len(reported) == workers:
        return {"reports": reported}
    print(done.stdout, end="")
    return {"problem": f"it exited with {done.returncode}; {cause_in(done.stdout)}"}


def cause_in(output):
    """The first finding of a worker, else the last line that is not torchrun's own summary."""
    for line in output.splitlines():
        if '{"finding"' in line:
            return json.loads(line[line.index("{"):])["finding"]["reason"]
    lines = [line for line in output.splitlines() if "Error" in line]
    return (lines or ["it printed nothing"])[-1].strip()[:300]


# --- what it means ------------------------------------------------------------------------------------------------


def cpus_text(mask):
    return ("CPU " if len(mask) == 1 else "CPUs ") + ", ".join(str(cpu) for cpu in mask[:8]) + \
        (f" and {len(mask) - 8} more" if len(mask) > 8 else "")


def crowded(rows):
    """The CPUs that all of `rows` (ranks of one node) have together, where they are fewer than the ranks though the node
    has enough; else None."""
    union = sorted({cpu for row in rows for cpu in row["mask"]})
    return union if len(union) < min(len(rows), rows[0]["cpus"]) else None


def by_node(rows):
    nodes = {}
    for row in rows:
        nodes.setdefault(row["node"], []).append(row)
    return nodes


def judge(launcher, tasks, torchrun):
    """Findings: (reason, remedy, culprits). `tasks`: the results of each rank; `torchrun`: by node, reports or problem."""
    findings = []
    for node, rows in by_node(tasks).items():
        together = crowded(rows)
        if together:
            findings.append((
                f"the {len(rows)} ranks of {launcher} on {node} have {cpus_text(together)} together, of {rows[0]['cpus']} "
                "on the node: a launcher inside a launcher, or a binding for one rank",
                "let one launcher start the ranks, each with cores of its own: srun -n RANKS -c CORES, or mpirun --map-by "
                "ppr:RANKS:node:PE=CORES; nothing that starts ranks in between",
                [{"launcher": launcher, "node": node}] + [{"rank": row["rank"]} for row in rows]))
    if findings:
        return findings  # torchrun would have the same CPUs
    slowest = {key: max(row[key] for row in tasks) for key in ("startup", "training")}
    for node, seen in torchrun.items():
        culprits = [{"launcher": f"torchrun in {launcher}", "node": node}]
        if "problem" in seen:
            findings.append((f"torchrun in a task of {launcher} on {node} failed where {launcher} alone started the same "
                             f"training: {seen['problem']}",
                             f"start one task per rank with {launcher}, and no torchrun", culprits))
            continue
        rows = seen["reports"]
        together = crowded(rows)
        if together:
            findings.append((
                f"the {len(rows)} workers of torchrun on {node} have {cpus_text(together)} together, of {rows[0]['cpus']} "
                f"on the node: torchrun inherits the CPUs of its one task of {launcher}",
                f"start one task per rank with {launcher}; or give torchrun's task all cores: srun -n NODES -c CORES "
                "--cpu-bind=none torchrun ..., mpirun --bind-to none torchrun ...", culprits))
            continue
        for key, words in (("startup", "to start"), ("training", "for the training")):
            slow = max(row[key] for row in rows)
            if slow > FACTOR * slowest[key] and slow > slowest[key] + SLACK:
                findings.append((
                    f"torchrun in a task of {launcher} on {node} needs {slow:.1f} s {words}, {launcher} alone "
                    f"{slowest[key]:.1f} s: two launchers get in each other's way",
                    f"start one task per rank with {launcher}, and no torchrun", culprits))
    return findings


def launcher_name(environment):
    # In this order: inside a Slurm job mpirun sets its own, and Slurm's are there, too.
    for variable, name in (("OMPI_COMM_WORLD_SIZE", "mpirun"), ("HYDI_CONTROL_FD", "mpiexec"), ("PALS_RANKID", "aprun"),
                           ("SLURM_STEP_ID", "srun"), ("PMI_RANK", "mpiexec")):
        if variable in environment:
            return name
    return "the launcher"


def describe(tasks, torchrun):
    def line(way, rows):
        masks = {tuple(row["mask"]) for row in rows}
        shared = "each has CPUs of its own" if sum(map(len, masks)) == len(set().union(*masks)) and \
            len(masks) == len(rows) else f"sharing {cpus_text(sorted(set().union(*masks)))}" if len(masks) == 1 else \
            "some share CPUs"
        return (f"{way}: {max(row['startup'] for row in rows):.1f} s to start, "
                f"{max(row['training'] for row in rows):.1f} s for an epoch, {shared}")

    workers = [row for seen in torchrun.values() for row in seen["reports"]]
    return [line("one task per rank", tasks), line("torchrun", workers)]


def be_worker(patience):
    """A rank started by torchrun: prints a line for the task that started it."""
    job, mine = work(patience)
    sys.stdout.write(MARK + json.dumps(mine) + "\n")
    job.finish()


def main():
    options = muster.Arguments(description=__doc__)
    options.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--patience", type=float, default=60, help="seconds to wait for another rank, and for torchrun")
    asked = options.parse_args()
    if asked.worker:
        be_worker(asked.patience)
    job, mine = work(asked.patience)
    place = job.place
    tasks = job.gather(mine)
    own = by_node(tasks)[muster.HOST]
    found = None
    if place.local_rank == 0 and not crowded(own):
        found = run_torchrun(place.local_size, {cpu for row in own for cpu in row["mask"]}, asked.patience)
    torchrun = {row["node"]: one for row, one in zip(tasks, job.gather(found, 2 * asked.patience)) if one}
    muster.metric("startup", mine["startup"], "s", way="tasks")
    muster.metric("training", mine["training"], "s", way="tasks")
    for row in (found or {}).get("reports", ()):
        muster.metric("startup", row["startup"], "s", way="torchrun")
        muster.metric("training", row["training"], "s", way="torchrun")
    if place.rank == 0:
        job.device.tell()
        findings = judge(launcher_name(os.environ), tasks, torchrun)
        for reason, remedy, culprits in findings:
            job.complain(reason, remedy, culprits)
        for sentence in describe(tasks, torchrun) if not findings else ():
            muster.evidence(sentence)
    job.finish()


if __name__ == "__main__":
    muster.run(main)
