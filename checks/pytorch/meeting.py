"""How the ranks of a job meet: as torch.distributed does, through RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; but
before a process group is made, every rank says that it is there, so that one that is missing is named."""
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


class Meeting:
    """The store that all ranks of a job share. Made when all are there; otherwise the program ends, saying who is not."""

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
        return f"muster/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{name}"

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

    def _explain_stranger(self, problem):
        place = self.place
        muster.stop(f"rank {place.rank} on {muster.HOST}: what listens at {place.where} is not rank 0 of this job: {problem}",
                    "give MASTER_ADDR the address of rank 0's node and MASTER_PORT a port that is free there",
                    [{"setting": "MASTER_PORT"}])

    def _explain_address(self, problem):
        place = self.place
        muster.stop(f"rank {place.rank} on {muster.HOST} can't reach rank 0 at {place.where}: {problem}",
                    "MASTER_ADDR must be the same on all ranks: a name or an address of rank 0's node that every other "
                    "node reaches; no firewall may close the port between them",
                    [{"rank": place.rank}])

    def _meet(self):
        """Every rank says that it is there; rank 0 waits for all and says who is not."""
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
            except RuntimeError:
                break
            time.sleep(0.02)
        return [0]

    def grace(self):
        """Time for the others to read what rank 0's store has to say, before it goes."""
        time.sleep(1.0 if self.place.world > 1 else 0)
