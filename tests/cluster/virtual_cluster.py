"""N virtual nodes on this machine: namespaces on a bridge, real host names, real TCP. See docs/proving-ground.md.

Use as a command (`tests/cluster/cluster`) or as a module:

    with virtual_cluster.running(2) as cluster:
        cluster.execute("nid001", ["hostname"])
        cluster.cut("nid002")
"""
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("ip", "tc", "nsenter", "unshare", "mount")
TOKEN = "VIRTUAL_CLUSTER_TOKEN"  # in the environment of everything that runs on the login node
LOGIN = "vclogin"
os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"


class ClusterError(Exception):
    """What could not be done, as a sentence."""


# --- what this machine can do -------------------------------------------------------------------------------------


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


# --- processes, found by namespace or by environment, never by name -----------------------------------------------


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
        number = env.get("OMPI_COMM_WORLD_RANK") or env.get("PMI_RANK")
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


# --- state on disk ------------------------------------------------------------------------------------------------


def state_root():
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    for folder in (runtime, "/run", "/tmp"):
        if folder and os.path.isdir(folder) and os.access(folder, os.W_OK):
            return pathlib.Path(folder) / "virtual-cluster"
    raise ClusterError("no folder for the state of a cluster: neither XDG_RUNTIME_DIR, /run nor /tmp can be written")


