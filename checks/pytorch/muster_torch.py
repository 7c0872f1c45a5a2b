"""What the PyTorch checks share: speaking to muster, meeting the other ranks, and knowing who is missing.

muster reads lines of JSON from standard output (docs/check-files.md, "What a program prints"). The ranks find each
other as torch.distributed does, through RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; but before a process group is
made, every rank says that it is there, so that a missing one is named instead of timed out on.
"""
import contextlib
import datetime
import errno
import json
import os
import shutil
import socket
import sys
import threading
import time
import traceback

HOST = socket.gethostname()
MEETING = "meeting"
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


def finding(reason, remedy, culprits=(), verdict="fail", consequence=False):
    content = {"reason": reason, "remedy": remedy, "verdict": verdict, "culprits": list(culprits)}
    if consequence:
        content["consequence"] = True
    _say("finding", content)


def leave(status=1):
    """Ends at once: threads and destructors of a process group that has lost a rank may wait for ever."""
    for folder in scratch:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def run(main):
    """Runs it; what it throws is the last that is printed, whatever torch would say on its way out."""
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


def size_of(text):
    """Bytes of `8B`, `64KiB`, `16MiB`."""
    for unit, factor in (("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)):
        if text.endswith(unit):
            return int(float(text[: -len(unit)]) * factor)
    return int(text)


# --- torch --------------------------------------------------------------------------------------------------------


def import_torch():
    """torch, on as many threads as this rank has CPUs to itself. Ends with a finding where it can't be imported."""
    try:
        import torch
        import torch.distributed
    except Exception as problem:  # an import runs anything, and may fail in any way
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
    """CPUs that this rank need not share with others of its node, as far as masks tell."""
    mask = os.sched_getaffinity(0)
    share = max(1, (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    return max(1, min(len(mask), share))


class Place:
    """Where this rank stands, as torch.distributed is told."""

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
        self.port = int(environment["MASTER_PORT"])
        # torchrun keeps the store itself, on that address and port.
        self.has_agent_store = environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


class Device:
    """The device and backend of this rank, and why it is not the usual one."""

    def __init__(self, torch, place):
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
            evidence(f"gloo between CPUs in place of nccl: {self.why}")


def is_confined(place):
    """Whether the launcher gave this rank a GPU of its own, by what it set."""
    for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "SLURM_STEP_GPUS"):
        if os.environ.get(name) == str(place.local_rank):
            return True
    return bool(os.environ.get("SLURM_GPUS_PER_TASK"))


# --- meeting ------------------------------------------------------------------------------------------------------


def knock(address, port, seconds):
    """Waits until something listens there. None, or why it can't be reached, in words."""
    deadline = time.monotonic() + seconds
    problem = "no answer"
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return problem
        try:
            socket.create_connection((address, port), timeout=min(left, 3)).close()
            return None
        except socket.gaierror as error:
            problem = f"the name can't be resolved ({error.strerror})"
        except socket.timeout:
            problem = "no answer"
        except OSError as error:
            problem = (error.strerror or str(error)).lower()
            if error.errno not in (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ETIMEDOUT):
                return problem
        time.sleep(min(0.1, max(0, left)))


class Job:
    """All ranks, met. A step that takes too long ends the program with the names of those who are missing."""

    def __init__(self, torch, patience):
        self.torch = torch
        self.patience = patience
        self.place = Place()
        self.device = Device(torch, self.place)
        self.failed = False
        self._names = []
        self._gathers = 0
        self._deadline = None
        threading.Thread(target=self._watch, daemon=True).start()
        self._store = self._open_store()
        self._meet()
        self._join()

    # Before there is a process group.

    def _open_store(self):
        place = self.place
        if place.rank == 0 and not place.has_agent_store:
            try:
                store = self._connect("127.0.0.1", True)
            except RuntimeError as problem:
                self._explain_port(problem)
        problem = knock(place.address, place.port, self.patience)
        if problem is not None:
            self._explain_address(problem)
        if place.rank == 0 and not place.has_agent_store:
            return store
        try:
            return self._connect(place.address, False)
        except RuntimeError as problem:
            self._explain_stranger(first_line(problem))

    def _connect(self, address, is_master):
        return self.torch.distributed.TCPStore(
            address, self.place.port, world_size=self.place.world, is_master=is_master,
            timeout=datetime.timedelta(seconds=self.patience), wait_for_workers=False)

    def _explain_port(self, problem):
        place = self.place
        text = str(problem)
        if "ddress already in use" in text or "EADDRINUSE" in text:
            stop(f"rank 0 on {HOST} can't listen on MASTER_PORT={place.port}: the port is in use",
                 f"choose another port; `ss -ltnp sport = :{place.port}` on {HOST} names the program that has it",
                 [{"setting": "MASTER_PORT"}])
        stop(f"rank 0 on {HOST} can't listen on MASTER_PORT={place.port}: {first_line(problem)}",
             "choose another port, from 1024 to 65535", [{"setting": "MASTER_PORT"}])

    def _explain_stranger(self, problem):
        place = self.place
        stop(f"rank {place.rank} on {HOST}: what listens at MASTER_ADDR={place.address} MASTER_PORT={place.port} is not "
             f"rank 0 of this job: {problem}",
             "give MASTER_ADDR the address of rank 0's node and MASTER_PORT a port that is free there",
             [{"setting": "MASTER_PORT"}])

    def _explain_address(self, problem):
        place = self.place
        stop(f"rank {place.rank} on {HOST} can't reach rank 0 at MASTER_ADDR={place.address} MASTER_PORT={place.port}: "
             f"{problem}",
             "MASTER_ADDR must be the same on all ranks: a name or an address of rank 0's node that every other node "
             "reaches; no firewall may close the port between them",
             [{"rank": place.rank}])

    def _meet(self):
        """Every rank says that it is there; rank 0 waits for all and says who is not."""
        place, store = self.place, self._store
        prefix = f"muster/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/"
        self._key = lambda name: prefix + name
        # Whatever listens there need not be a store, and then never answers.
        self._names.append(MEETING)
        self._deadline = time.monotonic() + self.patience + 10
        store.set(self._key(f"host/{place.rank}"), HOST)
        store.add(self._key(f"here/{place.rank}"), 1)
        deadline = time.monotonic() + self.patience
        if place.rank == 0:
            missing = list(range(place.world))
            while missing and time.monotonic() < deadline:
                missing = [rank for rank in missing if store.add(self._key(f"here/{rank}"), 0) == 0]
                time.sleep(0.02 if missing else 0)
            store.set(self._key("missing"), json.dumps(missing))
            store.add(self._key("called"), 1)
        else:
            missing = self._wait_for_call(deadline + 5)
        self._deadline = None
        if not missing:
            return
        if place.rank == 0:
            self._grace()
        stop(f"{ranks_text(missing)} of {place.world} did not come to MASTER_ADDR={place.address} "
             f"MASTER_PORT={place.port} within {self.patience:g} s",
             "look at what those ranks printed; their MASTER_ADDR must be that of the others, and the port open to them",
             [{"rank": rank} for rank in missing[:16]], consequence=True)

    def _wait_for_call(self, deadline):
        while time.monotonic() < deadline:
            try:
                if self._store.add(self._key("called"), 0) != 0:
                    return json.loads(self._store.get(self._key("missing")))
            except RuntimeError:
                break
            time.sleep(0.02)
        return [0]

    def _grace(self):
        """Time for the others to read what rank 0's store has to say, before it goes."""
        time.sleep(1.0 if self.place.world > 1 else 0)

    def _join(self):
        distributed = self.torch.distributed
        try:
            self._enter("process group", 2 * self.patience)
            # Time is kept by _watch, which says more than the library does.
            distributed.init_process_group(
                self.device.backend, store=distributed.PrefixStore(self._key("group"), self._store),
                rank=self.place.rank, world_size=self.place.world, timeout=datetime.timedelta(hours=1))
            # Connections are made now, or at the first operation: do not let that be a measured one.
            warm = self.torch.zeros(1, device=self.device.device)
            distributed.all_reduce(warm)
            self.device.wait(self.torch)
            self._deadline = None
        except RuntimeError as problem:
            self._deadline = None
            name = "NCCL_SOCKET_IFNAME" if self.device.backend == "nccl" else "GLOO_SOCKET_IFNAME"
            stop(f"rank {self.place.rank} on {HOST} met the others, but can't connect to them with "
                 f"{self.device.backend}: {first_line(problem)}",
                 f"set {name} to the interface by which the nodes reach each other; host names must not resolve to a "
                 "loopback address there", [{"rank": self.place.rank}])

    # While it works.

    def _enter(self, name, seconds):
        self._names.append(name)
        self._store.add(self._key(f"at/{self.place.rank}"), 1)
        self._deadline = time.monotonic() + seconds

    @contextlib.contextmanager
    def step(self, name, seconds=None):
        """What this rank is about to do with all others, for at most that long."""
        try:
            self._enter(name, seconds or self.patience)
            yield
            self.device.wait(self.torch)
        except RuntimeError as problem:
            self._deadline = None
            self._explain_loss(name, problem)
        finally:
            self._deadline = None

    def complain(self, reason, remedy, culprits=()):
        """A finding of this rank, which goes on all the same: the others wait for it in the next step."""
        finding(reason, remedy, culprits or [{"rank": self.place.rank}])
        self.failed = True

    def give_up(self, reason, remedy, culprits=()):
        """A finding after which this rank can't go on; the others are told."""
        with contextlib.suppress(RuntimeError):
            self._store.add(self._key(f"trouble/{self.place.rank}"), 1)
        finding(reason, remedy, culprits or [{"rank": self.place.rank}])
        if self.place.rank == 0:
            self._grace()
        leave(1)

    def _look_around(self, store):
        """Ranks that are silent for 2 s, with the step that each reached; and those that were in trouble before us."""
        place = self.place
        before = [rank for rank in range(place.world) if store.add(self._key(f"trouble/{rank}"), 0) > 0]
        store.add(self._key(f"trouble/{place.rank}"), 1)
        deadline = time.monotonic() + 2
        silent = list(range(place.world))
        while silent and time.monotonic() < deadline:
            silent = [rank for rank in silent if store.add(self._key(f"trouble/{rank}"), 0) == 0]
            time.sleep(0.05)
        return [(rank, store.add(self._key(f"at/{rank}"), 0)) for rank in silent], before

    def _explain_loss(self, name, problem):
        place = self.place
        try:
            silent, before = self._look_around(self._store)
        except RuntimeError:
            silent, before = [(0, 0)], []
        if place.rank == 0:
            self._grace()
        what = first_line(problem)
        if silent:
            lost = [rank for rank, _ in silent]
            stop(f"rank {place.rank} on {HOST} lost {ranks_text(lost)} in step \"{name}\": {what}",
                 "look at what those ranks printed last, and at their nodes: memory, GPU errors, the network",
                 [{"rank": rank} for rank in lost[:16]], consequence=True)
        stop(f"rank {place.rank} on {HOST} failed in step \"{name}\": {what}",
             "look at what the ranks printed; if all failed alike, the library or the network between them is at fault",
             [{"rank": rank} for rank in before[:16]], consequence=bool(before))

    def _watch(self):
        while True:
            time.sleep(0.1)
            deadline = self._deadline
            if deadline is not None and time.monotonic() > deadline:
                self._explain_wait()

    def _explain_wait(self):
        place, at = self.place, len(self._names)
        name = self._names[-1]
        if name == MEETING:
            self._explain_stranger("it does not answer")
        text = f"rank {place.rank} on {HOST} waited too long in step \"{name}\""
        seen = []

        def look():
            # The main thread may hold its connection while it waits.
            with contextlib.suppress(RuntimeError):
                seen.append(self._look_around(self._connect(place.address, False)))

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        looking.join(10)
        silent, before = seen[0] if seen else ([(0, 0)], [])
        behind = [rank for rank, reached in silent if reached < at] or [rank for rank, _ in silent]
        if place.rank == 0:
            self._grace()
        if not behind and before:
            stop(f"{text}: {ranks_text(before)} had failed", "look at what those ranks printed",
                 [{"rank": rank} for rank in before[:16]], consequence=True)
        if not behind:
            stop(f"{text}: all {place.world} ranks came to it, and it did not end",
                 "data does not move between them: look at the interfaces that the backend took (NCCL_DEBUG=INFO, "
                 "NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME) and at the links", consequence=True)
        stop(f"{text} for {ranks_text(behind)}",
             "look at those ranks and their nodes: a rank that is stopped, swaps or has lost its GPU holds up all",
             [{"rank": rank} for rank in behind[:16]], consequence=True)

    # At the end.

    def gather(self, value, seconds=None):
        """The JSON values of all ranks, on every rank."""
        store, place = self._store, self.place
        self._gathers += 1
        name = f"value/{self._gathers}"
        store.set(self._key(f"{name}/{place.rank}"), json.dumps(value))
        with self.step("gather", seconds):
            self.torch.distributed.barrier()
            return [json.loads(store.get(self._key(f"{name}/{rank}"))) for rank in range(place.world)]

    def finish(self):
        """All ranks leave together, rank 0 last: it keeps the store."""
        with self.step("end"):
            self.torch.distributed.barrier()
        with contextlib.suppress(RuntimeError):
            self._store.add(self._key("bye"), 1)
            deadline = time.monotonic() + 5
            while self.place.rank == 0 and time.monotonic() < deadline:
                if self._store.add(self._key("bye"), 0) >= self.place.world:
                    break
                time.sleep(0.01)
        leave(1 if self.failed else 0)


def first_line(problem):
    lines = [line.strip() for line in str(problem).strip().splitlines() if line.strip()]
    return (lines or [type(problem).__name__])[0][:300]
