"""Does this build of PyTorch fit this machine? Facts are gathered first; what they mean is decided by functions that
look at nothing else."""
import glob
import importlib.util
import os
import platform
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True

import installation
import muster_torch as muster

INDEX = "pip install torch --index-url https://download.pytorch.org/whl/"


# --- what is there ------------------------------------------------------------------------------------------------


class Facts:
    """Of one node. Versions are pairs of numbers; None is unknown."""

    def __init__(self, **known):
        self.torch = ""  # 2.7.1+cu126
        self.python = sys.executable
        self.machine = ""  # of the kernel: x86_64, aarch64
        self.library_machine = ""  # that libtorch is built for
        self.cuda = None  # the build's
        self.hip = None
        self.rocm = None  # of the node or container
        self.driver_cuda = None  # newest CUDA that the driver supports
        self.driver = ""  # of the kernel module
        self.nvidia_gpus = 0  # in the machine, independent of torch
        self.amd_gpus = 0
        self.is_available = False
        self.devices = []  # [(name, "sm_90")]: what torch sees
        self.architectures = []  # that the build has code for: sm_90, compute_90, gfx90a
        self.backends = []
        self.nccl = None
        self.visible = {}  # variables that choose devices
        self.problem = ""  # the error of torch when asked
        for name, value in known.items():
            getattr(self, name)  # a fact that is not among the above is a slip
            setattr(self, name, value)


def pair(text):
    numbers = re.findall(r"\d+", text or "")
    return (int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0) if numbers else None


