#!/usr/bin/env python3
"""The same muster command with two builds in turn: medians of the wall time, and their ratio.

    bench/two_builds.py OLD/bin/muster NEW/bin/muster [--rounds 10] [-- run -n hello --repeat 100]
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time


def seconds(program, words):
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "XDG_STATE_HOME": folder, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        began = time.monotonic()
        done = subprocess.run([program, *words], cwd=folder, env=env, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{program} ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
        return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs=2, metavar="MUSTER")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("words", nargs="*", default=None)
    arguments = parser.parse_args()
    words = arguments.words or ["run", "-n", "hello", "--repeat", "100"]
    times = [[seconds(program, words) for program in map(os.path.abspath, arguments.programs)] for _ in range(arguments.rounds)]
    medians = [statistics.median(column) for column in zip(*times)]
    print(f"muster {' '.join(words)}, median of {arguments.rounds}: {medians[0]:.3f} s, {medians[1]:.3f} s; ratio {medians[1] / medians[0]:.3f}")


main()