@contextlib.contextmanager
def registry():
    """Holds the lock under which names and address ranges are given out."""
    root = state_root()
    root.mkdir(mode=0o700, exist_ok=True)
    with open(root / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield root


def recorded(root):
    return [entry.name for entry in root.iterdir() if (entry / "state.json").exists()] if root.exists() else []


class Cluster:
    """A cluster that is up, or what an earlier run recorded of one."""

    def __init__(self, folder, state):
        self.folder = pathlib.Path(folder)
        self.state = state
        self.children = []  # holders started by this process, to be reaped by it

    @classmethod
    def load(cls, name):
        folder = state_root() / name
        try:
            return cls(folder, json.loads((folder / "state.json").read_text()))
        except (OSError, ValueError):
            raise ClusterError(f"no cluster named {name}; `cluster up N --name {name}` makes one") from None

    def save(self):
        beside = self.folder / "state.json.new"
        beside.write_text(json.dumps(self.state, indent=1))
        beside.rename(self.folder / "state.json")

    # What it is made of.

    name = property(lambda self: self.state["name"])
    index = property(lambda self: self.state["index"])
    bridge = property(lambda self: f"vcbr{self.index}")
    subnet = property(lambda self: f"10.77.{self.index}.0/24")
    login_address = property(lambda self: f"10.77.{self.index}.254")
    agent = property(lambda self: str(self.folder / "agent"))
    hosts = property(lambda self: str(self.folder / "hosts"))
    names = property(lambda self: list(self.state["nodes"]))

    def node(self, name):
        if name not in self.state["nodes"]:
            raise ClusterError(f"no node {name}; there are {', '.join(self.names)}")
        return self.state["nodes"][name]

    def link(self, name):
        """Host side of the node's network cable."""
        return f"vc{self.index}n{self.node(name)['number']}"

    def holder(self, name):
        node = self.node(name)
        if start_ticks(node["holder"]) != node["ticks"] or node["ticks"] == 0:
            raise ClusterError(f"node {name} is gone")
        return node["holder"]

    def environment(self):
        """What programs on the login node need; the variables for Open MPI and hydra make them use the nodes."""
        return {
            TOKEN: self.state["token"], "TMPDIR": str(self.folder / "tmp"),
            "VIRTUAL_CLUSTER_NAME": self.name, "VIRTUAL_CLUSTER_NODES": ",".join(self.names),
            "VIRTUAL_CLUSTER_AGENT": self.agent, "VIRTUAL_CLUSTER_SUBNET": self.subnet,
            "VIRTUAL_CLUSTER_ADDRESS": self.login_address, "VIRTUAL_CLUSTER_HOSTS": self.hosts,
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_plm": "rsh", "OMPI_MCA_plm_rsh_agent": self.agent, "OMPI_MCA_btl": "tcp,self,vader",
            "OMPI_MCA_oob_tcp_if_include": self.subnet, "OMPI_MCA_btl_tcp_if_include": self.subnet,
            "HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": self.agent,
        }

    # Running things.

    def argv_in(self, name, argv):
        """`argv` inside a node, in the folder of the caller."""
        return ["nsenter", "-t", str(self.holder(name)), "-n", "-u", "-m", "-i",
                "sh", "-c", 'cd "$0" 2>/dev/null; exec "$@"', os.getcwd(), *map(str, argv)]

    def argv_on_login(self, argv):
        """`argv` where names of nodes resolve and the host name is the login node's; the network stays ours."""
        setup = ('mount --make-rprivate / && mount --bind "$0" /etc/hosts && hostname ' + LOGIN + ' && exec "$@"')
        return ["unshare", "--mount", "--uts", "sh", "-c", setup, self.hosts, *map(str, argv)]

    def execute(self, name, argv, **options):
        """subprocess.run inside a node (or LOGIN)."""
        words = self.argv_on_login(argv) if name == LOGIN else self.argv_in(name, argv)
        env = {**os.environ, **self.environment(), **options.pop("env", {})}
        return subprocess.run(words, env=env, **options)

    # Faults. Each is undone by heal() or down().

    def slow(self, name, rate):
        """Both directions of a node's link, by a token bucket: `200mbit`."""
        shape = ("root", "tbf", "rate", rate, "burst", "32kbit", "latency", "50ms")
        run("tc", "qdisc", "replace", "dev", self.link(name), *shape)
        run("nsenter", "-t", self.holder(name), "-n", "tc", "qdisc", "replace", "dev", "eth0", *shape)

    def cut(self, name):
        """Takes the cable out: packets vanish, nobody is told."""
        run("ip", "link", "set", self.link(name), "down")

    def heal(self, name):
        run("ip", "link", "set", self.link(name), "up")
        for words in (("tc", "qdisc", "del", "dev", self.link(name), "root"),
                      ("nsenter", "-t", self.holder(name), "-n", "tc", "qdisc", "del", "dev", "eth0", "root")):
            subprocess.run([str(word) for word in words], capture_output=True)  # fails where it was not slow

    def remove(self, name):
        """The node loses power: first its link (so that no peer gets a farewell packet), then all that runs on it."""
        with contextlib.suppress(ClusterError):
            self.cut(name)
        network = self.node(name)["network"]
        end_all(lambda pid: network_of(pid) == network)

    def fill(self, name, path, size="1m"):
        """A file system of that size at `path` of the node, without a byte to spare."""
        script = ('mkdir -p "$0" && mount -t tmpfs -o size="$1" tmpfs "$0" && '
                  '{ cat /dev/zero > "$0/full" 2>/dev/null; test -s "$0/full"; }')
        run(*self.argv_in(name, ["sh", "-c", script, path, size]))

    def processes(self, name):
        network = self.node(name)["network"]
        return [pid for pid in every_pid() if network_of(pid) == network]

    # The end.

    def down(self):
        """Ends all that runs in it, removes links and state. Right for a whole cluster, a half-made one, a stale one."""
        token = self.state["token"]
        networks = {node["network"] for node in self.state["nodes"].values() if node.get("network")}
        end_all(lambda pid: network_of(pid) in networks or environment_of(pid).get(TOKEN) == token)
        for child in self.children:
            child.wait()
        for link in [self.link(name) for name in self.names] + [self.bridge]:
            subprocess.run(["ip", "link", "del", link], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)


# --- making one ---------------------------------------------------------------------------------------------------


def up(count, name="vc", owner=0):
    """Brings up `count` nodes. `owner`: pid without which the cluster has no right to exist."""
    reason = why_not()
    if reason:
        raise ClusterError(reason)
    if not 1 <= count <= 250:
        raise ClusterError(f"{count} nodes: 1 to 250 fit into one address range")
    sweep()
    cluster = reserve(count, name, owner)
    try:
        build(cluster)
    except BaseException:
        cluster.down()
        raise
    return cluster


def sweep():
    """Takes down clusters whose owner is dead."""
    with registry() as root:
        names = recorded(root)
    for name in names:
        with contextlib.suppress(ClusterError):
            cluster = Cluster.load(name)
            owner = cluster.state["owner"]
            if owner["pid"] and start_ticks(owner["pid"]) != owner["ticks"]:
                cluster.down()


def reserve(count, name, owner):
    """Records name and address range before anything is made, so that whatever happens can be undone."""
    with registry() as root:
        folder = root / name
        if (folder / "state.json").exists():
            raise ClusterError(f"cluster {name} is already up; `cluster down --name {name}` first")
        taken = {Cluster.load(other).index for other in recorded(root)}
        used = run("ip", "-o", "address")
        first = zlib.crc32(name.encode()) % 250
        index = next((k for k in ((first + i) % 250 + 1 for i in range(250))
                      if k not in taken and f"vcbr{k} " not in used and f"10.77.{k}." not in used), None)
        if index is None:
            raise ClusterError("no address range 10.77.K.0/24 is free")
        (folder / "tmp").mkdir(mode=0o700, parents=True)
        nodes = {f"nid{i:03d}": {"number": i, "address": f"10.77.{index}.{i}", "holder": 0, "ticks": 0, "network": ""}
                 for i in range(1, count + 1)}
        cluster = Cluster(folder, {"name": name, "index": index, "nodes": nodes, "token": f"{name}-{os.urandom(8).hex()}",
                                   "owner": {"pid": owner, "ticks": start_ticks(owner) if owner else 0}})
        cluster.save()
        return cluster


def build(cluster):
    write_files(cluster)
    run("ip", "link", "add", cluster.bridge, "type", "bridge")
    run("ip", "address", "add", f"{cluster.login_address}/24", "dev", cluster.bridge)
    run("ip", "link", "set", cluster.bridge, "up")
    holders = {name: start_holder(cluster, name) for name in cluster.names}
    cluster.children = list(holders.values())
    try:
        for name, holder in holders.items():
            expect(holder, "made", name)
            node = cluster.node(name)
            node.update(holder=holder.pid, ticks=start_ticks(holder.pid), network=network_of(holder.pid))
        cluster.save()
        for name, holder in holders.items():
            link = cluster.link(name)
            run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", holder.pid)
            run("ip", "link", "set", link, "master", cluster.bridge, "up")
            holder.stdin.write("go\n")
            holder.stdin.flush()
        for name, holder in holders.items():
            expect(holder, "ready", name)
    except BaseException:
        for holder in holders.values():
            holder.kill()
        raise
    finally:
        for holder in holders.values():
            holder.stdin.close()
            holder.stdout.close()


def write_files(cluster):
    lines = ["127.0.0.1 localhost", f"{cluster.login_address} {LOGIN}"]
    lines += [f"{node['address']} {name}" for name, node in cluster.state["nodes"].items()]
    pathlib.Path(cluster.hosts).write_text("\n".join(lines) + "\n")
    agent = pathlib.Path(cluster.agent)
    # The interpreter by its own path and without site packages: an agent is started once per node and launch.
    agent.write_text(f'#!/bin/sh\nexec "{os.path.realpath(sys.executable)}" -ESB "{HERE}/rsh_agent.py" '
                     f'"{cluster.folder}" "$@"\n')
    agent.chmod(0o755)


def start_holder(cluster, name):
    words = ["unshare", "--net", "--uts", "--mount", "--ipc", os.path.realpath(sys.executable), "-ESB",
             HERE / "node_holder.py", name, cluster.node(name)["address"], cluster.hosts, cluster.folder / "tmp"]
    return subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            start_new_session=True)


def expect(holder, word, name):
    line = holder.stdout.readline().strip()
    if line != word:
        raise ClusterError(f"node {name} did not come up: {line or 'its holder died'}")


@contextlib.contextmanager
def running(count, name=None):
    """A cluster for the length of a `with` block. It goes down whatever happens, also when this process is killed:
    then by a guard that waits for the other end of its pipe to close."""
    name = name or f"vc{os.getpid()}"
    cluster = up(count, name, owner=os.getpid())
    guard = subprocess.Popen([sys.executable, "-B", str(HERE / "cluster"), "guard", "--name", name],
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield cluster
    finally:
        cluster.down()
        guard.stdin.close()
        guard.wait()
