"""The live corpus: machine, fault, when it comes, and the right answer, which was written down from what the fault is. Part of live.py."""
import signal
import typing

import live_faults as f
import support
from live_machines import AFTER, BEFORE, CHECKS, DEADLINE_S
from support import check

KILL, STOP, SEGV = signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV


class Entry(typing.NamedTuple):
    """`kinds` are right; the first is the row of the confusion matrix. `at_fault` must be named (roles of a FaultContext), `tolerated` may be:
    evidence does not tell them apart. A kind `pass`: the fault may do no harm, as MPI's transport repairs it."""

    name: str
    machine: str
    when: str  # before, start: in its first second, moment: any in the case `work`, always: by what is started, never
    faults: tuple
    kinds: tuple
    at_fault: tuple = ("rank",)
    tolerated: tuple = ()
    checks: typing.Callable = lambda scene: CHECKS
    options: typing.Callable = lambda scene: ()
    env: typing.Callable = lambda scene: {}
    needs: str = ""  # a program
    leaves: bool = False  # what it stops can not end itself


def misbehaves(how):
    """A rank goes wrong by itself in the middle of a case."""
    return lambda scene: BEFORE + check("work", how=how, rank=scene.rank, timeout=f"{DEADLINE_S}s") + AFTER


def preloaded(library, variables):
    def options(scene):
        words = {"LD_PRELOAD": str(support.BIN / library), **variables(scene)}
        return [f"-J={word}" for name, value in words.items() for word in ("-x", f"{name}={value}")]
    return options


def flipped(scene):
    return {"FLIP_IN": "allreduce", "FLIP_RANK": scene.rank, "FLIP_BYTES": 65536, "FLIP_CALL": 5, "FLIP_STAYS": 1, "FLIP_BYTE": 4001, "FLIP_BIT": 3}


def flipped_message(scene):
    return {"FLIP_IN": "recv", "FLIP_RANK": scene.rank, "FLIP_BYTES": 24, "FLIP_CALL": 3, "FLIP_BYTE": 17, "FLIP_BIT": 5}


def messages(scene):
    return BEFORE + check("work", probe="p2p", timeout="60s", sizes=["64KiB"], latency_sizes=["24B"], memory="1MiB", cap="20ms") + AFTER


def links(scene):
    """Each link of 200 Mbit/s, so that the network is slow and not the processors."""
    for node in scene.cluster.names:
        scene.cluster.slow(node, "200mbit")
    return BEFORE + check("work", probe="p2p", timeout="60s", least_slowdown=0.5, sizes=["16KiB"], window=8, memory="1MiB", cap="100ms", interval=0.0001) + AFTER


def apart(scene):
    for node in scene.cluster.names:
        scene.cluster.set_apart(node)


SLEEPY = preloaded("sleepy_yield.so", lambda scene: {})
CLOCKS = '[check.clocks]\nprobe = "clock_skew"\nsummary = "A test."\nranks = "one-per-node"\nnodes = 2\ntimeout = "20s"\n[check.clocks.params]\nmax_offset = "100ms"\n'
MEMORY = check("memory", probe="memory_bandwidth", ranks=1, timeout="60s", bytes="4MiB", cap="50ms")


def clock(scene):
    return {"WRONG_CLOCK_HOST": scene.node, "WRONG_CLOCK_S": 10}


def on_both(name, *rest, **more):
    """The same below mpirun and below Slurm."""
    return [Entry(f"{name}{suffix}", machine, *rest, **more) for suffix, machine in (("", "mpirun x 4"), (", Slurm", "Slurm x 4"))]


