"""What a virtual cluster needs of this machine: its tools, and its processes, found by namespace or by environment,
never by name. Part of virtual_cluster.py."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time

PROGRAMS = ("ip", "tc", "nsenter", "unshare", "mount")
os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"


class ClusterError(Exception):
    """What could not be done, as a sentence."""


def why_not():
    """Why this machine can't hold a virtual cluster; None: it can."""
    if os.geteuid() != 0:
        return "virtual nodes need root (network and mount namespaces)"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"virtual nodes need {', '.join(missing)} (packages iproute2 and util-linux)"
    tried = subprocess.run(["unshare", "--net", "--uts", "--mount", "--ipc", "ip", "link", "add", "br0", "type", "bridge"],
                           capture_output=True, text=True)
    if tried.returncode != 0:
        return f"virtual nodes need namespaces and bridges: {tried.stderr.strip()}"
    return None


def run(*words):
    """Runs a system tool; its complaint becomes a ClusterError."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise ClusterError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


# --- processes ----------------------------------------------------------------------------------------------------


def start_ticks(pid):
    """Field 22 of /proc/PID/stat, which tells a pid from its reuse; 0: no such process, or a dead one."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


def network_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return ""


def environment_of(pid):
    try:
        words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return dict(word.decode(errors="replace").split("=", 1) for word in words if b"=" in word)


def every_pid():
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def ancestors():
    """This process and those above it, which a clean-up must not end."""
    found, pid = set(), os.getpid()
    while pid > 1:
        found.add(pid)
        pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return found


def end_all(belongs, patience=5.0):
    """KILL for every process that belongs, again until none is left: a dying one may just have forked."""
    spared, deadline = ancestors(), time.monotonic() + patience
    while True:
        left = [pid for pid in every_pid() if pid not in spared and belongs(pid)]
        if not left:
            return
        if time.monotonic() > deadline:
            raise ClusterError(f"processes {left} survive KILL")
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def find_rank(tag, rank):
    """The pid of a rank of a launch, by the variables in its environment. Fails when there is not exactly one."""
    found = []
    for pid in every_pid():
        env = environment_of(pid)
        number = env.get("OMPI_COMM_WORLD_RANK") or env.get("PMI_RANK") or env.get("PMIX_RANK")
        if env.get("MUSTER_TAG") == tag and number == str(rank):
            found.append(pid)
    # A rank's own children inherit its environment: the one whose parent is not among them is the rank.
    heads = [pid for pid in found if parent_of(pid) not in found]
    if len(heads) != 1:
        raise ClusterError(f"{len(heads)} processes are rank {rank} of {tag}")
    return heads[0]


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
