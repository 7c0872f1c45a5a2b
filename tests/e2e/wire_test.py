"""What others can do to the connection between driver and agent: strangers on the port, a forged, altered or repeated frame, a
program of a check that writes frames of its own, an agent of another version."""
import ctypes
import ctypes.util
import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from agent_test import EVERYWHERE, cbor, frame, frames  # noqa: E402

RANK = str(support.BIN / "muster-rank")
FAILING = '[check.task]\nprobe = "command"\nsummary = "A program runs."\nranks = { per_node = 1 }\ntimeout = "20s"\n[check.task.params]\nargv = ["sh", "SCRIPT"]\n'
HELLO = '[check.hello]\nprobe = "hello"\nsummary = "Ranks meet."\nranks = { per_node = 1 }\ntimeout = "20s"\n'

# Starts the agent behind a relay that does something to its frames: alter, repeat, forge or keep.
RELAY = '''#!/usr/bin/python3
import os, socket, struct, sys, threading, zlib
mode, agent = {mode!r}, {agent!r}
host, port = os.environ["MUSTER_WIRE"].split(",")[0].rsplit(":", 1)
listener = socket.create_server(("127.0.0.1", 0))
os.environ["MUSTER_WIRE"] = "127.0.0.1:%d" % listener.getsockname()[1]
if os.fork() != 0:
    os.execv(agent, [agent])
os.close(0), os.close(1)
near, far = listener.accept()[0], socket.create_connection((host, int(port)))

def back():
    while data := far.recv(65536):
        near.sendall(data)
    near.close()

threading.Thread(target=back, daemon=True).start()
kept, count = b"", 0
log = open({log!r}, "wb")
while data := near.recv(65536):
    log.write(data)
    log.flush()
    kept += data
    while len(kept) >= 16 and len(kept) >= 16 + struct.unpack("<I", kept[8:12])[0]:
        size = 16 + struct.unpack("<I", kept[8:12])[0]
        one, kept = bytearray(kept[:size]), kept[size:]
        count += 1
        if count == 3 and mode == "alter":
            one[40] ^= 1
            one[12:16] = struct.pack("<I", zlib.crc32(bytes(one[4:5]) + bytes(one[16:])))
        if count == 3 and mode == "damage":
            one[40] ^= 1
        far.sendall(one)
        if count == 3 and mode == "repeat":
            far.sendall(one)
        if count == 3 and mode == "forge":
            end = struct.pack("<Id", 0, 0.1)
            far.sendall(b"\\xffMU1" + struct.pack("<B3xII", 7, len(end), zlib.crc32(b"\\x07" + end)) + end)
'''

# Connects from another user to the first port that is opened, the driver's, and says nothing.
IDLE = '''
import os, socket, sys, time
os.setgroups([]); os.setgid(65534); os.setuid(65534)
kept = []
print("ready", flush=True)
while True:
    for line in open("/proc/net/tcp").read().splitlines()[1:]:
        words = line.split()
        port = int(words[1].split(":")[1], 16)
        if words[3] == "0A" and not kept:
            for _ in range(3000):
                try:
                    one = socket.socket(); one.setblocking(False)
                    one.connect_ex(("127.0.0.1", port))
                    kept.append(one)
                except OSError:
                    break
            print(len(kept), flush=True)
    time.sleep(0.001)
'''


# The same, but never at rest: connections come and go, some with bytes, as fast as this user can make them.
FLOOD = """
import os, socket
os.setgroups([]); os.setgid(65534); os.setuid(65534)
print("ready", flush=True)
port, made = 0, 0
while not port:
    for line in open("/proc/net/tcp").read().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A":
            port = int(words[1].split(":")[1], 16)
first = os.getpid()
for _ in range(3):
    if os.getpid() == first: os.fork()
kept = []
while os.getpid() == first or os.getppid() == first:
    try:
        one = socket.socket(); one.setblocking(False)
        one.connect_ex(("127.0.0.1", port))
        if made % 3 == 0:
            one.send(b"GET / HTTP/1.1" * 9)
        kept.append(one)
    except OSError:
        pass
    made += 1
    if len(kept) > 300:
        del kept[:100]
    if made % 1000 == 0:
        print(made, flush=True)
"""


# To each port, a part of a handshake.
HALF = """
import os, socket, time
os.setgroups([]); os.setgid(65534); os.setuid(65534)
print("ready", flush=True)
kept = {}
while True:
    for line in open("/proc/net/tcp").read().splitlines()[1:]:
        words = line.split()
        port = int(words[1].split(":")[1], 16)
        if words[3] == "0A" and port not in kept:
            try:
                # Not create_connection: it imports a codec, which this user may not be able to read.
                one = socket.socket()
                one.settimeout(0.2)
                address = socket.inet_ntoa(bytes.fromhex(words[1].split(":")[0])[::-1])
                one.connect(("127.0.0.1" if address == "0.0.0.0" else address, port))
                kept[port] = one
                one.send(b"hostile hostile")
                print(words[1].split(":")[1], len(kept), flush=True)
            except OSError:
                pass
    time.sleep(0.001)
"""


