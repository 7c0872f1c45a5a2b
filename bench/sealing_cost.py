#!/usr/bin/env python3
"""The cost of encrypted frames: the same muster command with libsodium's encryption replaced by a copy (plain_frames.c), and as it is.
Needs a muster that loads libsodium as a shared library, and a C compiler.

    bench/sealing_cost.py build/release/bin/muster [--rounds 10] [-- run -n hello --repeat 100]
"""
import argparse
import os
import pathlib
import subprocess
import tempfile

import two_builds


def library(folder, name, source):
    path = folder / f"{name}.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input=source, text=True, check=True)
    return [("LD_PRELOAD", str(path))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", metavar="MUSTER")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("words", nargs="*", default=None)
    arguments = parser.parse_args()
    program, words = os.path.abspath(arguments.program), arguments.words or ["run", "-n", "hello", "--repeat", "100"]
    with tempfile.TemporaryDirectory() as folder:
        plain = library(pathlib.Path(folder), "plain", (pathlib.Path(__file__).parent / "plain_frames.c").read_text())
        # Both sides preload one.
        sealed = library(pathlib.Path(folder), "sealed", "int nothing;\n")
        sides = [lambda variables=variables: two_builds.seconds(program, words, variables) for variables in (plain, sealed)]
        two_builds.compare(sides, f"muster {' '.join(words)}, frames copied and encrypted", arguments.rounds)


main()
