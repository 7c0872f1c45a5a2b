#!/usr/bin/env python3
"""Fuzzes for a long time: 10 million executions of each subject, 1 million where each is a file, a process or a launch. One
program at a time, at the lowest priority. What was reached is kept below build/fuzz and continued by the next call: the
corpus, the number of executions, and what crashed. `./dev fuzz` builds the fuzzers and calls this."""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parent
SLOW = {"driver": 1_000_000, "history": 1_000_000, "topology": 1_000_000}
USUAL = 10_000_000
SIZES = {"history": 8192, "toml": 8192}
SHORT, USUAL_SIZE = 256, 4096
# Short inputs reach most of the code at a tenth of the cost: nine of ten executions, and two thirds of the time, where it is limited.
PARTS = ((0.9, 2 / 3, lambda name: SHORT), (0.1, 1 / 3, lambda name: SIZES.get(name, USUAL_SIZE)))
# Whatever one execution frees stays in quarantine; more than that only takes the processor's caches from the next one. The stack of
# an allocation is told by its nearest frames. No other process adds to the corpus, so its folder is not read again and again.
# Choosing inputs by how rare their features are costs a third of the time (toml, spool): many executions of all inputs come instead.
SANITIZER = "quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=2"
# Names of functions that are new cost a symbolizer each. Slow units as -timeout: a starved program is not a finding.
FASTER = ["-reload=0", "-entropic=0", "-print_funcs=0", "-report_slow_units=60"]


def subjects():
    return sorted(path.stem.removeprefix("fuzz_") for path in SOURCE.glob("fuzz_*.cpp"))


def goal_of(subject, goal=0):
    return goal or SLOW.get(subject, USUAL)


class Subject:
    def __init__(self, name, programs, kept, niceness=19):
        self.name, self.program, self.niceness = name, programs / f"fuzz_{name}", niceness
        self.folder = kept / name
        self.corpus, self.findings, self.count = (self.folder / part for part in ("corpus", "findings", "executions.json"))

    def executions(self):
        """Of this text of the fuzzer and before: a counter that survives."""
        try:
            return int(json.loads(self.count.read_text())["executions"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def found(self):
        return sorted(path.name for path in self.findings.glob("*")) if self.findings.exists() else []

    def run(self, executions, seconds):
        """True: it ended without a finding."""
        left = executions
        for executed, of_time, longest in PARTS:
            share = min(left, math.ceil(executions * executed))
            left -= share
            if share > 0 and not self.run_part(share, math.ceil(seconds * of_time), longest(self.name)):
                return False
        return True

    def run_part(self, executions, seconds, longest):
        for folder in (self.corpus, self.findings):
            folder.mkdir(parents=True, exist_ok=True)
        words = [self.program, f"-runs={executions}", "-timeout=60", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0",
                 f"-max_len={longest}", f"-artifact_prefix={self.findings}/"]
        if seconds:
            words.append(f"-max_total_time={seconds}")
        began, used = time.monotonic(), processor_seconds()
        env = {**os.environ, "ASAN_OPTIONS": ":".join(filter(None, (SANITIZER, os.environ.get("ASAN_OPTIONS"))))}
        done = subprocess.run([*words, *FASTER, self.corpus, SOURCE / "corpus" / self.name], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", env=env, preexec_fn=lambda: os.nice(self.niceness))
        stated = re.search(r"^stat::number_of_executed_units:\s*(\d+)", done.stderr, re.M)
        made = int(stated.group(1)) if stated else 0
        self.count.write_text(json.dumps({"executions": self.executions() + made}))
        if done.returncode != 0:
            (self.folder / "log").write_text(done.stderr)
            print("\n".join(done.stderr.splitlines()[-30:]), file=sys.stderr)
        took, used = max(time.monotonic() - began, 0.001), max(processor_seconds() - used, 0.001)
        print(f"{self.name}: {made:,} executions of at most {longest} bytes in {took:.0f} s, {made / used:,.0f} per second of processor time",
              flush=True)
        return done.returncode == 0 and made > 0


def processor_seconds():
    """Of the programs that have ended, and what they started."""
    times = os.times()
    return times.children_user + times.children_system


def without_repetition(subject):
    """The corpus is minimised, so that it stays small over many calls."""
    merged = subject.folder / "merged"
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir()
    done = subprocess.run([subject.program, "-merge=1", "-rss_limit_mb=2048", "-timeout=60", merged, subject.corpus], capture_output=True,
                          preexec_fn=lambda: os.nice(subject.niceness))
    if done.returncode == 0:
        shutil.rmtree(subject.corpus)
        merged.rename(subject.corpus)


def table(chosen, goal):
    lines = [f"{'subject':14} {'executions':>12} {'goal':>12}  findings"]
    for one in chosen:
        lines.append(f"{one.name:14} {one.executions():12,} {goal_of(one.name, goal):12,}  {', '.join(one.found()) or '0'}")
    return "\n".join(lines)


def main(words=None):
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(subjects()))
    parser.add_argument("--goal", type=int, default=0, help="executions of each subject, beside those of earlier calls")
    parser.add_argument("--seconds", type=int, default=0, help="at most this long for each subject in this call")
    parser.add_argument("--nice", type=int, default=19, help="niceness, where 19 gives a busy machine's fuzzers nothing")
    parser.add_argument("--show", action="store_true", help="only what was reached so far")
    parser.add_argument("--merge", action="store_true", help="minimise the kept corpora")
    parser.add_argument("--programs", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--kept", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    unknown = sorted(set(options.subjects) - set(subjects()))
    if unknown:
        parser.exit(3, f"unknown subject \"{unknown[0]}\"; there are {', '.join(subjects())}\n")
    chosen = [Subject(name, options.programs, options.kept, options.nice) for name in options.subjects or subjects()]
    for one in [] if options.show else chosen:
        left = goal_of(one.name, options.goal) - one.executions()
        if options.merge and one.corpus.exists():
            without_repetition(one)
        elif left > 0 and not one.run(left, options.seconds):
            print(f"{one.name}: the input lies in {one.findings}; when it is mended, move it into tests/fuzz/corpus/{one.name}", file=sys.stderr)
    print(table(chosen, options.goal))
    return 1 if any(one.found() for one in chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