# For the agent, which calls a port only then: HALF has called each.
CALLED_EVERY_PORT = """until awk 'NR == FNR {{ called[$1]; next }} $4 == "0A" {{ split($2, at, ":"); if (!(at[2] in called)) open = 1 }} END {{ exit open }}' \\
  {folder}/attack /proc/net/tcp; do sleep 0.05; done"""


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


class Sodium:
    """An agent's end of the wire, with libsodium."""

    def __init__(self, key):
        self.library = ctypes.CDLL(ctypes.util.find_library("sodium"))
        self.key, self.name, self.count = key, os.urandom(16), 0

    def seal(self, kind, payload):
        nonce = self.name + struct.pack("<Q", self.count)
        self.count += 1
        plain = bytes([kind]) + payload
        out, length = ctypes.create_string_buffer(len(plain) + 16), ctypes.c_ulonglong()
        self.library.crypto_aead_xchacha20poly1305_ietf_encrypt(
            out, ctypes.byref(length), plain, ctypes.c_ulonglong(len(plain)), b"A", ctypes.c_ulonglong(1), None, nonce, self.key)
        return frame(0x53, nonce + out.raw)


class Wire(support.EndToEnd):
    def run_with(self, checks, *options, agent=RANK, limit=30, **more):
        run = support.Run(checks, "--launcher", "local", *options, agent=agent, **more)
        self.addCleanup(run.clean)
        run.start()
        run.wait(limit)
        return run

    def relayed(self, mode):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="mt-"))
        log = folder / "log"
        agent = executable(folder / "agent", RELAY.format(mode=mode, agent=RANK, log=str(log)))
        run = self.run_with(HELLO, agent=agent)
        return run, log.read_bytes()

    def test_frames_that_are_altered_or_repeated_or_forged_are_an_error(self):
        for mode in ("alter", "damage", "repeat", "forge"):
            with self.subTest(mode=mode):
                run, _ = self.relayed(mode)
                self.assert_status(run, 2)
                reasons = [case["reason"] for case in run.report()["cases"] if case["verdict"] == "error"]
                self.assertIn("altered, repeated or forged", " ".join(reasons), run.story())

    def test_what_passes_by_can_not_be_read(self):
        run, seen = self.relayed("keep")
        self.assert_status(run, 0)
        self.assertGreater(len(seen), 500)
        for word in (b"hello", b"world_size", b"version", b"Open MPI", b"loopback"):
            self.assertNotIn(word, seen)

    def test_frames_of_a_program_are_no_evidence(self):
        """What a passing program would have made the agent say, written by a failing one where the agent's frames go."""
        def item(argv):
            params = json.dumps({"argv": argv, "arguments": [], "deadline": "30", "expect_status": "0", "python": "", "imports": [], "missing": "error",
                                 "backend": "auto", "metric": [], "must_print": []})
            return {**EVERYWHERE, "index": 0, "case": "task", "probe": "command", "params": params}
        job = frame(1, cbor({"simulated": False, "items": [item(["true"])]}))
        env = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        said = subprocess.run([RANK], input=job, capture_output=True, env=env, timeout=30).stdout
        forged = b"".join(frame(kind, payload) + b"\n" for kind, payload in frames(said) if kind in (6, 7))
        self.assertNotIn(b"missing", forged)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="mt-"))
        (folder / "forged").write_bytes(forged)
        (folder / "script").write_text(f"cat {folder}/forged > /proc/$PPID/fd/1\nsleep 0.5\nexit 1\n")
        for wire in (None, "none"):
            with self.subTest(wire=wire):
                run = self.run_with(FAILING.replace("SCRIPT", str(folder / "script")),
                                    env={"MUSTER_WIRE_ADDRESS": wire} if wire else {})
                self.assert_status(run, 1)
                self.assertEqual(run.case("task")["verdict"], "fail", run.story())

    def test_the_key_is_not_to_be_seen(self):
        """In no argument, in no child, and not in what the kernel shows of the agent's environment."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="mt-"))
        script = folder / "script"
        script.write_text(f"tr '\\0' '\\n' < /proc/$PPID/environ > {folder}/agent\nenv > {folder}/child\n"
                          f"cat /proc/[0-9]*/cmdline > {folder}/arguments 2> /dev/null\nexit 0\n")
        agent = executable(folder / "agent.sh", f"#!/bin/sh\necho $MUSTER_KEY > {folder}/key\nexec {RANK}\n")
        for launcher in ("local", "mpirun"):
            with self.subTest(launcher=launcher):
                run = support.Run(FAILING.replace("SCRIPT", str(script)), "--launcher", launcher, agent=agent)
                self.addCleanup(run.clean)
                run.start()
                run.wait(30)
                self.assert_status(run, 0)
                key = (folder / "key").read_text().strip()
                self.assertRegex(key, "^[0-9a-f]{64}$")
                self.assertIn("MUSTER_TAG=", (folder / "agent").read_text(errors="replace"))
                for name in ("agent", "child", "arguments"):
                    self.assertNotIn(key, (folder / name).read_text(errors="replace"), name)

    def test_an_agent_of_another_version_is_an_error_that_says_so(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="mt-"))
        agent = executable(folder / "agent", f'''#!/usr/bin/python3
import os, socket, sys, time
if sys.argv[1:] == ["--about"]:
    os.execv({RANK!r}, [{RANK!r}, "--about"])
sys.path[:0] = {[str(pathlib.Path(__file__).parent)]!r}
import wire_test
host, port = os.environ["MUSTER_WIRE"].split(",")[0].rsplit(":", 1)
wire = socket.create_connection((host, int(port)))
sealed = wire_test.Sodium(bytes.fromhex(os.environ["MUSTER_KEY"]))
wire.sendall(sealed.seal(2, wire_test.cbor({{"version": "0.0.9", "world_size": 1}})))
time.sleep(60)
''')
        run = self.run_with(HELLO, agent=agent)
        self.assert_status(run, 2)
        case = run.case("hello")
        self.assertEqual(case["verdict"], "error")
        self.assertRegex(case["reason"], r"rank 0's agent is muster 0\.0\.9, this is muster \d")

    @unittest.skipIf(os.geteuid() != 0, "only root takes the place of another user")
    def test_thousands_of_idle_connections_cost_no_rank(self):
        self.called_by_strangers(IDLE)

    @unittest.skipIf(os.geteuid() != 0, "only root takes the place of another user")
    def test_a_flood_of_connections_costs_no_rank(self):
        self.called_by_strangers(FLOOD)

    @unittest.skipIf(os.geteuid() != 0, "only root takes the place of another user")
    @unittest.skipIf(support.SLOWNESS > 1, "sanitizers need descriptors of their own to look at memory")
    def test_a_flood_of_connections_where_few_files_may_be_open(self):
        """At best rank 0 gets through; it is never blamed."""
        self.called_by_strangers(FLOOD, files=64, statuses=(0, 2))

    @unittest.skipIf(os.geteuid() != 0, "only root takes the place of another user")
    def test_a_flood_of_the_launchers_own_port(self):
        """Open MPI's: its ranks may not get through, and no node is at fault."""
        later = IDLE.replace("and not kept:", "and len(kept) < 6000 and seen.setdefault(port, len(seen)) > 0:")
        run = self.called_by_strangers(later.replace("kept = []", "kept, seen = [], {}"), statuses=(0, 2), launcher="mpirun")
        for case in run.report()["cases"]:
            self.assertNotEqual(case["verdict"], "fail", run.story())
            self.assertNotIn("node", [culprit["kind"] for culprit in case["culprits"]], run.story())
        print(f"  {run.report()['cases'][0]['verdict']}: {run.report()['cases'][0]['reason']}")

    @unittest.skipIf(os.geteuid() != 0, "only root takes the place of another user")
    def test_an_incomplete_handshake_on_the_launchers_own_port(self):
        """mpirun waits for the rest. A rank without a launcher needs no daemon of Open MPI that does."""
        self.called_by_strangers(HALF, least=0, until=CALLED_EVERY_PORT)
        # Open MPI 4's mpirun reads handshakes one after the other; another one may go on.
        is_one_by_one = "(Open MPI) 4." in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
        run = self.called_by_strangers(HALF, statuses=(2,) if is_one_by_one else (0, 2), launcher="mpirun", least=1, until=CALLED_EVERY_PORT)
        for case in run.report()["cases"]:
            self.assertNotEqual(case["verdict"], "fail", run.story())
            self.assertNotIn("node", [culprit["kind"] for culprit in case["culprits"]], run.story())
            if case["verdict"] == "error":
                self.assertRegex(case["reason"], "user 65534 is connected to port [0-9]+ of mpirun or of a rank", run.story())
        print(f"  {run.report()['cases'][0]['verdict']}: {run.report()['cases'][0]['reason']}")

    def called_by_strangers(self, attack, files=1024, statuses=(0,), launcher="local", least=2000, until="sleep 1.5"):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 8192:
            self.skipTest(f"no more than {hard} files may be open here")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="mt-"))
        late = executable(folder / "agent", f"#!/bin/sh\n[ $# = 0 ] && {until.format(folder=folder)}\nexec {RANK} \"$@\"\n")
        (folder / "attack.py").write_text(attack)
        # In a network of its own: the connections must reach no other test.
        start = executable(folder / "start", f'''#!/bin/sh
ip link set lo up
(ulimit -n {hard}; exec {sys.executable} {folder}/attack.py > {folder}/attack 2> {folder}/errors) &
echo $! > {folder}/pid
until grep -q ready {folder}/attack; do sleep 0.05; done
ulimit -n {files}
exec "$@"
''')
        run = support.Run(HELLO, "--launcher", launcher, agent=late, wrapper=["unshare", "--net", start],
                          env={"MUSTER_STARTUP_TIMEOUT": "8"} if launcher != "local" else {})
        self.addCleanup(run.clean)
        run.start()
        run.wait(30)
        os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
        made = int((folder / "attack").read_text().replace("ready", "0").split()[-1])
        self.assertGreater(made, least, (folder / "errors").read_text())
        self.assertIn(run.status, statuses, run.story())
        return run


if __name__ == "__main__":
    support.main(needs=("mpirun",))
