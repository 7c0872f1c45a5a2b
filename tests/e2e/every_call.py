#!/usr/bin/env python3
"""Call 1, 2, 3, ... of read, write, open, fork, connect, mmap, socket, pipe and pthread_create fails, in the driver or in the
agent, until a small run makes no further one: it ends in time, leaves nothing running, what it wrote can be shown, and it is a
pass only where every rank was measured all the same.

By itself: every_call.py [--only read,open] [--first 1] [--step 1] [driver|agent ...], with MUSTER_BUILD naming a build; minutes to
hours. With --seconds 300 --kept FILE in parts: each call goes on where the one before ended. Part of the tests is
every_call_test.py, with few calls."""
import argparse
import errno
import json
import os
import pathlib
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import Run, check  # noqa: E402

CALLS = {"read": errno.EIO, "write": errno.ENOSPC, "open": errno.EMFILE, "fork": errno.EAGAIN, "connect": errno.ECONNREFUSED,
         "mmap": errno.ENOMEM, "socket": errno.EMFILE, "pipe": errno.EMFILE, "thread": errno.EAGAIN}
VICTIMS = ("driver", "agent")
CHECKS = check("a", ranks=1, probe="hello", timeout="20s") + check("b", ranks=1, probe="hello", timeout="20s")
LIMIT = 60


def preloaded(run, kind, call):
    return {"LD_PRELOAD": str(support.FAILING_CALLS), "FAIL_KIND": kind, "FAIL_CALL": str(call), "FAIL_ERRNO": str(CALLS[kind]),
            "FAIL_COUNT_FILE": str(run.folder / "count"), "ASAN_OPTIONS": "verify_asan_link_order=0"}


def started(victim, kind, call):
    run = Run(CHECKS, "--launcher", "local")
    variables = preloaded(run, kind, call)
    if victim == "driver":
        run.env.update(variables)
        return run
    agent = run.folder / "agent"
    exports = "\n".join(f"export {name}='{value}'" for name, value in variables.items())
    agent.write_text(f'#!/bin/sh\n[ "$1" = --about ] && exec {support.AGENT} --about\n{exports}\nexec {support.AGENT} "$@"\n')
    agent.chmod(0o755)
    run.argv[run.argv.index("--agent") + 1] = str(agent)
    return run


def counted(run):
    file = run.folder / "count"
    return struct.unpack("Q", file.read_bytes())[0] if file.exists() and file.stat().st_size == 8 else 0


def shown(run):
    """What is left of it, as JSON; nothing where it says why there is nothing."""
    if not run.output.exists() or not any(run.output.glob("[0-9]*")):
        return None
    done = subprocess.run([support.DRIVER, "show", run.run_folder(), "--report", "json=-"], env={**os.environ, "NO_COLOR": "1"},
                          capture_output=True, text=True, timeout=60)
    try:
        return json.loads(done.stdout)
    except ValueError:
        empty = "holds neither" in done.stderr
        return None if empty and run.status != 0 else f"show: {done.stderr}"


def problem_with(run):
    """A sentence; empty: all is as it shall be."""
    left = run.leftovers()
    if left:
        return f"left running: {left}"
    if run.status not in (0, 1, 2, 3):
        return f"exit status {run.status}"
    report = shown(run)
    if isinstance(report, str):
        return report
    if run.status != 0:
        words = ("error", "fail", "unmeasured", "could be recorded", "can't be written")
        said = run.stderr.strip() or any(word in run.stdout.lower() for word in words)
        return "" if said else "says nothing about it"
    cases = [] if report is None else report["cases"]
    is_measured = len(cases) == 2 and all(case["verdict"] == "pass" and case["evidence"] for case in cases)
    return "" if is_measured else "exit status 0, and not every case is measured"


def one(victim, kind, call):
    run = started(victim, kind, call)
    try:
        run.start()
        run.wait(LIMIT)
        problem = problem_with(run)
        return run.status, counted(run), f"{victim}, {kind} {call}: {problem}\n{run.story()}" if problem else ""
    except AssertionError as error:
        return None, 0, f"{victim}, {kind} {call}: {error}"
    finally:
        run.clean()