def gather(torch, root="/"):
    facts = Facts(torch=torch.__version__, machine=platform.machine(), library_machine=library_machine())
    facts.cuda = pair(torch.version.cuda)
    facts.hip = pair(getattr(torch.version, "hip", None))
    facts.rocm = installation.rocm_of(root)
    facts.nvidia_gpus = count_gpus(root, "0x10de")
    facts.amd_gpus = count_gpus(root, "0x1002")
    facts.driver = first_match(os.path.join(root, "proc/driver/nvidia/version"), r"Module\s+(?:for \S+\s+)?([\d.]+)")
    facts.driver_cuda = driver_cuda()
    facts.visible = {name: os.environ[name] for name in
                     ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES") if name in os.environ}
    ask_torch(torch, facts)
    return facts


def ask_torch(torch, facts):
    distributed = torch.distributed
    asked = {"gloo": "is_gloo_available", "nccl": "is_nccl_available", "mpi": "is_mpi_available",
             "ucc": "is_ucc_available", "xccl": "is_xccl_available"}
    facts.backends = [name for name, function in asked.items() if getattr(distributed, function, lambda: False)()]
    # 1.13 and older have no such function and always have gloo.
    if not hasattr(distributed, "is_gloo_available"):
        facts.backends.insert(0, "gloo")
    try:
        facts.is_available = torch.cuda.is_available()
        if not facts.is_available and (facts.cuda or facts.hip):
            torch.cuda.init()  # raises the reason
        for index in range(torch.cuda.device_count() if facts.is_available else 0):
            properties = torch.cuda.get_device_properties(index)
            name = getattr(properties, "gcnArchName", "").split(":")[0] if facts.hip else ""
            facts.devices.append((properties.name, name or f"sm_{properties.major}{properties.minor}"))
        facts.architectures = torch.cuda.get_arch_list() if facts.is_available else []
        if facts.is_available and "nccl" in facts.backends:
            facts.nccl = torch.cuda.nccl.version()
    except Exception as problem:  # whatever it is, it is what users would see
        facts.problem = muster.first_line(problem)


def count_gpus(root, vendor):
    """GPUs of that vendor on the PCI bus: displays (03..) and accelerators (12..)."""
    folder, count = os.path.join(root, "sys/bus/pci/devices"), 0
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        kind = first_match(os.path.join(folder, name, "class"), r"(0x(?:03|12)\w+)")
        count += bool(kind) and first_match(os.path.join(folder, name, "vendor"), r"(\w+)") == vendor
    return count


def first_match(path, pattern):
    try:
        with open(path, errors="replace") as file:
            found = re.search(pattern, file.read(1 << 16))
    except OSError:
        return ""
    return found.group(1) if found else ""


def driver_cuda():
    """Asked of the driver's own library, in a process of its own: some drivers can't be used after a fork."""
    program = ("import sys; sys.path = [place for place in sys.path if place]; import ctypes; "
               "version = ctypes.c_int(); cuda = ctypes.CDLL('libcuda.so.1'); "
               "cuda.cuDriverGetVersion(ctypes.byref(version)); print(version.value)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    number = int(done.stdout) if done.returncode == 0 and done.stdout.strip().isdigit() else 0
    return (number // 1000, number % 1000 // 10) if number else None


def library_machine():
    """That of torch's own library, which is looked at without importing it: a foreign one can't be."""
    spec = importlib.util.find_spec("torch")
    paths = [path for folder in (spec.submodule_search_locations if spec else [])
             for path in sorted(glob.glob(os.path.join(folder, "_C*.so")))]
    return machine_of(paths[0]) if paths else ""


def machine_of(path):
    """The machine in an ELF header; empty: none that is known."""
    try:
        with open(path, "rb") as file:
            header = file.read(20)
    except OSError:
        return ""
    number = struct.unpack_from("<H", header, 18)[0] if header[:4] == b"\x7fELF" and len(header) == 20 else 0
    return {62: "x86_64", 183: "aarch64", 21: "ppc64le"}.get(number, "")


# --- what it means ------------------------------------------------------------------------------------------------


def text_of(version):
    return f"{version[0]}.{version[1]}"


def wheel_for(version):
    """The CUDA part of a wheel's index: cu126."""
    return f"cu{version[0]}{version[1]}"


def gpu_nouns(count, vendor):
    return f"{count} {vendor} GPU" + ("" if count == 1 else "s")


def judge(facts):
    """Findings (reason, remedy), causes before consequences; empty: it fits."""
    for question in (wrong_machine, wrong_vendor, no_gpu_build, old_driver, hidden, other_rocm, unavailable):
        found = question(facts)
        if found:
            return [found]  # all else would follow from it
    return [found for found in (no_code(facts), no_nccl(facts)) if found]


def wrong_machine(facts):
    if not facts.library_machine or not facts.machine or facts.library_machine == facts.machine:
        return None
    return (f"this torch is built for {facts.library_machine}, the machine is {facts.machine}",
            f"install the {facts.machine} wheel with that machine's own Python; a folder that is shared by nodes of two "
            "kinds needs an environment for each")


def wrong_vendor(facts):
    if facts.hip and facts.nvidia_gpus and not facts.amd_gpus:
        return (f"this torch is built for ROCm {text_of(facts.hip)}, the node has {gpu_nouns(facts.nvidia_gpus, 'NVIDIA')}",
                f"install a CUDA build: {INDEX}{wheel_for(facts.driver_cuda or (12, 6))}")
    if facts.cuda and not facts.hip and facts.amd_gpus and not facts.nvidia_gpus:
        return (f"this torch is built for CUDA {text_of(facts.cuda)}, the node has {gpu_nouns(facts.amd_gpus, 'AMD')}",
                f"install a ROCm build: {INDEX}rocmX.Y, X.Y being the ROCm of this system")
    return None


def no_gpu_build(facts):
    if facts.cuda or facts.hip:
        return None
    if facts.nvidia_gpus:
        version = facts.driver_cuda or (12, 6)
        return (f"this torch ({facts.torch}) is built for CPUs only, the node has {gpu_nouns(facts.nvidia_gpus, 'NVIDIA')}",
                f"install a CUDA build, CUDA {text_of(version)} at most: {INDEX}{wheel_for(version)}")
    if facts.amd_gpus:
        return (f"this torch ({facts.torch}) is built for CPUs only, the node has {gpu_nouns(facts.amd_gpus, 'AMD')}",
                f"install a ROCm build: {INDEX}rocmX.Y, X.Y being the ROCm of this system")
    return None


def old_driver(facts):
    # Within a major version an older driver may do (CUDA's minor version compatibility), and across them the package for
    # forward compatibility: what torch can use is not too old.
    if facts.hip or facts.is_available or not facts.cuda or not facts.driver_cuda or facts.cuda <= facts.driver_cuda:
        return None
    driver = f"driver {facts.driver}" if facts.driver else "driver"
    return (f"this wheel is built for CUDA {text_of(facts.cuda)}, the {driver} supports CUDA {text_of(facts.driver_cuda)} "
            "at most",
            f"install a build for CUDA {text_of(facts.driver_cuda)} or older: {INDEX}{wheel_for(facts.driver_cuda)}, or "
            "have the driver updated")


def hidden(facts):
    empty = [name for name, value in facts.visible.items() if value.strip() in ("", "-1", "NoDevFiles")]
    if facts.is_available or not empty or not (facts.nvidia_gpus or facts.amd_gpus):
        return None
    return (f"{' and '.join(empty)} {'hides' if len(empty) == 1 else 'hide'} all GPUs of the node from torch",
            f"unset {' and '.join(empty)}, or ask the scheduler for GPUs (--gpus-per-node)")


def is_other_rocm(facts):
    return bool(facts.hip and facts.rocm and facts.hip != facts.rocm)


def other_rocm(facts):
    # Wheels bring most of ROCm along, so that another version may do: what torch can use is not wrong.
    if facts.is_available or not facts.amd_gpus or not is_other_rocm(facts):
        return None
    return (f"this wheel is built for ROCm {text_of(facts.hip)}, and ROCm {text_of(facts.rocm)} is here: torch uses none of "
            f"{gpu_nouns(facts.amd_gpus, 'AMD')}" + (f": {facts.problem}" if facts.problem else ""),
            f"install the build for ROCm {text_of(facts.rocm)}: {INDEX}rocm{text_of(facts.rocm)}, or load the module of "
            f"ROCm {text_of(facts.hip)}; then see that /dev/kfd can be opened (groups video and render)")


def unavailable(facts):
    count = facts.nvidia_gpus if facts.cuda and not facts.hip else facts.amd_gpus
    if facts.is_available or not count or not (facts.cuda or facts.hip):
        return None
    problem = f": {facts.problem}" if facts.problem else ""
    if facts.hip:
        return (f"torch uses none of {gpu_nouns(count, 'AMD')}{problem}",
                "may this user open /dev/kfd and /dev/dri/renderD* (groups video and render), and are they bound into the "
                "container? Then install the build for this system's ROCm")
    return (f"torch uses none of {gpu_nouns(count, 'NVIDIA')}{problem}",
            "ask the scheduler for GPUs (--gpus-per-node); in a container, hand them through (--nv); then look at "
            "device_visibility of muster")


def runs_on(architecture, device):
    """Whether code for `architecture` runs on `device`: sm_80 on sm_86, compute_80 on all later ones, gfx90a on itself."""
    if architecture == device:
        return True
    code, gpu = re.fullmatch(r"(sm|compute)_(\d+?)(\d)([af]?)", architecture), re.fullmatch(r"sm_(\d+?)(\d)", device)
    if not code or not gpu or code.group(4) == "a":
        return False
    of_code, of_gpu = (int(code.group(2)), int(code.group(3))), (int(gpu.group(1)), int(gpu.group(2)))
    if code.group(1) == "compute" and not code.group(4):
        return of_code <= of_gpu  # compiled on the way, when first used
    return of_code[0] == of_gpu[0] and of_code[1] <= of_gpu[1]


def no_code(facts):
    if not facts.architectures:
        return None
    for name, device in facts.devices:
        if any(runs_on(one, device) for one in facts.architectures):
            continue
        return (f"this build has no code for {name} ({device}); it has {', '.join(facts.architectures)}",
                f"install a build that has {device}: "
                + ("an older release of torch" if is_older(device, facts.architectures) else
                   f"a newer one, {INDEX}{wheel_for(facts.driver_cuda or (12, 6))}" if device.startswith("sm_") else
                   f"one for a ROCm that knows it, {INDEX}rocmX.Y"))
    return None


def is_older(device, architectures):
    """Whether the device is older than all that the build knows."""
    numbers = [int(re.sub(r"\D", "", one)) for one in architectures if one.startswith("sm_")]
    return device.startswith("sm_") and bool(numbers) and int(device[3:]) < min(numbers)


def no_nccl(facts):
    if not facts.devices or "nccl" in facts.backends:
        return None
    return (f"this build has no nccl, and GPUs can't talk to each other without; it has {', '.join(facts.backends)}",
            "install a build with it: the wheels of PyPI and pytorch.org for Linux have it")


def describe(facts):
    """What was found, for a report."""
    kind = (f"ROCm {text_of(facts.hip)}" if facts.hip else f"CUDA {text_of(facts.cuda)}" if facts.cuda else "CPUs only")
    parts = [f"torch {facts.torch} ({kind}) on {facts.machine}"]
    names = [name for name, _ in facts.devices]
    kinds = [f"{names.count(name)} x {name}" for name in dict.fromkeys(names)]
    parts.append(", ".join(kinds) if kinds else "no GPU")
    if facts.driver_cuda:
        parts.append(f"driver {facts.driver} for CUDA {text_of(facts.driver_cuda)}")
    if facts.nccl:
        version = facts.nccl if isinstance(facts.nccl, (tuple, list)) else (facts.nccl,)
        parts.append("nccl " + ".".join(str(one) for one in version))
    if is_other_rocm(facts):
        parts.append(f"ROCm {text_of(facts.rocm)} is here, another than it is built for")
    parts.append("backends " + ", ".join(facts.backends))
    return "; ".join(parts)


def main():
    before = sorted(os.sched_getaffinity(0))
    facts = Facts(machine=platform.machine(), library_machine=library_machine())
    findings = []
    if not wrong_machine(facts):
        torch = muster.import_torch()
        place = installation.gather(torch, before)
        muster.same(installation.same(place))
        findings = installation.judge(place)
        facts = gather(torch)
    muster.metric("devices", len(facts.devices), "1")
    findings += judge(facts)
    for reason, remedy in findings:
        muster.finding(f"{muster.HOST}: {reason}", remedy, [{"program": facts.python}])
    if not findings:
        muster.evidence(describe(facts))
        muster.evidence(f"torch is {place.file}")
    muster.leave(1 if findings else 0)


if __name__ == "__main__":
    muster.run(main)
