"""Nodes of a virtual cluster that are those of a machine description (simulation/machines/): ranks simulate it, slurmd and the daemons
of MPI launchers read its topology, and what they bind tasks to is recorded (simulation/stand_ins/affinity/affinity.cpp)."""
import os
import pathlib
import subprocess
import tomllib

from this_machine import ClusterError

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("MUSTER_BUILD", ROOT / "build" / "release")).resolve()
# Builds with sanitizers have none of their own.
STAND_INS = pathlib.Path(os.environ.get("MUSTER_STAND_INS", BUILD)).resolve() / "drivers"
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def read(name):
    """The description NAME, or that of a file."""
    path = pathlib.Path(name) if str(name).endswith(".toml") else ROOT / "simulation/machines" / f"{name}.toml"
    try:
        return tomllib.loads(path.read_text())
    except OSError as problem:
        raise ClusterError(f"{path}: {problem.strerror}; described are {', '.join(names())}") from None


def names():
    return sorted(path.stem for path in (ROOT / "simulation/machines").glob("*.toml"))


def size_of(text):
    return int(text[:-3]) * UNITS[text[-3:]]


def slurm_node(machine):
    """What slurm.conf says of such a node."""
    cpu, memory = machine["cpu"], sum(size_of(domain["memory"]) for domain in machine["domain"] if "cpus" in domain)
    packages = cpu.get("packages", 1)
    # Slurm numbers CPUs core by core; it keeps all threads of a core that one of them is of.
    kept = ",".join(str(core * cpu.get("smt", 1)) for core in cpu.get("reserved", []))
    return (f"Sockets={packages} CoresPerSocket={cpu['cores'] // packages} ThreadsPerCore={cpu.get('smt', 1)} "
            f"RealMemory={memory >> 20}{f' CpuSpecList={kept}' if kept else ''}")


def gpus_of(machine):
    return len(machine["gpus"]["devices"]) if "gpus" in machine else 0


def gpu_flag(machine):
    return {"amd": "amd_gpu_env", "nvidia": "nvidia_gpu_env"}.get(machine.get("gpus", {}).get("vendor"), "")


def take(cluster, name):
    """Writes a machine for each node, and what programs on the nodes need."""
    machine, folder = read(name), cluster.folder / "machine"
    written = subprocess.run([BUILD / "bin" / "muster", "machine", name, "--write", folder, "--nodes", ",".join(cluster.names)],
                             capture_output=True, text=True)
    if written.returncode != 0:
        raise ClusterError(f"muster machine {name}: {written.stderr.strip()}")
    (cluster.folder / "affinity").mkdir()
    first = folder / cluster.names[0]
    cpus = machine["cpu"]["cores"] * machine["cpu"].get("smt", 1)
    cluster.state["machine"] = {
        "name": name,
        "driver": {"MUSTER_MACHINE": str(folder), "MUSTER_DRIVERS": str(STAND_INS),
                   "MUSTER_AFFINITY_FOLDER": str(cluster.folder / "affinity")},
        # Of daemons; ranks get their part from muster.
        "daemons": {"MUSTER_AFFINITY_FOLDER": str(cluster.folder / "affinity"), "MUSTER_AFFINITY_CPUS": f"0-{cpus - 1}",
                    "LD_PRELOAD": str(STAND_INS / "libmuster_affinity.so"), "HWLOC_XMLFILE": str(first / "topology.xml"),
                    "HWLOC_THISSYSTEM": "1"}}
    cluster.save()
