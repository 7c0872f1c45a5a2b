"""A job whose ranks have met: what they do together in steps, each with a deadline and a word on who held it up."""
import contextlib
import datetime
import json
import os
import threading
import time

import muster_torch as muster
import transport
from meeting import Meeting


class Job:
    """All ranks, met. A step that takes too long ends the program with the names of those who are missing."""

    def __init__(self, torch, patience):
        self.torch = torch
        self.patience = patience
        self.place = muster.Place()
        self.device = muster.Device(torch, self.place)
        self.failed = False
        self._names = []
        self._gathers = 0
        self._deadline = None
        self.meeting = Meeting(torch, self.place, patience)
        self._store = self.meeting.store
        self._agree_on_backend()
        threading.Thread(target=self._watch, daemon=True).start()
        self._join()

    def _agree_on_backend(self):
        """Ends the program where one rank would use gloo and another one nccl, or where nccl was demanded and can't be used."""
        place, device = self.place, self.device
        self._store.set(self.meeting.key(f"backend/{place.rank}"), f"{device.backend} {device.why}")
        backends = [self._store.get(self.meeting.key(f"backend/{rank}")).decode() for rank in range(place.world)]
        lacking = [rank for rank, text in enumerate(backends) if not text.startswith("nccl ")]
        if not lacking or (len(lacking) == place.world and device.asked != "nccl"):
            return
        # The store goes with rank 0.
        self._store.add(self.meeting.key("backends read"), 1)
        deadline = time.monotonic() + 5
        while place.rank == 0 and time.monotonic() < deadline and self._store.add(self.meeting.key("backends read"), 0) < place.world:
            time.sleep(0.01)
        remedy = ("see gpu_mapping and torch_environment: each rank needs a GPU that it sees, and torch a build with NCCL; "
                  "backend = \"gloo\" tests the network between CPUs")
        if place.rank in lacking:
            demand = "which the check demands" if device.asked == "nccl" else "which other ranks use"
            muster.stop(f"rank {place.rank} on {muster.HOST} can't use nccl, {demand}: {device.why}", remedy,
                        [{"rank": place.rank}])
        muster.stop(f"{muster.ranks_text(lacking)} can't use nccl", remedy, [{"rank": rank} for rank in lacking[:16]],
                    consequence=True)

    def _join(self):
        distributed = self.torch.distributed
        try:
            self._enter("process group", 2 * self.patience)
            log = transport.ask() if self.device.backend == "nccl" else None
            muster.scratch.extend([os.path.dirname(log)] if log else [])
            # _watch keeps the time; it reports more than the library does.
            distributed.init_process_group(
                self.device.backend, store=distributed.PrefixStore(self.meeting.key("group"), self._store),
                rank=self.place.rank, world_size=self.place.world, timeout=datetime.timedelta(hours=1))
            # Connections are made now, or at the first operation: do not let that be a measured one.
            warm = self.torch.zeros(1, device=self.device.device)
            distributed.all_reduce(warm)
            self.device.wait(self.torch)
            self._deadline = None
            if log is not None:
                self._judge_transport(transport.read(transport.take(log)))
        except RuntimeError as problem:
            self._deadline = None
            name = "NCCL_SOCKET_IFNAME" if self.device.backend == "nccl" else "GLOO_SOCKET_IFNAME"
            muster.stop(f"rank {self.place.rank} on {muster.HOST} met the others, but can't connect to them with "
                        f"{self.device.backend}: {muster.first_line(problem)}",
                        f"set {name} to the interface by which the nodes reach each other; host names must not resolve to a "
                        "loopback address there", [{"rank": self.place.rank}])

    def _judge_transport(self, seen):
        place = self.place
        found = transport.judge(seen, transport.slingshot(), place.world > place.local_size)
        if found:
            self.complain(f"{muster.HOST}: {found[0]}", found[1])
        elif place.rank == 0 and transport.describe(seen):
            muster.evidence(transport.describe(seen))

    # While it works.

    def _enter(self, name, seconds):
        self._names.append(name)
        self._store.add(self.meeting.key(f"at/{self.place.rank}"), 1)
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
        muster.finding(reason, remedy, culprits or [{"rank": self.place.rank}])
        self.failed = True

    def give_up(self, reason, remedy, culprits=()):
        """A finding after which this rank can't continue; the others are notified."""
        with contextlib.suppress(RuntimeError):
            self._store.add(self.meeting.key(f"trouble/{self.place.rank}"), 1)
        muster.finding(reason, remedy, culprits or [{"rank": self.place.rank}])
        if self.place.rank == 0:
            self.meeting.grace()
        muster.leave(1)

    def _look_around(self, store):
        """Ranks that are silent for 2 s, with the step that each reached; and those that were in trouble before us."""
        place = self.place
        before = [rank for rank in range(place.world) if store.add(self.meeting.key(f"trouble/{rank}"), 0) > 0]
        store.add(self.meeting.key(f"trouble/{place.rank}"), 1)
        deadline = time.monotonic() + 2
        silent = list(range(place.world))
        while silent and time.monotonic() < deadline:
            silent = [rank for rank in silent if store.add(self.meeting.key(f"trouble/{rank}"), 0) == 0]
            time.sleep(0.05)
        return [(rank, store.add(self.meeting.key(f"at/{rank}"), 0)) for rank in silent], before

    def _explain_loss(self, name, problem):
        place = self.place
        try:
            silent, before = self._look_around(self._store)
        except RuntimeError:
            silent, before = [(0, 0)], []
        if place.rank == 0:
            self.meeting.grace()
        what = muster.first_line(problem)
        if silent:
            lost = [rank for rank, _ in silent]
            muster.stop(f"rank {place.rank} on {muster.HOST} lost {muster.ranks_text(lost)} in step \"{name}\": {what}",
                        "look at what those ranks printed last, and at their nodes: memory, GPU errors, the network",
                        [{"rank": rank} for rank in lost[:16]], consequence=True)
        muster.stop(f"rank {place.rank} on {muster.HOST} failed in step \"{name}\": {what}",
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
        text = f"rank {place.rank} on {muster.HOST} waited too long in step \"{name}\""
        seen = []

        def look():
            # The main thread may hold its connection while it waits.
            with contextlib.suppress(RuntimeError):
                seen.append(self._look_around(self.meeting.connect(place.address)))

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        looking.join(10)
        silent, before = seen[0] if seen else ([(0, 0)], [])
        behind = [rank for rank, reached in silent if reached < at] or [rank for rank, _ in silent]
        if place.rank == 0:
            self.meeting.grace()
        if not behind and before:
            muster.stop(f"{text}: {muster.ranks_text(before)} had failed", "look at what those ranks printed",
                        [{"rank": rank} for rank in before[:16]], consequence=True)
        if not behind:
            muster.stop(f"{text}: all {place.world} ranks came to it, and it did not end",
                        "data does not move between them: look at the interfaces that the backend took (NCCL_DEBUG=INFO, "
                        "NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME) and at the links", consequence=True)
        muster.stop(f"{text} for {muster.ranks_text(behind)}",
                    "look at those ranks and their nodes: a rank that is stopped, swaps or has lost its GPU holds up all",
                    [{"rank": rank} for rank in behind[:16]], consequence=True)

    # At the end.

    def gather(self, value, seconds=None):
        """The JSON values of all ranks, on every rank."""
        store, place = self._store, self.place
        self._gathers += 1
        name = f"value/{self._gathers}"
        store.set(self.meeting.key(f"{name}/{place.rank}"), json.dumps(value))
        with self.step("gather", seconds):
            self.torch.distributed.barrier()
            return [json.loads(store.get(self.meeting.key(f"{name}/{rank}"))) for rank in range(place.world)]

    def finish(self):
        """All ranks leave together, rank 0 last: it keeps the store."""
        with self.step("end"):
            self.torch.distributed.barrier()
        with contextlib.suppress(RuntimeError):
            self._store.add(self.meeting.key("bye"), 1)
            deadline = time.monotonic() + 5
            while self.place.rank == 0 and time.monotonic() < deadline:
                if self._store.add(self.meeting.key("bye"), 0) >= self.place.world:
                    break
                time.sleep(0.01)
        muster.leave(1 if self.failed else 0)