def on_other_mpi(machine):
    """What differs between MPIs: how their launchers report ranks, daemons and nodes that are lost."""
    suffix = f", {machine.rpartition(' x ')[0]}"
    return [
        Entry(f"rank stopped{suffix}", machine, "moment", (f.signal_rank(STOP),), ("stopped",)),
        # Hydra does not always report which rank of a node was killed, or exited.
        Entry(f"rank killed{suffix}", machine, "moment", (f.signal_rank(KILL),), ("killed", "ended"), tolerated=("node",)),
        Entry(f"rank crashes{suffix}", machine, "moment", (f.signal_rank(SEGV),), ("crashed",)),
        Entry(f"rank spins{suffix}", machine, "always", (), ("hangs",), checks=misbehaves("spin")),
        Entry(f"rank exits{suffix}", machine, "always", (), ("exited", "ended"), tolerated=("node",), checks=misbehaves("exit")),
        Entry(f"launcher stopped{suffix}", machine, "moment", (f.signal_launcher(STOP),), ("launcher stopped",), ("launcher",)),
        Entry(f"launcher killed{suffix}", machine, "moment", (f.signal_launcher(KILL),), ("launcher ended", "killed"), ("launcher",)),
        Entry(f"daemon stopped{suffix}", machine, "moment", (f.signal_daemon(STOP),), ("launcher stopped", "stopped", "unreachable", "pass"), ("node",), ("launcher",)),
        Entry(f"daemon killed{suffix}", machine, "moment", (f.signal_daemon(KILL),), ("unreachable", "launcher ended", "killed", "ended"), ("node",), ("launcher",)),
        Entry(f"link down{suffix}", machine, "moment", (f.cut,), ("unreachable",), ("node",)),
        Entry(f"link down before{suffix}", machine, "before", (f.cut,), ("unreachable",), ("node",)),
        Entry(f"/dev/shm full{suffix}", machine, "before", (f.fill_shm,), ("full", "pass"), ("node",)),
        Entry(f"muster not installed{suffix}", machine, "before", (f.not_installed,), ("not there",), ("node",)),
    ]


