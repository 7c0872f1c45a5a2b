"""Root of one node of a launch answers in the name of rank 0, for all nodes. Shared, not a test."""
import json
import os
import pathlib
import subprocess

import support
from agent_test import EVERYWHERE, cbor, frame

CHECK = '[check.task]\nprobe = "command"\nsummary = "A program runs."\nranks = {{ per_node = 1 }}\ntimeout = "20s"\n[check.task.params]\nargv = ["sh", "{script}"]\n'

# Takes the place of muster-rank on its node: sends what honest ranks of all nodes sent before, then is muster-rank.
FORGER = '''#!/usr/bin/python3
import os, socket, sys
sys.dont_write_bytecode = True
sys.path[:0] = {path!r}
import agent_test, wire_test
if sys.argv[1:] != ["--about"]:
    for address in os.environ["MUSTER_WIRE"].split(","):
        host, port = address.rsplit(":", 1)
        try:
            wire = socket.create_connection((host, int(port)), 2)
            break
        except OSError:
            continue
    sealed = wire_test.Sodium(bytes.fromhex(os.environ["MUSTER_KEY"]))
    for kind, payload in agent_test.frames(open({recorded!r}, "rb").read()):
        wire.sendall(sealed.seal(kind, payload))
    wire.set_inheritable(True)
    open({done!r}, "w").write("sent")
os.execv({agent!r}, [{agent!r}, *sys.argv[1:]])
'''


class ForgedRank:
    """A check that passes while it is recorded, and fails on `faulty` from then on."""

    def __init__(self, cluster, faulty):
        self.cluster = cluster
        self.folder = pathlib.Path(cluster.folder)
        self.flag, self.script = self.folder / "flag", self.folder / "task.sh"
        self.recorded, self.done = self.folder / "recorded", self.folder / "sent"
        self.script.write_text(f'[ "$(hostname)" != {faulty} ] || [ ! -e {self.flag} ] || {{ echo broken; exit 1; }}\n')
        self.agent = self.folder / "honest-rank"
        self.agent.write_bytes(support.AGENT.read_bytes())
        self.agent.chmod(0o755)

    @property
    def check(self):
        return CHECK.format(script=self.script)

    def record(self, launch):
        """`launch`: argv that starts a program once on each node, as ranks of one world, and hands on standard input to rank 0."""
        params = json.dumps({"argv": ["sh", str(self.script)], "arguments": [], "deadline": "30", "expect_status": "0", "python": "", "imports": [],
                             "missing": "error", "backend": "auto", "metric": [], "must_print": []})
        item = {**EVERYWHERE, "index": 0, "case": "task", "probe": "command", "params": params}
        seen = subprocess.run([*launch, "env", "MUSTER_TAG=recorded", str(support.AGENT)], input=frame(1, cbor({"simulated": False, "items": [item]})), capture_output=True,
                              env={**os.environ, **self.cluster.environment()}, timeout=60)
        assert seen.returncode == 0, seen
        self.recorded.write_bytes(seen.stdout)

    def begin(self, hostile):
        self.flag.touch()
        self.done.unlink(missing_ok=True)
        forger = self.folder / "forger"
        e2e = pathlib.Path(support.__file__).resolve().parent
        forger.write_text(FORGER.format(path=[str(e2e)], recorded=str(self.recorded), done=str(self.done), agent=str(self.agent)))
        forger.chmod(0o755)
        self.cluster.execute(hostile, ["mount", "--bind", str(forger), str(support.AGENT)], check=True)

    def end(self, hostile):
        self.cluster.execute(hostile, ["umount", str(support.AGENT)], stderr=subprocess.DEVNULL)
        self.flag.unlink(missing_ok=True)
