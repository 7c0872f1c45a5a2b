"""A real Slurm on a virtual cluster: munged and slurmctld on the login node, one slurmd on every node, PMIx, GPUs that
are only counted. See docs/proving-ground.md.

What runs on the login node carries the cluster's token, what runs on nodes is in their networks: Cluster.down() ends all
of it by that, whoever started it. Nothing lies outside the cluster's folder.
"""
import os
import pathlib
import shutil
import stat
import subprocess
import time

from cluster_state import LOGIN, TOKEN
from slurm_files import Shape, gpus_of, gres_conf, slurm_conf
from this_machine import ClusterError, network_of

PROGRAMS = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client"}
PATIENCE_S = 30.0


def why_not():
    """Why this machine can't have a Slurm of its own; None: it can."""
    missing = [package for program, package in PROGRAMS.items() if shutil.which(program) is None]
    return f"Slurm needs the packages {', '.join(missing)}" if missing else None


def start(cluster, shape=Shape()):
    """Returns when every node is idle. Fails with the end of the logs."""
    reason = why_not()
    if reason:
        raise ClusterError(reason)
    write_files(cluster, shape)
    cluster.state["slurm"] = True
    cluster.save()
    folder = cluster.slurm
    on_login(cluster, ["munged", "--foreground", "--force", "--key-file", f"{folder}/munge.key", "--socket",
                       f"{folder}/munge.socket", "--pid-file", f"{folder}/munge.pid", "--log-file",
                       f"{folder}/munge.log", "--seed-file", f"{folder}/munge.seed"])
    wait_for(lambda: (folder / "munge.socket").exists(), cluster, "munged does not listen")
    on_login(cluster, ["slurmctld", "-D"])
    wait_for(lambda: ask(cluster, "scontrol", "ping").returncode == 0, cluster, "slurmctld does not answer")
    for name in cluster.names:
        start_slurmd(cluster, name)
    wait_for(lambda: set(states(cluster).values()) == {"idle"}, cluster, "not all nodes are idle")


def write_files(cluster, shape):
    folder = cluster.slurm
    (folder / "state").mkdir(parents=True, mode=0o700)
    pathlib.Path(cluster.slurm_conf).write_text(slurm_conf(cluster, shape, LOGIN))
    (folder / "gres.conf").write_text(gres_conf(cluster, shape))
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    for number in range(gpus_of(shape)):
        os.mknod(folder / f"gpu{number}", stat.S_IFCHR | 0o666, os.makedev(1, 3))  # /dev/null by another name


def spawn(cluster, words):
    """A service of the cluster. What it can't write to its log goes to a file of its own."""
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    env |= {TOKEN: cluster.state["token"], "SLURM_CONF": cluster.slurm_conf}
    with open(cluster.slurm / "said", "ab") as said:
        service = subprocess.Popen(words, env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                   start_new_session=True)
    cluster.children.append(service)
    return service


def on_login(cluster, words):
    return spawn(cluster, cluster.argv_on_login(words))


def start_slurmd(cluster, name):
    return spawn(cluster, cluster.argv_in(name, ["env", *cluster.of_daemons(), "slurmd", "-D", "-N", name]))


def ask(cluster, *words):
    """A command of Slurm's on the login node."""
    return cluster.execute(LOGIN, words, capture_output=True, text=True)


def states(cluster):
    """`idle`, `allocated`, `drained`, `down*`, ... of every node."""
    told = ask(cluster, "sinfo", "--noheader", "--Node", "--partition=standard", "--format=%N %T").stdout
    return dict(line.split() for line in told.splitlines())


def wait_for(claim, cluster, problem):
    deadline = time.monotonic() + PATIENCE_S
    while not claim():
        if time.monotonic() > deadline:
            raise ClusterError(f"{problem}\n{last_words(cluster)}")
        time.sleep(0.02)


def last_words(cluster):
    logs = [path for path in sorted(cluster.slurm.glob("*.log")) + [cluster.slurm / "said"] if path.exists()]
    return "\n".join(f"{path.name}: {line}" for path in logs
                     for line in path.read_text(errors="replace").splitlines()[-6:])


# --- faults -------------------------------------------------------------------------------------------------------


def update(cluster, *words):
    done = ask(cluster, "scontrol", "update", *words)
    if done.returncode != 0:
        raise ClusterError(f"scontrol update {' '.join(words)}: {done.stderr.strip()}")


def drain(cluster, name, reason="drained by hand"):
    """No new job gets the node; one that runs there goes on."""
    cluster.node(name)
    update(cluster, f"nodename={name}", "state=drain", f"reason={reason}")


def resume(cluster, name):
    cluster.node(name)
    update(cluster, f"nodename={name}", "state=resume")


def kill_slurmd(cluster, name):
    """The daemon dies, the node and what runs on it live on. Slurm notices after SlurmdTimeout, or when it asks."""
    network = cluster.node(name)["network"]
    pid_file = cluster.folder / "tmp" / "slurmd.pid"
    told = cluster.execute(name, ["cat", pid_file], capture_output=True, text=True).stdout.strip()
    if not told.isdigit() or network_of(int(told)) != network:
        raise ClusterError(f"no slurmd on {name}")
    os.kill(int(told), 9)
    # On a busy machine it takes its time to go.
    wait_for(lambda: network_of(int(told)) != network, cluster, f"slurmd on {name} does not end")


def down(cluster, name):
    """What an operator says of a node that has gone: jobs that need it end at once."""
    cluster.node(name)
    update(cluster, f"nodename={name}", "state=down", "reason=taken away")
