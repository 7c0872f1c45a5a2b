"""Runs muster-test as a user would, and looks at what it left behind. The house's own test tool, not a test.

Everything that a run starts inherits a variable of its own from the driver's environment, so leftovers are found by
that, never by name. Each test file has a /dev/shm to itself where it may (root), so that files there can be counted.
"""
import atexit
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
import described_labels  # noqa: E402

BUILD = pathlib.Path(os.environ.get("MUSTER_BUILD", "build"))
BIN = (BUILD / "bin").resolve()
# Builds with sanitizers have none of their own.
STAND_INS = pathlib.Path(os.environ.get("MUSTER_STAND_INS", BUILD)).resolve() / "drivers"
DRIVER = BIN / "muster-test"
# MPI libraries and ThreadSanitizer don't get along: a driver built with it is tried with agents of another build.
AGENTS = (pathlib.Path(os.environ.get("MUSTER_AGENT_BUILD", BUILD)) / "bin").resolve()
AGENT = AGENTS / "muster-rank-test"
AGENT_MPICH = AGENTS / "muster-rank-test-mpich"
# In front of a command: it runs with the system calls of Linux 4.18, without pidfd.
OLD_KERNEL = (sys.executable, "-B", str(pathlib.Path(__file__).resolve().parent / "old_kernel.py"))
FAILING_CALLS = BIN / "failing_calls.so"
# No test writes into anybody's own history.
STATE = os.environ.get("MUSTER_E2E_STATE") or tempfile.mkdtemp(prefix="muster-state-")
os.environ["MUSTER_E2E_STATE"] = os.environ["XDG_STATE_HOME"] = STATE
atexit.register(shutil.rmtree, STATE, ignore_errors=True)
RUN_ID = "MUSTER_E2E_RUN"  # in the environment of all that one run starts
ISOLATED = "MUSTER_E2E_ISOLATED"
HOST = os.uname().nodename
# A build with sanitizers starts slowly, and its leak check must not change the exit status of a killed rank.
SLOWNESS = float(os.environ.get("MUSTER_TEST_SLOWNESS", "1"))


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def main(needs=("mpirun",)):
    """Runs the tests of the calling file; 77 where the machine can't."""
    for program in needs:
        if shutil.which(program) is None:
            skip(f"there is no {program}")
    for program in (DRIVER, AGENT):
        if not program.exists():
            sys.exit(f"{program} is missing; set MUSTER_BUILD to a build folder and build all")
    isolate()
    run_tests()


def run_tests():
    """As unittest.main(); 77 where every test was skipped: nothing was shown, and ctest shall say so."""
    result = unittest.main(module="__main__", verbosity=2, exit=False).result
    if result.wasSuccessful() and result.skipped and len(result.skipped) >= result.testsRun:
        skip(f"every test was: {result.skipped[0][1]}")
    sys.exit(0 if result.wasSuccessful() else 1)


def isolate():
    """Starts this file again in a mount namespace of its own, with an empty /dev/shm, where that is allowed. A file of
    tests/cluster or bench also gets a network of its own: its bridges come and go, and an MPI beside it would send through them."""
    if ISOLATED in os.environ or os.geteuid() != 0 or shutil.which("unshare") is None:
        return
    has_own_network = pathlib.Path(sys.argv[0]).resolve().parent.name in ("cluster", "bench", "diagnosis")
    apart = ["unshare", "--mount", *(["--net"] if has_own_network else [])]
    if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
        return
    script = 'mount --make-rprivate / && mount -t tmpfs tmpfs /dev/shm && exec "$@"'
    if has_own_network:
        script = f"ip link set lo up && {script}"
    os.execvpe("unshare", [*apart, "sh", "-c", script, "sh", sys.executable, "-B", *sys.argv], {**os.environ, ISOLATED: "1"})


def python_with(module):
    """The first python3 that imports it, as the probe `command` looks for one; else Debian's, which may not be the first. None: none."""
    for python in (shutil.which("python3"), "/usr/bin/python3"):
        if python and subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return None


