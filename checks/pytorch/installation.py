"""Where this Python and its torch come from: what has to be the same on all ranks, and what gets between an image and the
packages that it was built with. Facts are gathered first; what they mean is decided by functions that look at nothing else."""
import os
import platform
import re
import site
import sys

CONTAINERS = (("APPTAINER_CONTAINER", "Apptainer"), ("SINGULARITY_CONTAINER", "Singularity"),
              ("SHIFTER_RUNTIME", "Shifter"), ("SHIFTER_IMAGEREQUEST", "Shifter"), ("container", "Podman"))


class Installation:
    """Of one rank."""

    def __init__(self, **known):
        self.torch = ""  # 2.7.1+cu126
        self.file = ""  # torch.__file__
        self.python = ""  # the interpreter and its version
        self.user_site = ""  # where packages of the user come from; empty: not looked at
        self.user_base = ""  # PYTHONUSERBASE
        self.container = ""  # Apptainer, ...; empty: none
        self.built_for = ""  # CUDA 12.6, ROCm 6.2
        self.collectives = ""  # NCCL 2.26.2
        self.before = []  # CPUs of the process, before torch was imported and after
        self.after = []
        for name, value in known.items():
            getattr(self, name)  # a fact that is not among the above is a slip
            setattr(self, name, value)


def gather(torch, before, environment=None):
    environment = os.environ if environment is None else environment
    hip = getattr(torch.version, "hip", None)
    return Installation(
        torch=torch.__version__, file=os.path.realpath(torch.__file__),
        python=f"{sys.executable} {platform.python_version()}",
        user_site=site.getusersitepackages() if site.ENABLE_USER_SITE else "",
        user_base=environment.get("PYTHONUSERBASE", ""),
        container=next((name for variable, name in CONTAINERS if environment.get(variable)), ""),
        built_for=f"ROCm {hip}" if hip else f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPUs only",
        collectives=collectives(torch, bool(hip)), before=before, after=sorted(os.sched_getaffinity(0)))


def collectives(torch, is_rocm):
    if not torch.distributed.is_nccl_available():
        return ""
    try:
        version = torch.cuda.nccl.version()
    except Exception:  # of a broken build; torch_environment reports it
        return ""
    parts = version if isinstance(version, tuple) else (version,)
    return f"{'RCCL' if is_rocm else 'NCCL'} {'.'.join(str(one) for one in parts)}"


def rocm_of(root="/", environment=None):
    """Of the node or container: major and minor; None where there is none, or it is unknown."""
    environment = os.environ if environment is None else environment
    for folder in (environment.get("ROCM_PATH", ""), os.path.join(root, "opt/rocm")):
        try:
            with open(os.path.join(folder, ".info/version"), errors="replace") as file:
                found = re.match(r"(\d+)\.(\d+)", file.read(100))
        except OSError:
            continue
        if folder and found:
            return int(found.group(1)), int(found.group(2))
    return None


def same(one):
    """What all ranks should have alike, by name."""
    return {"torch": one.torch, "torch.__file__": one.file, "Python": one.python, "torch is built for": one.built_for,
            "the user's site-packages": one.user_site or "not used", "the collectives' library": one.collectives or "none"}


def judge(one):
    """Findings (reason, remedy)."""
    return [found for found in (packages_of_the_host(one), lost_cpus(one)) if found]


def is_below(path, folder):
    return bool(folder) and os.path.realpath(path).startswith(os.path.realpath(folder).rstrip("/") + "/")


def packages_of_the_host(one):
    if not one.container or not (is_below(one.file, one.user_base) or is_below(one.file, one.user_site)):
        return None
    return (f"inside of {one.container} torch comes from {one.file}, a folder of the user's, and not from the image",
            "unset PYTHONUSERBASE, or give each image a folder of its own (shifter --env PYTHONUSERBASE=FOLDER); export "
            "PYTHONNOUSERSITE=1 keeps such packages out")


def cpus(numbers):
    return ", ".join(str(one) for one in numbers[:8]) + (f" and {len(numbers) - 8} more" if len(numbers) > 8 else "")


def lost_cpus(one):
    if one.before == one.after:
        return None
    return (f"importing torch changes the CPUs of the process from {cpus(one.before)} to {cpus(one.after)}",
            "import mpi4py before torch, which MPI else refuses (NIC policy NUMA); look for what torch loads that binds "
            "threads: KMP_AFFINITY, GOMP_CPU_AFFINITY, an OpenMP library in LD_PRELOAD")
