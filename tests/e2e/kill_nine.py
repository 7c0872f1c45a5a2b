#!/usr/bin/env python3
"""kill -9 of the driver, the launcher or an agent at a random moment of a small run: nothing is left running or in /dev/shm,
`show` reads what lies in the run folder, the history is whole, no killed run is a pass, and the next run passes.

By itself: kill_nine.py [--moments 100] [--seed N] [driver|launcher|agent ...], with MUSTER_BUILD naming a build. Part of the
tests is kill_nine_test.py, with few moments."""
import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import Run, check  # noqa: E402

VICTIMS = ("driver", "launcher", "agent")
CHECKS = "".join(check(name, ranks=2, probe="hello", timeout="20s") for name in "abc")


class Problem(AssertionError):
    pass


def require(claim, what, run):
    if not claim:
        raise Problem(f"{what}\n{run.story()}")


def name_of(pid):
    try:
        # The watchdog of a node is a muster-rank by its file.
        if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "muster-watchdog":
            return "muster-watchdog"
        return pathlib.Path(f"/proc/{pid}/exe").resolve().name
    except OSError:
        return ""


def pids_of(victim, run):
    if victim == "driver":
        return [run.process.pid]
    wanted = ("muster-rank",) if victim == "agent" else ("mpirun", "orterun", "mpiexec")
    return [pid for pid in run.processes() if name_of(pid).startswith(wanted)]


def started(folder):
    return Run(CHECKS, "--launcher", "mpirun", folder=folder)


def usual_seconds(folder):
    """How long a run takes that is left alone."""
    run = started(folder).finish(60)
    require(run.status == 0, "a run that is left alone does not pass", run)
    return run.seconds


def kill(victim, run, seconds):
    """True: it was still there. Where it does not yet exist, as soon as it does."""
    time.sleep(max(0, run.began + seconds - time.monotonic()))
    support.wait_until(lambda: pids_of(victim, run) or run.process.poll() is not None, 20)
    pids = pids_of(victim, run) if run.process.poll() is None else []
    if not pids:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(random.choice(pids), signal.SIGKILL)
    return True


def look_at_history(run):
    file = pathlib.Path(run.env["XDG_STATE_HOME"]) / "muster" / "history.db"
    if file.exists():
        with contextlib.closing(sqlite3.connect(file)) as database:
            require(database.execute("PRAGMA integrity_check").fetchone() == ("ok",), "the history is damaged", run)
    done = subprocess.run([support.DRIVER, "history"], env=run.env, capture_output=True, text=True, timeout=60)
    require(done.returncode == 0 or "no run has been stored" in done.stderr, f"history: {done.stderr}", run)


def look_at_folders(run):
    """Each can be shown; true: one of them tells of a pass alone."""
    passes = []
    for folder in sorted(run.output.glob("[0-9]*")):
        done = subprocess.run([support.DRIVER, "show", folder, "--report", "json=-"], env=run.env, capture_output=True,
                              text=True, timeout=60)
        try:
            report = json.loads(done.stdout)
        except ValueError:
            raise Problem(f"show {sorted(path.name for path in folder.iterdir())}: {done.stderr}\n{run.story()}") from None
        passes.append(report["exit_status"] == 0)
    return any(passes)


def one(victim, seconds, folder):
    """One run that loses `victim`; "" where it had ended before."""
    shutil.rmtree(folder / "runs", ignore_errors=True)
    run = started(folder)
    run.start()
    try:
        was_there = kill(victim, run, seconds)
        run.wait(90)
        support.wait_until(lambda: not run.processes(), 15 * support.SLOWNESS)
        left = [support.command_line(pid) for pid in run.processes()]
        require(not left, f"left running: {left}", run)
        if support.ISOLATED in os.environ:
            require(not os.listdir("/dev/shm"), f"left in /dev/shm: {os.listdir('/dev/shm')}", run)
        has_passed = look_at_folders(run)
        if was_there and victim == "driver" and run.status < 0:
            finished = (run.run_folder() / "report.json").exists()
            require(finished or not has_passed, "a killed run is a pass", run)
        elif run.status == 0:
            require(has_passed, "exit status 0 without a pass in the report", run)
        look_at_history(run)
        return f"{victim} at {seconds:.2f} s: status {run.status}" if was_there else ""
    finally:
        run.end_all()


def campaign(victims, moments, seed, say=print):
    """How many were killed of each kind."""
    random.seed(seed)
    folder = support.new_folder()
    usual = usual_seconds(folder)
    killed = dict.fromkeys(victims, 0)
    for victim in victims:
        while killed[victim] < moments:
            told = one(victim, random.uniform(0, usual * 1.1), folder)
            killed[victim] += told != ""
        usual_seconds(folder)
        say(f"{victim}: killed at {killed[victim]} moments; the next run passed")
    shutil.rmtree(folder)
    return killed


def main():
    support.isolate()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("victims", nargs="*", default=VICTIMS, metavar="VICTIM", help="driver, launcher, agent")
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    campaign(options.victims, options.moments, options.seed, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
