"""What the PyTorch checks share: speaking to muster, torch, and where a rank stands.

muster reads lines of JSON from standard output (docs/check-files.md, "What a program prints").
"""
import argparse
import json
import os
import shutil
import socket
import sys
import traceback

HOST = socket.gethostname()
scratch = []  # folders that are removed at the end


# --- speaking to muster -------------------------------------------------------------------------------------------


def _say(kind, content):
    # One write, so that lines of several threads do not mix.
    sys.stdout.write(json.dumps({kind: content}) + "\n")
    sys.stdout.flush()


def metric(name, values, unit, **where):
    values = values if isinstance(values, list) else [values]
    line = {"metric": name, "values": values, "unit": unit}
    if where:
        line["where"] = {key: str(value) for key, value in where.items()}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def evidence(sentence):
    _say("evidence", sentence)


def same(values):
    """Texts by name that all ranks should have alike; muster names those that differ."""
    _say("same", values)


def finding(reason, remedy, culprits=(), verdict="fail", consequence=False):
    content = {"reason": reason, "remedy": remedy, "verdict": verdict, "culprits": list(culprits)}
    if consequence:
        content["consequence"] = True
    _say("finding", content)


def leave(status=1):
    """Ends at once: threads and destructors of a process group that has lost a rank may wait forever."""
    for folder in scratch:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def run(main):
    """Runs it; an exception is printed last, after any output of torch at exit."""
    try:
        main()
    except Exception:
        traceback.print_exc()
        leave(1)


def stop(reason, remedy, culprits=(), consequence=False, verdict="fail"):
    finding(reason, remedy, culprits, verdict, consequence)
    leave(0 if verdict == "skip" else 1)


def ranks_text(ranks):
    names = [str(rank) for rank in ranks[:8]]
    if len(ranks) > 8:
        names.append(f"{len(ranks) - 8} more")
    text = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
    return ("rank " if len(ranks) == 1 else "ranks ") + text


def first_line(problem):
    lines = [line.strip() for line in str(problem).strip().splitlines() if line.strip()]
    return (lines or [type(problem).__name__])[0][:300]


def size_of(text):
    """Bytes of `8B`, `64KiB`, `16MiB`."""
    for unit, factor in (("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)):
        if text.endswith(unit):
            return int(float(text[: -len(unit)]) * factor)
    return int(text)


def sizes(text):
    """For an argument: the texts of sizes, separated by commas."""
    for one in text.split(","):
        try:
            is_size = size_of(one) > 0
        except ValueError:
            is_size = False
        if not is_size:
            raise argparse.ArgumentTypeError(f"{one!r} is not a size such as 8B, 64KiB or 16MiB")
    return text.split(",")


class Arguments(argparse.ArgumentParser):
    """What the user wrote wrongly is a finding, not a rank that crashed."""

    def error(self, message):
        stop(f"the arguments of {self.prog} are not right: {message}", f"see {self.prog} --help", [{"setting": "arguments"}])


# --- torch --------------------------------------------------------------------------------------------------------


def import_torch():
    """torch, on as many threads as this rank has CPUs to itself. Ends with a finding where it can't be imported."""
    try:
        import torch
        import torch.distributed
    except (Exception, SystemExit) as problem:  # an import runs anything, and may fail in any way
        lines = str(problem).strip().splitlines() or [type(problem).__name__]
        stop(f"{sys.executable} on {HOST} has torch, but can't import it: {type(problem).__name__}: {lines[0]}",
             "install PyTorch anew for this machine and this Python; a library that is not found belongs to a module "
             "that is not loaded or to another version of the wheel", [{"program": sys.executable}])
    if not torch.distributed.is_available():
        stop(f"torch {torch.__version__} of {sys.executable} is built without torch.distributed",
             "install a build with it (USE_DISTRIBUTED=1); the wheels of PyPI and pytorch.org have it",
             [{"program": sys.executable}])
    torch.set_num_threads(own_cpus())
    return torch


def own_cpus():
    """CPUs that this rank does not share with others of its node, according to the masks."""
    mask = os.sched_getaffinity(0)
    share = max(1, (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    return max(1, min(len(mask), share))


class Place:
    """The place of this rank, from torch.distributed's variables."""

    def __init__(self, environment=None):
        environment = os.environ if environment is None else environment
        missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if not environment.get(name)]
        if missing:
            stop(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set on {HOST}",
                 "start this script with muster, torchrun, or a launcher whose script sets them",
                 [{"setting": name} for name in missing])
        self.rank = int(environment["RANK"])
        self.world = int(environment["WORLD_SIZE"])
        self.local_rank = int(environment.get("LOCAL_RANK", "0"))
        self.local_size = int(environment.get("LOCAL_WORLD_SIZE", "1"))
        self.address = environment["MASTER_ADDR"]
        self.port = port_of(environment["MASTER_PORT"])
        # Set by muster: a word common to all ranks of this job, and the address of rank 0. Absent when started by hand.
        given = environment.get("MUSTER_MEETING", "").split()
        self.word, self.given = (given[0], tuple(given[1:])) if len(given) == 3 else ("", None)
        self.where = f"MASTER_ADDR={self.address} MASTER_PORT={self.port}"
        # torchrun keeps the store itself, on that address and port.
        self.has_agent_store = environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


    def is_as_given(self):
        """Whether MASTER_ADDR and MASTER_PORT are those that muster set; None without muster."""
        return None if self.given is None else self.given == (self.address, str(self.port))


def port_of(text):
    if not text.isdigit() or not 0 < int(text) < 65536:
        stop(f"MASTER_PORT={text} on {HOST} is not a port", "give it a free port of rank 0's node, from 1024 to 65535",
             [{"setting": "MASTER_PORT"}])
    return int(text)


class Device:
    """The device and backend of this rank, and why it is not the usual one."""

    def __init__(self, torch, place):
        self.asked = os.environ.get("MUSTER_BACKEND", "auto")
        distributed = torch.distributed
        self.device = torch.device("cpu")
        self.backend = "gloo"
        self.why = ""
        self.name = "CPU"
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        has_nccl = distributed.is_nccl_available()
        if count == 0:
            self.why = "no GPU is visible"
        elif count < place.local_size and count > 1:
            self.why = f"{count} GPUs are visible and {place.local_size} ranks run here"
        elif count == 1 and place.local_size > 1 and not is_confined(place):
            self.why = f"1 GPU is visible and {place.local_size} ranks run here"
        elif not has_nccl:
            self.why = "this build of torch has no nccl"
        elif self.asked == "gloo":
            self.why = "it was requested"
        if self.why:
            return
        # A launcher that gives every rank one GPU of its own calls all of them 0.
        self.device = torch.device("cuda", 0 if count == 1 else place.local_rank)
        torch.cuda.set_device(self.device)
        self.backend = "nccl"
        self.name = torch.cuda.get_device_name(self.device)

    def wait(self, torch):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def tell(self):
        if self.why:
            evidence(f"gloo in place of nccl: {self.why}")


def is_confined(place):
    """Whether the launcher gave this rank a GPU of its own, by what it set."""
    for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "SLURM_STEP_GPUS"):
        if os.environ.get(name) == str(place.local_rank):
            return True
    return bool(os.environ.get("SLURM_GPUS_PER_TASK"))
