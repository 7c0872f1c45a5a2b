#!/usr/bin/env python3
"""The same muster command with two builds in turn: medians of the wall time and of the processor time, and their ratios.

    bench/two_builds.py OLD/bin/muster NEW/bin/muster [--rounds 10] [-- run -n hello --repeat 100]
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time


def processor_seconds():
    """Of programs that have ended, with all that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(program, words, variables=()):
    """Wall time and processor time."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "XDG_STATE_HOME": folder, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               **dict(variables)}
        began, used = time.monotonic(), processor_seconds()
        done = subprocess.run([program, *words], cwd=folder, env=env, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{program} ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
        return time.monotonic() - began, processor_seconds() - used


def compare(sides, what, rounds):
    """Both in each round, in turn first."""
    times = [[], []]
    for number in range(rounds):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            times[side].append(sides[side]())
    for at, kind in enumerate(("wall time", "processor time")):
        medians = [statistics.median(one[at] for one in side) for side in times]
        print(f"{what}, median of {rounds}, {kind}: {medians[0]:.3f} s, {medians[1]:.3f} s; ratio {medians[1] / medians[0]:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs=2, metavar="MUSTER")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("words", nargs="*", default=None)
    arguments = parser.parse_args()
    words = arguments.words or ["run", "-n", "hello", "--repeat", "100"]
    programs = [os.path.abspath(program) for program in arguments.programs]
    compare([lambda program=program: seconds(program, words) for program in programs], f"muster {' '.join(words)}", arguments.rounds)


if __name__ == "__main__":
    main()
