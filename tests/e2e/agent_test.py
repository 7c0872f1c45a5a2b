"""The agent under real launchers, talking to a driver made of a few lines: over TCP and over standard output."""
import itertools
import os
import shutil
import socket
import struct
import subprocess
import sys
import unittest
import zlib

BIN = os.path.join(os.environ.get("MUSTER_BUILD", "build"), "bin")
EVERYWHERE = {"folder": "", "per_node": False, "not_on": [], "node": ""}
HELLO = {**EVERYWHERE, "index": 0, "case": "hello%1", "probe": "hello", "params": '{"repetitions":"3","warmups":"1"}'}
AFFINITY = {**EVERYWHERE, "index": 1, "case": "cpu_affinity%1", "probe": "cpu_affinity", "params": '{"sharing":"any"}'}


def cbor(value):
    def head(major, count):
        if count < 24:
            return bytes([major << 5 | count])
        return bytes([major << 5 | 26]) + struct.pack(">I", count)

    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    return head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in value.items())


def frame(kind, payload):
    check = zlib.crc32(bytes([kind]) + payload)
    return b"\xffMU1" + struct.pack("<B3xII", kind, len(payload), check) + payload


def frames(stream):
    """(type, payload) of every frame in the stream; whatever else is there is skipped."""
    at = 0
    while (at := stream.find(b"\xffMU1", at)) >= 0 and at + 16 <= len(stream):
        kind, length, check = struct.unpack_from("<B3xII", stream, at + 4)
        payload = stream[at + 16:at + 16 + length]
        if zlib.crc32(bytes([kind]) + payload) == check:
            yield kind, payload
        at += 16 + length


JOB = frame(1, cbor({"simulated": False, "items": [HELLO, AFFINITY]}))
LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"],
    "mpich": ["mpirun.mpich"],
}


def agents():
    """(name of the MPI, launcher, agent) of everything that is here."""
    for agent in ("muster-rank", "muster-rank-mpich"):
        path = os.path.join(BIN, agent)
        if not os.path.exists(path):
            continue
        about = subprocess.run([path, "--about"], capture_output=True, text=True, check=True).stdout
        for mpi, launcher in LAUNCHERS.items():
            if f'"mpi":"{mpi}"' in about and shutil.which(launcher[0]):
                yield mpi, launcher, path


class Agent(unittest.TestCase):
    launches = itertools.count()

    def setUp(self):
        self.tag = ""

    def environment(self, **more):
        """Each launch has a tag of its own: what an aborted job leaves for its driver to read is no other launch's."""
        self.tag = f"agent-test-{os.getpid()}-{next(self.launches)}"
        return dict(os.environ, OMPI_MCA_mpi_yield_when_idle="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MUSTER_TAG=self.tag, **more)

    def leftovers(self):
        return [name for name in os.listdir("/dev/shm") if name.startswith(f"muster-{self.tag}-")]

    def over_tcp(self, command, ranks):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(30)
            env = self.environment(MUSTER_WIRE=f"127.0.0.1:{listener.getsockname()[1]}", MUSTER_WORLD=str(ranks))
            with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL) as job:
                wire, _ = listener.accept()
                with wire:
                    wire.sendall(JOB)
                    wire.settimeout(60)
                    stream = b""
                    while chunk := wire.recv(65536):
                        stream += chunk
                return job.wait(30), list(frames(stream))

    def test_every_launcher_over_tcp(self):
        for mpi, launcher, agent in agents():
            for ranks in (1, 2, 4):
                with self.subTest(mpi=mpi, ranks=ranks):
                    status, seen = self.over_tcp([*launcher, "-n", str(ranks), agent], ranks)
                    self.assertEqual(status, 0)
                    self.assertEqual([kind for kind, _ in seen], [2, 4, 5, 6, 7, 5, 6, 7, 8])
                    hello = [payload for kind, payload in seen if kind == 6][0]
                    self.assertEqual(hello.count(f"{ranks} of {ranks}".encode()), ranks)
                    self.assertEqual(self.leftovers(), [])

    def test_every_launcher_over_standard_output(self):
        for mpi, launcher, agent in agents():
            with self.subTest(mpi=mpi):
                done = subprocess.run([*launcher, "-n", "2", agent], env=self.environment(), input=JOB, capture_output=True,
                                      timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([kind for kind, _ in frames(done.stdout)], [2, 4, 5, 6, 7, 5, 6, 7, 8])

    def test_the_wrong_launcher_is_named(self):
        found = list(agents())
        if len(found) < 2:
            self.skipTest("needs two MPIs")
        (one, launcher, _), (_, _, agent) = found
        # Each of the two processes is a world of its own and says so.
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(30)
            env = self.environment(MUSTER_WIRE=f"127.0.0.1:{listener.getsockname()[1]}", MUSTER_WORLD="2")
            with subprocess.Popen([*launcher, "-n", "2", agent], env=env, stdin=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE) as job:
                said = b""
                for _ in range(2):
                    wire, _ = listener.accept()
                    with wire:
                        while chunk := wire.recv(65536):
                            said += chunk
                job.communicate(timeout=30)
        self.assertEqual(one, "openmpi")
        self.assertEqual([kind for kind, _ in frames(said)], [2, 3, 2, 3])
        self.assertIn(b"agent built for MPICH, launched by Open MPI: the world has 1 rank, 2 were requested", said)
        self.assertNotEqual(job.returncode, 0)

    def test_a_driver_that_is_gone_ends_the_job(self):
        for mpi, launcher, agent in agents():
            with self.subTest(mpi=mpi), socket.create_server(("127.0.0.1", 0)) as listener:
                listener.settimeout(30)
                env = self.environment(MUSTER_WIRE=f"127.0.0.1:{listener.getsockname()[1]}")
                many = frame(1, cbor({"simulated": False, "items": [HELLO] * 5000}))
                with subprocess.Popen([*launcher, "-n", "2", agent], env=env, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
                    wire, _ = listener.accept()
                    wire.sendall(many)
                    wire.recv(65536)
                    wire.close()
                    self.assertNotEqual(job.wait(30), 0)
                # No driver is left to read and remove them.
                for name in self.leftovers():
                    os.unlink(os.path.join("/dev/shm", name))

    def test_arguments(self):
        agent = os.path.join(BIN, "muster-rank")
        self.assertEqual(subprocess.run([agent, "--help"], capture_output=True, check=False).returncode, 0)
        self.assertEqual(subprocess.run([agent, "--nonsense"], capture_output=True, check=False).returncode, 3)


if __name__ == "__main__":
    if not list(agents()):
        print("no agent with its launcher is here")
        sys.exit(77)
    unittest.main()
