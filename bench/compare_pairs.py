"""Pairs of runs of this machine, unchanged and with memory made slower by a competing thread: what `muster compare` says of them.

usage: compare_pairs.py FOLDER-WITH-MUSTER [--pairs N] [--slow N] [--earlier N] [--name REGEX] [--busy]

Each run is compared with the one before it; `--earlier` runs (5) are made before the first pair, so that the spread from run to run is known.
--slow: so many runs more beside a thread that copies memory on every CPU, each compared with the last run without. --busy: all runs beside a
process that computes.
"""
import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import subprocess
import tempfile
import time

from measure import environment


def compute(stop):
    value = 1
    while not stop.is_set():
        for _ in range(100000):
            value = value * 1103515245 % 4294967291


def copy(stop):
    """Copies 256 MiB, far more than a cache holds."""
    block = bytearray(256 << 20)
    view = memoryview(block)
    half = len(block) // 2
    while not stop.is_set():
        view[:half] = view[half:]


class Beside:
    """Processes that run until the end of the block."""

    def __init__(self, work, count):
        self.stop = multiprocessing.Event()
        self.processes = [multiprocessing.Process(target=work, args=(self.stop,), daemon=True) for _ in range(count)]

    def __enter__(self):
        for process in self.processes:
            process.start()
        time.sleep(0.5 if self.processes else 0)

    def __exit__(self, *_):
        self.stop.set()
        for process in self.processes:
            process.join()


class Machine:
    """Runs of one check folder with a history of their own."""

    def __init__(self, muster, name, folder):
        self.muster, self.folder = muster, pathlib.Path(folder)
        self.history = self.folder / "history.db"
        self.names = ["-n", name] if name else []

    def run(self, accepted=(0, 2)):
        """The folder of a new run, or None if its exit status is another one."""
        done = subprocess.run([self.muster, "run", *self.names, "--history", self.history, "--output", self.folder], cwd=self.folder,
                              env=environment(), capture_output=True, text=True)
        latest = (self.folder / "latest").resolve()
        return latest if done.returncode in accepted and latest.exists() else None

    def compare(self, before, after):
        done = subprocess.run([self.muster, "compare", before, after, "--history", self.history, "--json"], cwd=self.folder,
                              env=environment(), capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout) if done.stdout else {}


def worse_metrics(comparison):
    """Metric and subject of what got worse, shortened."""
    return [f"{one.get('metric', '?')} of {one.get('subject', '?')}" for one in comparison.get("metrics", []) if one.get("worse")]


def tell(title, pairs):
    worse = [one for status, one in pairs if status == 1]
    less = [one for status, one in pairs
            if status != 1 and any(part.get("less_known") for part in one.get("verdicts", []) + one.get("values_gone", []))]
    print(f"{title}: {len(pairs)} pairs, something worse in {len(worse)}, otherwise something less known in {len(less)}", flush=True)
    named = collections.Counter(name for one in worse for name in worse_metrics(one) or ["a verdict, a fact or a value not measured"])
    for name, count in named.most_common(12):
        print(f"  {count:4} {name}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--slow", type=int, default=5)
    parser.add_argument("--earlier", type=int, default=5)
    parser.add_argument("--name", default="", help="cases, as of muster run")
    parser.add_argument("--busy", action="store_true")
    options = parser.parse_args()
    muster = os.path.join(os.path.abspath(options.folder), "muster")
    with tempfile.TemporaryDirectory() as folder, Beside(compute, 1 if options.busy else 0):
        machine = Machine(muster, options.name, folder)
        began = time.monotonic()
        runs = [machine.run() for _ in range(options.earlier + options.pairs)]
        passed = [one for one in runs if one]
        pairs = [machine.compare(before, after) for before, after in zip(passed[options.earlier - 1:], passed[options.earlier:])]
        print(f"{len(runs)} runs in {time.monotonic() - began:.0f} s, {len(runs) - len(passed)} of them failed"
              f"{', beside a process that computes' if options.busy else ''}")
        tell("unchanged", pairs)
        slow = []
        with Beside(copy, os.cpu_count()):
            for _ in range(options.slow if passed else 0):
                after = machine.run((0, 1, 2))
                if after:
                    slow.append(machine.compare(passed[-1], after))
        if slow:
            tell("memory slowed", slow)


if __name__ == "__main__":
    main()
