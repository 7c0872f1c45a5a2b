"""One virtual cluster: what is recorded of it, runs in it, goes wrong in it, and its end. Part of virtual_cluster.py."""
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import subprocess

import node_links
from this_machine import ClusterError, end_all, environment_of, every_pid, network_of, run, start_ticks

TOKEN = "VIRTUAL_CLUSTER_TOKEN"  # in the environment of everything that runs on the login node
LOGIN = "vclogin"


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
        self.is_as_made = True  # no fault was injected by this process

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
    has_data_network = property(lambda self: bool(self.state.get("data_network")))
    data_bridge = property(lambda self: f"vcdb{self.index}")
    data_subnet = property(lambda self: f"10.78.{self.index}.0/24")
    login_address = property(lambda self: f"10.77.{self.index}.254")
    agent = property(lambda self: str(self.folder / "agent"))
    hosts = property(lambda self: str(self.folder / "hosts"))
    slurm = property(lambda self: self.folder / "slurm")  # folder of what slurm_services.py brings up
    slurm_conf = property(lambda self: str(self.slurm / "slurm.conf"))
    has_slurm = property(lambda self: bool(self.state.get("slurm")))
    names = property(lambda self: list(self.state["nodes"]))

    def node(self, name):
        if name not in self.state["nodes"]:
            raise ClusterError(f"no node {name}; there are {', '.join(self.names)}")
        return self.state["nodes"][name]

    def link(self, name):
        """Host side of the node's network cable."""
        return f"vc{self.index}n{self.node(name)['number']}"

    def data_link(self, name):
        """Host side of its cable of the data network, where there is one."""
        return f"vc{self.index}d{self.node(name)['number']}"

    def data_address(self, name):
        return f"10.78.{self.index}.{self.node(name)['number']}"

    def ends(self, name, way="both"):
        """The devices at the two ends of the cable: each holds up what is sent from there."""
        inside = node_links.End("eth0", self.holder(name))
        outside = node_links.End(self.link(name))
        return {"both": (inside, outside), "sends": (inside,), "receives": (outside,)}[way]

    def holder(self, name):
        node = self.node(name)
        if start_ticks(node["holder"]) != node["ticks"] or node["ticks"] == 0:
            raise ClusterError(f"node {name} is gone")
        return node["holder"]

    def environment(self):
        """What programs on the login node need; the variables for Open MPI and hydra make them use the nodes."""
        of_mpi = self.data_subnet if self.has_data_network else self.subnet
        return {
            TOKEN: self.state["token"], "TMPDIR": str(self.folder / "tmp"),
            "VIRTUAL_CLUSTER_NAME": self.name, "VIRTUAL_CLUSTER_NODES": ",".join(self.names),
            "VIRTUAL_CLUSTER_AGENT": self.agent, "VIRTUAL_CLUSTER_SUBNET": self.subnet,
            "VIRTUAL_CLUSTER_ADDRESS": self.login_address, "VIRTUAL_CLUSTER_HOSTS": self.hosts,
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_plm": "rsh", "OMPI_MCA_plm_rsh_agent": self.agent, "OMPI_MCA_btl": "tcp,self,vader",
            "OMPI_MCA_oob_tcp_if_include": of_mpi, "OMPI_MCA_btl_tcp_if_include": of_mpi,
            "PRTE_MCA_plm": "ssh", "PRTE_MCA_plm_ssh_agent": self.agent, "PRTE_MCA_prte_if_include": of_mpi,
            "HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": self.agent,
            "I_MPI_HYDRA_BOOTSTRAP": "ssh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": self.agent,
            # With the tree of Slurm 22.05, ranks leave MPI_Init while others are in it: docs/proving-ground.md.
            **({"SLURM_CONF": self.slurm_conf, "SLURM_PMIX_FENCE": "ring"} if self.has_slurm else {}),
            **self.state.get("machine", {}).get("driver", {}),
            # Of a build with the address sanitizer: programs are not searched for leaks there (tests/system.cmake).
            **{name: os.environ[name] for name in ("ASAN_OPTIONS",) if name in os.environ},
        }

    def of_daemons(self):
        """Variables, as words for env, by which launchers' daemons on nodes take these for described ones."""
        return [f"{name}={value}" for name, value in self.state.get("machine", {}).get("daemons", {}).items()]

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

    def slow(self, name, rate, way="both"):
        """A node's link, by a token bucket: `200mbit`. `way`: what it sends, what it receives, or `both`."""
        self.is_as_made = False
        for end in self.ends(name, way):
            node_links.limit(end, rate)

    def cut(self, name):
        """Takes the cable out: packets vanish, nobody is told."""
        self.is_as_made = False
        run("ip", "link", "set", self.link(name), "down")

    def cut_data(self, name, keeps_carrier=False):
        """The same for the data network alone: the remote shell still reaches the node. `keeps_carrier`: in the switch, where the
        node does not see it."""
        self.is_as_made = False
        run("ip", "link", "set", self.data_link(name), *(("nomaster",) if keeps_carrier else ("down",)))

    def heal(self, name):
        run("ip", "link", "set", self.link(name), "up")
        if self.has_data_network:
            run("ip", "link", "set", self.data_link(name), "master", self.data_bridge, "up")
        for end in self.ends(name):
            node_links.unlimit(end)

    def remove(self, name):
        """The node loses power: first its link (so that no peer gets a farewell packet), then all that runs on it."""
        self.is_as_made = False
        with contextlib.suppress(ClusterError):
            self.cut(name)
            if self.has_data_network:
                self.cut_data(name)
        network = self.node(name)["network"]
        end_all(lambda pid: network_of(pid) == network)

    def fill(self, name, path, size="1m"):
        """A file system of that size at `path` of the node, without a byte to spare."""
        self.is_as_made = False
        script = ('mkdir -p "$0" && mount -t tmpfs -o size="$1" tmpfs "$0" && '
                  '{ cat /dev/zero > "$0/full" 2>/dev/null; test -s "$0/full"; }')
        run(*self.argv_in(name, ["sh", "-c", script, path, size]))

    def set_apart(self, name):
        """The node becomes a machine of its own to whoever looks: another boot, CPU times that others' work leaves
        alone (they stand still). For tests of what is judged by timing, which is refused where nodes share cores."""
        self.is_as_made = False
        script = ('mount -t tmpfs tmpfs /mnt && cp /proc/sys/kernel/random/uuid /mnt/boot && '
                  'cat /proc/stat > /mnt/stat && mount --bind /mnt/boot /proc/sys/kernel/random/boot_id && '
                  'mount --bind /mnt/stat /proc/stat')
        run(*self.argv_in(name, ["sh", "-c", script]))

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
        cables = [of(name) for name in self.names for of in (self.link, self.data_link)]
        for link in cables + [self.bridge, self.data_bridge]:
            subprocess.run(["ip", "link", "del", link], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)