def wait_until(claim, seconds, interval=0.01):
    deadline = time.monotonic() + seconds
    while True:
        found = claim()
        if found or time.monotonic() > deadline:
            return found
        time.sleep(interval)


# --- check files --------------------------------------------------------------------------------------------------


def toml_value(value):
    return json.dumps(value)  # a TOML string, number, boolean or array of them is written as in JSON


def check(name, sweep=None, timeout="2s", ranks=2, probe="misbehave", **params):
    """One entry of a check file."""
    lines = [f"[check.{name}]", f'probe = "{probe}"', 'summary = "A test."', f"ranks = {{ per_node = {ranks} }}",
             f'timeout = "{timeout}"', 'tags = ["test"]', f"[check.{name}.params]"]
    lines += [f"{key} = {toml_value(value)}" for key, value in params.items()]
    if sweep:
        lines += [f"[check.{name}.sweep]"] + [f"{key} = {toml_value(value)}" for key, value in sweep.items()]
    return "\n".join(lines) + "\n"


def ten_cases(**bad):
    """Nine good cases and, in their middle, one of check `bad` that misbehaves as told."""
    return (check("a", sweep={"number": [1, 2, 3, 4, 5]}) + check("bad", **bad) +
            check("c", sweep={"number": [6, 7, 8, 9]}))


def take_signals():
    """Tests may run in the background of a shell, which has SIGINT ignored there; a driver would leave it so."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


# --- one run ------------------------------------------------------------------------------------------------------


def new_folder():
    return pathlib.Path(tempfile.mkdtemp(prefix="muster-e2e-"))


class Run:
    """One `muster run`. With `with`: its processes and its folder are gone afterwards, whatever happened."""

    _count = 0
    _lock = threading.Lock()

    def __init__(self, checks, *options, env=None, agent=AGENT, folder=None, wrapper=(), output=None):
        with Run._lock:
            Run._count += 1
            self.id = f"{os.getpid()}-{Run._count}"
        self.folder = pathlib.Path(folder) if folder else new_folder()
        self.output = pathlib.Path(output) if output else self.folder / "runs"
        self.checks = self.folder / "checks.toml"
        self.checks.write_text(checks)
        self.marker = self.folder / "marker"
        self.stdout_path, self.stderr_path = self.folder / "stdout", self.folder / "stderr"
        self.argv = [*map(str, wrapper), str(DRIVER), "run", str(self.checks), "--output", str(self.output),
                     *([] if agent is None else ["--agent", str(agent)]), *map(str, options)]
        self.env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                    "MUSTER_STARTUP_TIMEOUT": "10", "NO_COLOR": "1", "XDG_STATE_HOME": str(self.folder / "state"), **(env or {}), RUN_ID: self.id}
        self.seconds = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.clean()

    def start(self):
        self.began = time.monotonic()
        with open(self.stdout_path, "wb") as out, open(self.stderr_path, "wb") as err:
            self.process = subprocess.Popen(self.argv, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            preexec_fn=take_signals)

    def wait(self, limit):
        """Exit status of the driver, which must come within `limit` seconds."""
        try:
            self.status = self.process.wait(limit * SLOWNESS)
        except subprocess.TimeoutExpired:
            self.end_all()
            raise AssertionError(f"the driver did not come back within {limit} s\n{self.story()}") from None
        self.seconds = time.monotonic() - self.began
        return self.status

    def finish(self, limit):
        """Starts, waits and cleans up the processes; keeps the folder."""
        self.start()
        try:
            self.wait(limit)
            self.left = self.leftovers()
        except AssertionError:
            self.end_all()
            remove_shared_memory()
            raise
        finally:
            self.end_all()
        return self

    def until_marker(self, seconds=15):
        """Starts it and waits until a rank has made the marker file, at the place where it goes wrong."""
        self.checks.write_text(self.checks.read_text().replace("MARKER", str(self.marker)))
        self.start()
        wait_until(lambda: self.marker.exists() or self.process.poll() is not None, seconds * SLOWNESS)
        if not self.marker.exists():
            raise AssertionError(f"never got to where it should go wrong\n{self.story()}")

    def signal(self, number):
        self.process.send_signal(number)

    # What it said.

    stdout = property(lambda self: self.stdout_path.read_text(errors="replace"))
    stderr = property(lambda self: self.stderr_path.read_text(errors="replace"))

    def story(self):
        return (f"command: {' '.join(self.argv)}\nstatus: {getattr(self, 'status', None)} after {self.seconds} s\n"
                f"stdout:\n{self.stdout[-6000:]}\nstderr:\n{self.stderr[-3000:]}")

    def run_folder(self):
        """The folder of this run, also where `latest` could not be made."""
        found = [path for path in self.output.glob("*") if not path.is_symlink() and (path / "launches").is_dir()]
        return max(found, key=lambda path: path.stat().st_mtime_ns) if found else self.output / "latest"

    def report_path(self):
        return self.run_folder() / "report.json"

    def report(self):
        return described_labels.check(json.loads(self.report_path().read_text()))

    def cases(self, name):
        return [case for case in self.report()["cases"] if case["check"] == name]

    def case(self, name):
        found = self.cases(name)
        assert len(found) == 1, f"{len(found)} cases of {name}\n{self.story()}"
        return found[0]

    # What it left.

    def processes(self):
        """Pids of what carries this run's variable and is not the driver itself."""
        wanted = f"{RUN_ID}={self.id}".encode()
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == self.process.pid:
                continue
            with contextlib.suppress(OSError):
                if wanted in pathlib.Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    found.append(int(entry))
        return found

    def leftovers(self):
        """Command lines of processes that outlive the driver by more than a moment."""
        def gone():
            return not self.processes()
        if wait_until(gone, 1.0):
            return []
        return [command_line(pid) for pid in self.processes()]

    def end_all(self):
        with contextlib.suppress(ProcessLookupError):
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def clean(self):
        self.end_all()
        shutil.rmtree(self.folder, ignore_errors=True)