def report(victim, kind, calls, statuses, problems, say):
    counts = {status: list(statuses.values()).count(status) for status in sorted(set(statuses.values()), key=str)}
    say(f"{victim}, {kind}: {calls} calls, {len(statuses)} made to fail, statuses {counts}, {len(problems)} problems")


def loop(victim, kind, numbers, say=print):
    """Statuses of the calls that were made to fail; what was wrong."""
    statuses, problems = {}, []
    status, calls, problem = one(victim, kind, 0)
    if status != 0 or problem:
        return {}, [problem or f"{victim}: a run without a failure ends with {status}"]
    for call in numbers(calls):
        status, _, problem = one(victim, kind, call)
        statuses[call] = status
        if problem:
            problems.append(problem)
            say(problem)
    report(victim, kind, calls, statuses, problems, say)
    return statuses, problems


class Kept:
    """Results of earlier calls of this program: one JSON object a line, the last one of a call counts."""

    def __init__(self, file):
        self.file, self.results = file, {}
        for line in file.read_text().splitlines() if file and file.exists() else ():
            result = json.loads(line)
            self.results[result["victim"], result["kind"], result["call"]] = result

    def add(self, victim, kind, call, status, problem):
        result = {"victim": victim, "kind": kind, "call": call, "status": status, "problem": problem}
        self.results[victim, kind, call] = result
        if self.file:
            with self.file.open("a") as out:
                out.write(json.dumps(result) + "\n")

    def of(self, victim, kind):
        """By the number of the call."""
        return {call: result for (of, which, call), result in self.results.items() if (of, which) == (victim, kind)}

    def passed(self, victim, kind):
        return {call for call, result in self.of(victim, kind).items() if not result["problem"]}


def clean_run(victim, kind):
    """Of a run in which no call fails: how many calls there are, and what is wrong. On a busy machine such a run, too, can miss a deadline."""
    for _ in range(3):
        status, calls, problem = one(victim, kind, 0)
        if status == 0 and not problem:
            return calls, ""
    return calls, problem or f"{victim}: a run without a failure ends with {status}"


def go_on(victim, kind, kept, options, until, say):
    """Makes the calls fail that have no result yet, until the time is over. Returns whether there was time for all."""
    calls, problem = clean_run(victim, kind)
    if problem:
        kept.add(victim, kind, 0, None, problem)
        say(problem)
        return True
    kept.results.pop((victim, kind, 0), None)
    wanted = [call for call in range(options.first, calls + 1, options.step) if call not in kept.passed(victim, kind)]
    made = 0
    for call in wanted:
        if time.monotonic() > until:
            break
        status, _, problem = one(victim, kind, call)
        kept.add(victim, kind, call, status, problem)
        made += 1
        if problem:
            say(problem)
    results = kept.of(victim, kind)
    statuses = {call: result["status"] for call, result in results.items()}
    report(victim, kind, calls, statuses, [result for result in results.values() if result["problem"]], say)
    return made == len(wanted)


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("victims", nargs="*", default=VICTIMS, metavar="VICTIM", help="driver, agent")
    parser.add_argument("--only", default=",".join(CALLS), help="kinds of calls")
    parser.add_argument("--first", type=int, default=1, help="number of the first call to fail")
    parser.add_argument("--step", type=int, default=1, help="every such call alone")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="ends after that time, with exit status 3 if calls are left")
    parser.add_argument("--kept", type=pathlib.Path, help="file of results: calls that passed are not made to fail again")
    options = parser.parse_args(words)
    kept, until = Kept(options.kept), time.monotonic() + options.seconds
    is_complete = True
    for victim in options.victims:
        for kind in options.only.split(","):
            is_complete = is_complete and time.monotonic() < until
            is_complete = is_complete and go_on(victim, kind, kept, options, until, lambda line: print(line, flush=True))
    if any(result["problem"] for result in kept.results.values()):
        return 1
    return 0 if is_complete else 3


if __name__ == "__main__":
    support.isolate()
    sys.exit(main())
