#!/usr/bin/env python3
"""How often muster names the right culprit of a live fault, on virtual clusters below mpirun, Slurm and Hydra, and how fast.

usage: live.py [BUILD] [--moments 1] [--healthy 2] [--seconds S] [--only TEXT] [--part I/N] [--results FILE] [--seed N] [--list | --table]

BUILD (build/release) is a build folder with `system_programs`. Each run is kept as a line of FILE (BUILD/live.jsonl) and is not
repeated by a later call, which continues: delete FILE to begin anew. Needs root. docs/measurements/diagnosis.md explains the tables.
"""
import argparse
import os
import pathlib
import sys


sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.path[:0] = [str(HERE), str(SOURCE / "tests" / "cluster"), str(SOURCE / "tests" / "e2e")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", default=os.environ.get("MUSTER_BUILD", str(SOURCE / "build" / "release")))
    parser.add_argument("--moments", type=int, default=1, help="runs of each entry with a fault")
    parser.add_argument("--healthy", type=int, default=2, help="runs of each entry without one")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no run begins later than that")
    parser.add_argument("--only", default="", help="entries whose name or machine contains this")
    parser.add_argument("--part", default="1/1", help="of the entries, as 1/3: calls side by side may share FILE")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=20261126)
    parser.add_argument("--list", action="store_true", help="print the entries")
    parser.add_argument("--table", action="store_true", help="print the figures of FILE and run nothing")
    options = parser.parse_args()
    options.results = options.results or pathlib.Path(options.build) / "live.jsonl"
    return options


def main():
    options = arguments()
    os.environ["MUSTER_BUILD"] = options.build
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    import support
    import virtual_cluster
    reason = virtual_cluster.why_not() or (None if support.DRIVER.exists() else f"{support.DRIVER} is missing: build system_programs")
    if reason:
        support.skip(reason)
    if not (options.list or options.table):
        support.isolate()
    import live_campaign
    live_campaign.work(options)


if __name__ == "__main__":
    main()