def command_line(pid):
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return f"{pid}: {b' '.join(words).decode(errors='replace').strip()}"
    except OSError:
        return f"{pid}: gone"


def shared_memory():
    """What lies in /dev/shm; this file's alone when it is isolated, ours by name otherwise."""
    # UCX takes its file's name away right after it made it: a rank that is ended in between leaves it, and nobody knows whose it was.
    names = {name for name in os.listdir("/dev/shm") if not name.startswith("ucx_shm_posix_")}
    return names if ISOLATED in os.environ else {name for name in names if name.startswith("muster-")}


def remove_shared_memory():
    """So that the next test is not blamed for it."""
    for name in shared_memory() if ISOLATED in os.environ else ():
        path = pathlib.Path("/dev/shm", name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()


class EndToEnd(unittest.TestCase):
    """Claims about runs."""

    def assert_status(self, run, status):
        self.assertEqual(run.status, status, run.story())

    def assert_clean(self, run):
        self.assertEqual(getattr(run, "left", None) or run.leftovers(), [], f"left running\n{run.story()}")
        files = shared_memory()
        remove_shared_memory()
        self.assertFalse(files, f"left in /dev/shm\n{run.story()}")

    def assert_nine_passed(self, run):
        """The nine good cases of ten_cases() ran and were judged."""
        good = run.cases("a") + run.cases("c")
        self.assertEqual([case["verdict"] for case in good], ["pass"] * 9, run.story())

    def assert_blames(self, run, case, rank, node=HOST):
        named = [(culprit.get("rank"), culprit.get("node")) for culprit in case["culprits"]]
        self.assertIn((rank, node), named, f"{case['reason']}\n{run.story()}")
        self.assertTrue(case["reason"] and case["remedy"], run.story())
