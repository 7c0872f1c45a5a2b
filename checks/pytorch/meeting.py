"""How the ranks of a job meet: as torch.distributed does, through RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; but
every rank registers before a process group is created, so that a missing one is named."""
import contextlib
import datetime
import errno
import json
import os
import socket
import threading
import time

import muster_torch as muster


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


def is_own(address):
    """Whether it is an address of this node, or a name of one: nothing else can be bound to."""
    try:
        found = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, where in found:
        try:
            with socket.socket(family, kind, protocol) as tried:
                tried.bind(where)
                return True
        except OSError:
            continue
    return False


class Meeting:
    """The store that all ranks of a job share. Made when all are present; otherwise the program ends and names the missing ones."""

    def __init__(self, torch, place, patience):
        self.torch, self.place, self.patience = torch, place, patience
        self.store = self._open_store()
        self._meet()

    def _open_store(self):
        place = self.place
        if place.rank == 0 and not place.has_agent_store:
            try:
                store = self.connect("127.0.0.1", True)
            except RuntimeError as problem:
                self._explain_port(problem)
            self._demand_own_address(store)
        problem = knock(place.address, place.port, self.patience)
        if problem is not None:
            self._explain_address(problem)
        if place.rank == 0 and not place.has_agent_store:
            return store
        try:
            return self.connect(place.address)
        except RuntimeError as problem:
            self._explain_stranger(muster.first_line(problem))

    def key(self, name):
        """Of the store: torchrun starts its workers anew, and keeps the store meanwhile."""
        # With the word of this job: a foreign server at that address does not have it.
        return f"muster/{self.place.word}/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{name}"

    def connect(self, address, is_master=False):
        return self.torch.distributed.TCPStore(
            address, self.place.port, world_size=self.place.world, is_master=is_master,
            timeout=datetime.timedelta(seconds=self.patience), wait_for_workers=False)

    def _explain_port(self, problem):
        place = self.place
        text = str(problem)
        if "ddress already in use" in text or "EADDRINUSE" in text:
            muster.stop(f"rank 0 on {muster.HOST} can't listen on MASTER_PORT={place.port}: the port is in use",
                        f"choose another port; `ss -ltnp sport = :{place.port}` on {muster.HOST} names the program that "
                        "has it",
                        [{"setting": "MASTER_PORT"}])
        muster.stop(f"rank 0 on {muster.HOST} can't listen on MASTER_PORT={place.port}: {muster.first_line(problem)}",
                    "choose another port, from 1024 to 65535", [{"setting": "MASTER_PORT"}])

    def _demand_own_address(self, store):
        """On rank 0: MASTER_ADDR leads here. Not every such address is one of the node's own (NAT): then the incoming connection decides."""
        place = self.place
        if is_own(place.address):
            return

        def come_in():
            with contextlib.suppress(RuntimeError):
                if knock(place.address, place.port, self.patience) is None:
                    self.connect(place.address).add(self.key("own"), 1)

        coming = threading.Thread(target=come_in, daemon=True)
        coming.start()
        coming.join(self.patience)
        if store.add(self.key("own"), 0) == 0:
            muster.stop(f"rank 0 on {muster.HOST} has {place.where}, which does not lead to rank 0: it is not an address of that "
                        "node",
                        "MASTER_ADDR must be the same on all ranks: a name or an address of rank 0's node that every other "
                        "node reaches", [{"rank": 0}, {"setting": "MASTER_ADDR"}])

    def _explain_rank_0(self, problem):
        """The address is what muster gave, and rank 0 is not there."""
        place = self.place
        muster.stop(f"rank 0 is not at {place.where} when rank {place.rank} on {muster.HOST} comes: {problem}",
                    "look at what rank 0 printed and at its node: it is late, stopped, or has ended; if it is there and "
                    "waits, a firewall or another program has the port",
                    [{"rank": 0}], consequence=True)

    def _explain_stranger(self, problem):
        place = self.place
        if place.is_as_given():
            self._explain_rank_0(problem)
        muster.stop(f"rank {place.rank} on {muster.HOST}: what listens at {place.where} is not rank 0 of this job: {problem}",
                    "give MASTER_ADDR the address of rank 0's node and MASTER_PORT a port that is free there; all ranks "
                    "must have the same",
                    [{"rank": place.rank}, {"setting": "MASTER_ADDR"}])

    def _explain_address(self, problem):
        place = self.place
        if place.is_as_given() and "refused" in problem:
            self._explain_rank_0(f"{problem} for {self.patience:g} s")
        given = f"; muster gave MASTER_ADDR={place.given[0]} MASTER_PORT={place.given[1]}" if place.is_as_given() is False else ""
        muster.stop(f"rank {place.rank} on {muster.HOST} can't reach rank 0 at {place.where}: {problem}{given}",
                    "MASTER_ADDR must be the same on all ranks: a name or an address of rank 0's node that every other "
                    "node reaches; no firewall may close the port between them",
                    [{"rank": place.rank}])

    def _meet(self):
        """Every rank registers; rank 0 waits for all and reports missing ones."""
        place, store = self.place, self.store
        # Whatever listens there need not be a store, and then never answers.
        stranger = threading.Timer(self.patience + 10, self._explain_stranger, ["it does not answer"])
        stranger.daemon = True
        stranger.start()
        store.set(self.key(f"host/{place.rank}"), muster.HOST)
        store.add(self.key(f"here/{place.rank}"), 1)
        deadline = time.monotonic() + self.patience
        if place.rank == 0:
            missing = list(range(place.world))
            while missing and time.monotonic() < deadline:
                missing = [rank for rank in missing if store.add(self.key(f"here/{rank}"), 0) == 0]
                time.sleep(0.02 if missing else 0)
            store.set(self.key("missing"), json.dumps(missing))
            store.add(self.key("called"), 1)
        else:
            missing = self._wait_for_call(deadline + 5)
        stranger.cancel()
        if not missing:
            return
        if place.rank == 0:
            self.grace()
        muster.stop(f"{muster.ranks_text(missing)} of {place.world} did not come to {place.where} within {self.patience:g} s",
                    "look at what those ranks printed; their MASTER_ADDR must be that of the others, and the port open "
                    "to them",
                    [{"rank": rank} for rank in missing[:16]], consequence=True)

    def _wait_for_call(self, deadline):
        while time.monotonic() < deadline:
            try:
                if self.store.add(self.key("called"), 0) != 0:
                    return json.loads(self.store.get(self.key("missing")))
            except RuntimeError as problem:
                self._explain_left(problem)
            time.sleep(0.02)
        # The server that accepted is not of this job, or rank 0 was stopped after it had opened its store.
        self._explain_stranger("it does not call the ranks of this job together")
        return [0]

    def _explain_left(self, problem):
        place = self.place
        muster.stop(f"rank 0 left {place.where} before rank {place.rank} on {muster.HOST} had heard who is there: "
                    f"{muster.first_line(problem)}", "look at what rank 0 printed, and at its node", [{"rank": 0}],
                    consequence=True)

    def grace(self):
        """Time for the others to read rank 0's store before it ends."""
        time.sleep(1.0 if self.place.world > 1 else 0)
