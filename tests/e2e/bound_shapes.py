"""Shapes of nodes (1 to 8 GPUs, with and without SMT and reserved cores), what each launcher is to be asked for on them, and `muster plan` on
such a node. Masks are computed here a second time, from the few words that tell the shape. Shared, not a test."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import support

NODES = ("nid000001", "nid000002")
CORES = 64          # in two NUMA domains
MACHINE = """[machine]
name = "shape"
summary = "A made-up node."
synthetic = true
sources = ["the test"]
architecture = "x86_64"
kernel = "6.1.0"
[cpu]
model = "Made-up"
packages = 2
cores = 64
smt = {smt}
caches = {{ count = 2, size = "32MiB" }}
{reserved}
[[domain]]
cpus = "{first}"
memory = "64GiB"
[[domain]]
cpus = "{second}"
memory = "64GiB"
[gpus]
vendor = "{vendor}"
model = "Made-up GPU"
id = "10de:2330"
memory = "80GiB"
devices = [{devices}]
[[nics]]
kind = "infiniband"
id = "15b3:1021"
rate = 400
devices = [
  {{ name = "ib0", device = "mlx5_0", address = "0000:18:00.0", domain = 0, inet = "10.1.{{node}}.1" }},
  {{ name = "ib1", device = "mlx5_1", address = "0000:9a:00.0", domain = 1, inet = "10.2.{{node}}.1" }},
]
[ranks]
launcher = "srun"
masks = [{masks}]
"""
PROFILE = """[system]
name = "shape"
[[partition]]
name = "p"
{launcher_options}
[partition.node]
cores = 64
{reserved}
gpus = {{ count = {gpus} }}
machine = "shape"
bind = {{ policy = "{policy}", smt = {all_threads}, select = "{select}" }}
"""
CHECK = """[check.ranks]
probe = "gpu_mapping"
ranks = "one-per-gpu"
[check.node]
probe = "command"
ranks = "one-per-node"
params = { argv = ["nproc"] }
[check.shares]
probe = "hello"
ranks = { per_node = 2 }
bind  = "cores"
"""
STAND_INS = {
    "srun": 'if [ "$1" = --mpi=list ]; then echo "MPI plugin types are..."; echo pmix; exit 0; fi; exit 1',
    "flux": 'echo "commands: 0.57.0"',
    "ibrun": "exit 1",
    "ssh": "exit 255",
}
MPIRUNS = {"openmpi 4": "mpirun (Open MPI) 4.1.4", "openmpi 5": "mpirun (Open MPI) 5.0.5",
           "mpich": "HYDRA build details:\n    Version:     4.0.2",
           "intel": "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)"}


def agent_of(launcher):
    """An agent of another MPI is refused before anything is started."""
    return support.AGENT_MPICH if launcher in ("mpich", "intel") else support.AGENT


def launchers():
    """Those that agents are here for."""
    return [name for name in ("srun", *MPIRUNS, "flux", "ibrun") if agent_of(name).exists()]


def mask_of(cpus):
    return hex(sum(1 << cpu for cpu in cpus))


class Shape:
    """Ranks of a node whose GPUs are shared out evenly over two domains, the first half on domain 0."""

    def __init__(self, gpus, smt, reserved, all_threads=False, policy="gpu", reverse=False, vendor="nvidia", select="wrapper"):
        self.gpus, self.smt, self.reserved, self.all_threads = gpus, smt, reserved, all_threads
        self.policy, self.reverse, self.vendor, self.select = policy, reverse, vendor, select
        self.is_described = True

    def __str__(self):
        words = [f"{self.gpus} GPUs", f"SMT {self.smt}", f"reserved {self.reserved}", self.policy, self.select]
        return ", ".join(words + ["all threads"] * self.all_threads + ["reversed"] * self.reverse)

    def domain_of(self, gpu):
        domain = gpu * 2 // self.gpus if self.gpus > 1 else 0
        return 1 - domain if self.reverse else domain

    def seats(self):
        """For each rank: cores, GPU."""
        order = list(range(self.gpus))
        if self.policy == "cores":
            order.sort(key=lambda gpu: (self.domain_of(gpu), gpu))
        free = {domain: [core for core in range(32 * domain, 32 * domain + 32) if core not in self.reserved] for domain in (0, 1)}
        users = {domain: sum(self.domain_of(gpu) == domain for gpu in order) for domain in (0, 1)}
        width = {domain: len(free[domain]) // users[domain] for domain in (0, 1) if users[domain]}
        seats = []
        for gpu in order:
            domain = self.domain_of(gpu)
            seats.append((free[domain][:width[domain]], gpu))
            free[domain] = free[domain][width[domain]:]
        return seats

    def cpus(self, cores):
        threads = range(self.smt if self.all_threads else 1)
        return sorted(core + 64 * thread for core in cores for thread in threads)

    def masks(self):
        return [mask_of(self.cpus(cores)) for cores, _ in self.seats()]

    def share_masks(self, ranks):
        """Equal shares of all cores that are not reserved, in their order."""
        free = [core for core in range(CORES) if core not in self.reserved]
        width = len(free) // ranks
        return [mask_of(self.cpus(free[rank * width:rank * width + width])) for rank in range(ranks)]

    def machine(self):
        buses = ["1b", "43", "52", "61", "9d", "c3", "d1", "df"]
        devices = ", ".join(f'{{ address = "0000:{buses[gpu]}:00.0", domain = {self.domain_of(gpu)} }}' for gpu in range(self.gpus))
        lists = [f"{32 * d}-{32 * d + 31}" + (f",{64 + 32 * d}-{95 + 32 * d}" if self.smt == 2 else "") for d in (0, 1)]
        return MACHINE.format(smt=self.smt, reserved=f"reserved = {self.reserved}" if self.reserved else "", first=lists[0], second=lists[1],
                              vendor=self.vendor, devices=devices, masks=", ".join(f'"{mask}"' for mask in self.masks()))

    def profile(self, launcher_options=""):
        text = PROFILE if self.is_described else PROFILE.replace('machine = "shape"\n', "")
        return text.format(reserved=f"reserved_cores = {self.reserved}" if self.reserved else "", gpus=self.gpus, policy=self.policy,
                              all_threads=str(self.all_threads).lower(), select=self.select, launcher_options=launcher_options)


SHAPES = [Shape(gpus, smt, reserved, all_threads)
          for gpus in (1, 2, 4, 8) for smt, all_threads in ((1, False), (2, False), (2, True)) for reserved in ([], [0, 32])]
SHAPES += [Shape(gpus, smt, reserved, smt == 2 and not reserved)
           for gpus in (3, 5, 6, 7) for smt, reserved in ((1, []), (2, [0, 32]), (2, []))]
SHAPES += [Shape(4, 2, [], True, "gpu", True), Shape(8, 2, [0, 32], False, "cores", True, "amd", "map_gpu"),
           Shape(8, 2, [0, 32], False, "cores", True, "amd", "wrapper")]


def ranges(numbers):
    """`0-3,8` of 0, 1, 2, 3, 8."""
    parts = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def words_for(launcher, shape):
    """What must stand in the line of that launcher, and what must not."""
    lists = [ranges(shape.cpus(cores)) for cores, _ in shape.seats()]
    if launcher == "srun":
        words = ["--cpu-bind=mask_cpu:" + ",".join(shape.masks())]
        if shape.select == "map_gpu":
            words += [f"--gpus-per-node={shape.gpus}", "--gpu-bind=map_gpu:" + ",".join(str(gpu) for _, gpu in shape.seats())]
        return words, ["--cpus-per-task", "-c"] + ["--gpu-bind"] * (shape.select != "map_gpu")
    if launcher == "flux":
        return ["--exclusive", "--setopt=cpu-affinity=map:" + ";".join(lists)], []
    if launcher == "mpich":
        return ["-bind-to", "user:" + ",".join("+".join(str(cpu) for cpu in shape.cpus(cores)) for cores, _ in shape.seats())], []
    if launcher == "intel":
        return ["-genv", "I_MPI_PIN_DOMAIN", f"[{','.join(shape.masks())}]"], ["-bind-to"]
    if launcher == "openmpi 4":
        return ["--use-hwthread-cpus", "rmaps_rank_file_physical", "--rankfile"], ["--bind-to", "--map-by"]
    if launcher == "openmpi 5":
        has_whole_cores = (shape.smt == 1 or shape.all_threads) and not shape.reserved
        return (["--map-by", "rankfile:file=<rankfile>"], ["--bind-to"]) if has_whole_cores else (["--bind-to", "none"], ["rankfile:file=<rankfile>"])
    return ["-n", str(2 * shape.gpus)], ["--bind-to"]


def binder_of(launcher, shape):
    if launcher == "ibrun" or (launcher == "openmpi 5" and "none" in words_for(launcher, shape)[0]):
        return "muster-rank"
    return {"openmpi 4": "mpirun", "openmpi 5": "mpirun", "mpich": "mpirun", "intel": "mpirun"}.get(launcher, launcher)


class Planner:
    """`muster plan` on nodes of a shape, below launchers that are stand-ins: nothing is started."""

    def __init__(self, nodes=NODES):
        self.nodes = nodes
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-lines-"))
        (self.folder / "bin").mkdir()
        for name, text in STAND_INS.items():
            self.stand_in(name, text)
        (self.folder / "check.toml").write_text(CHECK)
        # The shipped profiles name theirs.
        shutil.copytree(pathlib.Path(os.environ["MUSTER_SOURCE"]) / "simulation/machines", self.folder / "machines")

    def clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def stand_in(self, name, text):
        (self.folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.folder / "bin" / name).chmod(0o755)

    def plan(self, launcher, shape, *options, launcher_options=""):
        (self.folder / "machines" / "shape.toml").write_text(shape.machine())
        (self.folder / "profile.toml").write_text(shape.profile(launcher_options))
        if launcher in MPIRUNS:
            self.stand_in("mpirun", f"cat <<'END'\n{MPIRUNS[launcher]}\nEND")
        env = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        env.update(PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}", MUSTER_MACHINES=str(self.folder / "machines"), NO_COLOR="1")
        if launcher in ("srun", "ibrun"):
            env.update(SLURM_JOB_ID="1", SLURM_JOB_NODELIST=",".join(self.nodes),
                       SLURM_JOB_CPUS_PER_NODE=f"{CORES * shape.smt}(x{len(self.nodes)})")
        where = [] if launcher in ("srun", "ibrun") else ["--nodes", ",".join(self.nodes)]
        return subprocess.run([str(support.DRIVER), "plan", "check.toml", "profile.toml", "--system", "shape", "--agent", str(agent_of(launcher)),
                               "--launcher", "mpirun" if launcher in MPIRUNS else launcher, *where, *options],
                              cwd=self.folder, env=env, capture_output=True, text=True, timeout=60 * support.SLOWNESS)