RANKS = [
    *on_both("rank stopped", "moment", (f.signal_rank(STOP),), ("stopped",)),
    *on_both("rank killed", "moment", (f.signal_rank(KILL),), ("killed",)),
    *on_both("rank crashes", "moment", (f.signal_rank(SEGV),), ("crashed",)),
    *on_both("rank spins", "always", (), ("hangs",), checks=misbehaves("spin")),
    *on_both("rank waits for ever", "always", (), ("hangs",), checks=misbehaves("hang")),
    *on_both("rank exits", "always", (), ("exited",), checks=misbehaves("exit")),
    *on_both("ranks of a node stopped", "moment", (f.signal_rank(STOP, "ranks"),), ("stopped",), ("node",)),
    *on_both("rank at half duty", "moment", (f.half_duty,), ("pass", "slow", "hangs", "stopped"), tolerated=("node",)),
    Entry("rank stopped of 4", "mpirun x 2", "moment", (f.signal_rank(STOP),), ("stopped",)),
    Entry("rank stopped of 12", "mpirun x 6", "moment", (f.signal_rank(STOP),), ("stopped",)),
    Entry("rank stopped at the start", "mpirun x 4", "start", (f.signal_rank(STOP),), ("stopped",)),
    Entry("rank killed at the start", "mpirun x 4", "start", (f.signal_rank(KILL),), ("killed",)),
    Entry("rank stopped, Hydra", "Hydra x 2", "moment", (f.signal_rank(STOP),), ("stopped",)),
    Entry("rank killed, Hydra", "Hydra x 2", "moment", (f.signal_rank(KILL),), ("killed",)),
]
LAUNCHERS = [
    *on_both("launcher stopped", "moment", (f.signal_launcher(STOP),), ("launcher stopped",), ("launcher",)),
    *on_both("launcher killed", "moment", (f.signal_launcher(KILL),), ("launcher ended", "killed"), ("launcher",)),
    *on_both("daemon stopped", "moment", (f.signal_daemon(STOP),), ("launcher stopped", "stopped", "unreachable", "pass"), ("node",), ("launcher",)),
    *on_both("daemon killed", "moment", (f.signal_daemon(KILL),), ("unreachable", "launcher ended", "killed", "ended"), ("node",), ("launcher",)),
    *on_both("driver killed", "moment", (f.signal_driver(KILL),), ("no report",), ()),
    Entry("daemon stopped, Hydra", "Hydra x 2", "moment", (f.signal_daemon(STOP),), ("launcher stopped", "stopped", "unreachable", "pass"), ("node",), ("launcher",)),
    Entry("daemon killed, Hydra", "Hydra x 2", "moment", (f.signal_daemon(KILL),), ("unreachable", "launcher ended", "killed", "ended"), ("node",), ("launcher",)),
    Entry("slurmd killed", "Slurm x 4", "moment", (f.kill_slurmd,), ("pass", "unreachable"), ("node",)),
    Entry("slurmd killed before", "Slurm x 4", "before", (f.kill_slurmd,), ("unreachable",), ("node",)),
    Entry("daemon does not start", "mpirun x 4", "before", (f.daemon_fails,), ("does not start",), ("node",)),
]
NETWORKS = [
    *on_both("link down", "moment", (f.cut,), ("unreachable",), ("node",)),
    Entry("link down before", "mpirun x 4", "before", (f.cut,), ("unreachable",), ("node",)),
    Entry("link down at the start", "mpirun x 4", "start", (f.cut,), ("unreachable",), ("node",)),
    Entry("link of one of two nodes down", "mpirun x 2", "moment", (f.cut,), ("unreachable",), ("node",)),
    Entry("link down of 6", "mpirun x 6", "moment", (f.cut,), ("unreachable",), ("node",)),
    Entry("data link down", "two networks x 4", "moment", (f.cut_data,), ("data network",), ("node",)),
    Entry("data link down before", "two networks x 4", "before", (f.cut_data,), ("data network",), ("node",)),
    Entry("data link down at the start", "two networks x 4", "start", (f.cut_data,), ("data network",), ("node",)),
    Entry("switch drops", "two networks x 4", "moment", (f.drop_in_switch,), ("data network",), ("node",)),
    Entry("switch drops before", "two networks x 4", "before", (f.drop_in_switch,), ("data network",), ("node",)),
    Entry("data link down, Slurm", "Slurm, two networks x 4", "moment", (f.cut_data,), ("data network",), ("node",)),
    Entry("data link down before, Slurm", "Slurm, two networks x 4", "before", (f.cut_data,), ("data network",), ("node",)),
    Entry("link in bursts", "mpirun x 4", "moment", (f.in_bursts,), ("pass", "unreachable", "slow", "hangs"), ("node",)),
    Entry("link flaps", "mpirun x 4", "moment", (f.flap,), ("pass", "unreachable", "slow", "hangs"), ("node",)),
    Entry("link loses 2 %", "mpirun x 4", "moment", (f.lossy(2),), ("pass", "slow"), ("node",), needs="nft"),
    Entry("link loses 30 %", "mpirun x 4", "moment", (f.lossy(30),), ("pass", "slow", "unreachable", "hangs"), ("node",), needs="nft"),
    Entry("data link loses 45 %", "two networks x 4", "moment", (f.lossy(45, of_data=True),), ("unreachable", "slow", "hangs", "pass"), ("node",), needs="nft"),
    Entry("link slow", "mpirun x 4", "always", (apart, f.slow("20mbit")), ("slow",), ("node",), checks=links, options=SLEEPY),
    Entry("link slow when it sends", "mpirun x 4", "always", (apart, f.slow("20mbit", "sends")), ("slow",), ("node",), checks=links, options=SLEEPY),
    Entry("link slow when it receives", "mpirun x 4", "always", (apart, f.slow("20mbit", "receives")), ("slow",), ("node",), checks=links, options=SLEEPY),
]
NODES = [
    *on_both("node gone", "moment", (f.remove,), ("unreachable",), ("node",)),
    Entry("node gone before", "mpirun x 4", "before", (f.remove,), ("unreachable",), ("node",)),
    Entry("node gone before, Slurm", "Slurm x 4", "before", (f.remove,), ("unreachable",), ("node",)),
    Entry("node gone at the start", "mpirun x 4", "start", (f.remove,), ("unreachable",), ("node",)),
    Entry("node gone of 6", "mpirun x 6", "moment", (f.remove,), ("unreachable",), ("node",)),
    Entry("node hangs", "mpirun x 4", "moment", (f.freeze,), ("unreachable", "stopped"), ("node",), leaves=True),
    Entry("node hangs before", "mpirun x 4", "before", (f.freeze,), ("unreachable", "stopped"), ("node",), leaves=True),
]
DISKS = [
    *on_both("/dev/shm full", "before", (f.fill_shm,), ("full",), ("node",)),
    *on_both("/dev/shm read-only", "before", (f.read_only_shm,), ("read-only", "pass"), ("node",)),
    Entry("TMPDIR full", "mpirun x 4", "before", (f.fill_tmp,), ("full",), ("node",)),
    Entry("TMPDIR and /tmp read-only", "mpirun x 4", "before", (f.read_only_tmp,), ("read-only",), ("node",)),
    Entry("folder of programs hangs", "mpirun x 4", "before", (f.hanging_folder(lambda scene: f.BIN),), ("file system hangs", "unreachable"), ("node",)),
    Entry("folder of programs hangs later", "mpirun x 4", "moment", (f.hanging_folder(lambda scene: f.BIN),), ("pass", "file system hangs", "unreachable"), ("node",)),
]
PROGRAMS = [
    Entry("muster not installed", "mpirun x 4", "before", (f.not_installed,), ("not there",), ("node",)),
    Entry("muster not installed, Slurm", "Slurm x 4", "before", (f.not_installed,), ("not there",), ("node",)),
    Entry("library missing", "mpirun x 4", "before", (f.library_missing,), ("library",), ("node",)),
    Entry("another version", "mpirun x 4", "before", (f.another_version,), ("another program",), ("node",)),
    Entry("agent of another MPI", "mpirun x 4", "before", (f.agent_of_another_mpi,), ("another program",), ("node",)),
    Entry("home not mounted", "mpirun x 4", "before", (f.home_not_mounted,), ("not there",), ("node",)),
    Entry("host name differs", "mpirun x 4", "before", (f.other_name,), ("name",), ("node",)),
    Entry("two nodes of one name", "mpirun x 4", "before", (f.name_of_other,), ("name",), ("node",), ("other",)),
]
LIMITS = [
    Entry("little memory", "mpirun x 4", "before", (f.little_memory,), ("memory",), ("node",), checks=lambda scene: BEFORE + MEMORY + AFTER),
    Entry("limit on memory", "mpirun x 4", "before", (f.control_group("memory", "memory.limit_in_bytes", 6 << 20),), ("memory", "killed", "ended"), ("node",)),
    Entry("limit on processes", "mpirun x 4", "before", (f.control_group("pids", "pids.max", 5),), ("processes",), ("node",)),
    Entry("limit on files", "mpirun x 4", "before", (f.limited_daemon("ulimit -n 30"),), ("files",), ("node",)),
]
DATA = [
    Entry("clock wrong", "mpirun x 4", "always", (), ("clock",), ("node",), checks=lambda scene: CLOCKS + AFTER, options=preloaded("wrong_clock.so", clock)),
    Entry("clock wrong, Slurm", "Slurm x 4", "always", (), ("clock",), ("node",), checks=lambda scene: CLOCKS + AFTER,
          env=lambda scene: {"LD_PRELOAD": str(support.BIN / "wrong_clock.so"), **{name: str(value) for name, value in clock(scene).items()}}),
    Entry("bit flipped in a sum", "mpirun x 4", "always", (), ("wrong data",), options=preloaded("flipped_bit.so", flipped)),
    Entry("bit flipped in a message", "mpirun x 4", "always", (), ("wrong data",), tolerated=("peers",), checks=messages,
          options=preloaded("flipped_bit.so", flipped_message)),
    *on_both("rank makes a wrong claim", "always", (), ("wrong data",), checks=misbehaves("bad_result")),
]
PAIRS = [
    Entry("two ranks stopped", "mpirun x 4", "moment", (f.signal_rank(STOP), f.signal_rank(STOP, "other rank")), ("stopped",), ("rank", "other rank")),
    Entry("rank stopped, another killed", "mpirun x 4", "moment", (f.signal_rank(STOP), f.signal_rank(KILL, "other rank")), ("killed", "stopped"),
          ("other rank",), ("rank",)),
    Entry("two nodes gone", "mpirun x 6", "moment", (f.remove, f.remove_other), ("unreachable",), ("node", "other")),
    Entry("two data links down before", "two networks x 4", "before", (f.cut_data, f.cut_data_of_other), ("data network",), ("node", "other")),
    Entry("data link down, /dev/shm of another full", "two networks x 4", "before", (f.cut_data, f.fill_shm_of_other), ("data network", "full"), ("node", "other")),
    Entry("not installed, another gone", "mpirun x 4", "before", (f.not_installed, f.remove_other), ("not there", "unreachable"), ("node", "other")),
    Entry("clock wrong, /dev/shm of another full", "mpirun x 4", "before", (f.fill_shm_of_other,), ("full", "clock"), ("node", "other"),
          checks=lambda scene: CLOCKS + AFTER, options=preloaded("wrong_clock.so", clock)),
]
OTHER_MPIS = [entry for machine in ("Open MPI 5 x 4", "MPICH 5 x 2", "Intel MPI x 2") for entry in on_other_mpi(machine)]
HEALTHY = [Entry(f"healthy, {machine}", machine, "never", (), ("pass",), ()) for machine in
           ("mpirun x 4", "two networks x 4", "Slurm x 4", "Hydra x 2", "Open MPI 5 x 4", "MPICH 5 x 2", "Intel MPI x 2")]
BUSY = [Entry(f"healthy beside a busy neighbour, {machine}", machine, "never", (f.busy,), ("pass",), ()) for machine in ("mpirun x 4", "Slurm x 4")]

FAULTS = [*RANKS, *LAUNCHERS, *NETWORKS, *NODES, *DISKS, *PROGRAMS, *LIMITS, *DATA, *PAIRS, *OTHER_MPIS]
WELL = [*HEALTHY, *BUSY]
