"""Runs of root beside an ordinary user who tries what hostile_user.py can: they end as they do without that user."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

MUSTER = str(support.BIN / "muster")
HOSTILE = pathlib.Path(__file__).resolve().parent / "hostile_user.py"
ALONE = "MUSTER_E2E_ALONE"
CHECKS = """
[check.hello]
probe = "hello"
summary = "Ranks meet."
ranks = { per_node = 2 }
tags = ["default", "gate"]
[check.devices]
probe = "device_visibility"
summary = "Devices."
ranks = { per_node = 1 }
[check.python]
probe = "command"
summary = "A module is found, and a program runs."
ranks = { per_node = 1 }
[check.python.params]
argv = ["{python}", "-c", "import platform; print('well', platform.python_version())"]
imports = ["json"]
must_print = ["well"]
[check.bad]
probe = "command"
summary = "A program fails."
ranks = { per_node = 2 }
[check.bad.params]
argv = ["false"]
"""


def isolate():
    """Starts this file again with a /tmp, a /dev/shm, a network and System V IPC of its own; `/` is the machine's."""
    if ALONE in os.environ or os.geteuid() != 0:
        return
    script = ("mount --make-rprivate / && mount -t tmpfs -o mode=1777 tmpfs /tmp && mount -t tmpfs -o mode=1777 tmpfs /dev/shm && "
              "ip link set lo up && exec \"$@\"")
    front = ["unshare", "--mount", "--net", "--ipc", "sh", "-c", script, "sh"]
    if str(support.BIN).startswith("/tmp/") or subprocess.run([*front, "true"], capture_output=True).returncode != 0:
        return
    os.execvpe("unshare", [*front, sys.executable, "-B", *sys.argv], {**os.environ, ALONE: "1", support.ISOLATED: "1"})


@unittest.skipIf(ALONE not in os.environ, "that user would disturb whatever else runs here (root, and namespaces)")
class HostileUser(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path("/tmp/ours")
        self.folder.mkdir()
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.folder.chmod(0o755)
        (self.folder / "checks.toml").write_text(CHECKS)
        # As systemd's StateDirectory= makes it.
        (self.folder / "state" / "muster").mkdir(parents=True)

    def hostile(self):
        user = subprocess.Popen([sys.executable, "-B", HOSTILE, self.folder], stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (user.kill(), user.wait(), user.stdout.close()))
        self.assertEqual(user.stdout.readline(), "ready\n")
        return user

    def muster(self, *words, cwd="/tmp"):
        env = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        done = subprocess.run([MUSTER, *words], cwd=cwd, capture_output=True, text=True, timeout=180 * support.SLOWNESS,
                              env={**env, "HOME": "/root", "NO_COLOR": "1", "XDG_STATE_HOME": str(self.folder / "state"),
                                   "OMPI_MCA_rmaps_base_oversubscribe": "1"})
        done.said = done.stdout + done.stderr
        return done

    def verdicts(self, launcher):
        done = self.muster("run", str(self.folder / "checks.toml"), "--launcher", launcher, "--ranks-per-node", "1" if launcher == "local" else "2",
                           "--lock", "--output", str(self.folder / "runs"))
        report = json.loads((self.folder / "runs" / "latest" / "report.json").read_text())
        return (done.returncode, {case["check"]: (case["verdict"], [culprit["kind"] for culprit in case["culprits"]])
                                  for case in report["cases"]}), done.said

    def test_runs_end_as_they_do_without(self):
        without = {launcher: self.verdicts(launcher)[0] for launcher in ("local", "mpirun")}
        self.assertEqual(without["mpirun"][1]["hello"], ("pass", []), without)
        self.assertEqual(without["mpirun"][1]["bad"][0], "fail", without)
        user = self.hostile()
        for launcher in ("local", "mpirun", "mpirun"):
            with self.subTest(launcher=launcher):
                found, said = self.verdicts(launcher)
                self.assertEqual(found, without[launcher], said)
        self.assertIsNone(user.poll())
        done = self.muster("gate", "--need", "1", "--launcher", "mpirun", "--checks", str(self.folder / "checks.toml"), "-x", "bad", "--output",
                           str(self.folder / "gate"), "--print", "hosts")
        self.assertEqual(done.returncode, 0, done.said)
        done = self.muster("run", str(self.folder / "checks.toml"), "--launcher", "local")
        self.assertEqual(done.returncode, 3, "./muster-runs is a link of that user: " + done.said)
        self.assertIn("is a link of user 65534", done.said)
        self.assertFalse(os.path.exists("/root/hostile"))
        self.assertEqual([path.owner() for path in self.folder.rglob("*") if path.owner() != "root"], [])
        listed = self.muster("history")
        self.assertEqual(listed.returncode, 0, listed.said)


if __name__ == "__main__":
    if shutil.which("ip") is None:
        support.skip("there is no ip (apt install iproute2)")
    isolate()
    support.main()
