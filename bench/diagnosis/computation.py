#!/usr/bin/env python3
"""Which errors in data each probe finds, by kind (docs/selftest.md), in all data of one rank or GPU and in every Nth part of it.

usage: computation.py [BUILD] [--runs 3] [--only TEXT] [--verify FACTOR]

BUILD (build/release) is a build folder with muster, its agent and the stand-ins of vendors' libraries. Each run is one case of one check
on a described machine. Found: the case fails, and names that rank or GPU. docs/measurements/diagnosis.md holds what it printed.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
KINDS = ("bit", "bits", "warp", "periodic", "small", "nan")
RANKS = 3
VERIFIED = ("p2p", "allreduce", "gpu_copy")
CHECK = '[check.it]\nprobe = "{probe}"\nsummary = "Finds errors in data."\nranks = {{ per_node = {ranks} }}\ntimeout = "5m"\n'
# One of `rates` pieces is wrong; no more than a run makes.
Site = collections.namedtuple("Site", "data probe fault settings rates")
SITES = (
    Site("messages", "p2p", "flip 1 received", ("on=host", "sizes=64KiB", "cap=10ms"), (1, 100, 1000)),
    Site("sums", "allreduce", "flip 1 sum", ("on=host", "sizes=64KiB", "cap=10ms"), (1, 100, 1000)),
    Site("gathered blocks", "hello", "flip 1 gathered", (), (1,)),
    Site("host memory", "memory_bandwidth", "flip 0 memory", (), (1,)),  # one rank measures a node
    Site("sums of gradients", "training", "flip 1 sum", ("on=host", "epochs=4", "reference_steps=40"), (1, 100)),
    Site("copies into a GPU", "gpu_copy", "corrupt_copy 1", ("cap=20ms",), (1, 10, 100)),
    Site("products of a GPU", "gpu_compute", "wrong_product 1", (), (1, 3)),
)


def machine_of(folder, build, lines):
    """Writes folder/machine: three GPUs, with these lines of the driver."""
    sys.path.insert(0, str(SOURCE / "tests" / "e2e"))
    import on_gpus
    (folder / "machines").mkdir()
    (folder / "machines" / "three.toml").write_text(on_gpus.description("three", RANKS, faults={"wrong": lines}))
    subprocess.run([build / "bin" / "muster", "machine", "three", "--write", "machine", "--fault", "wrong"], cwd=folder, check=True,
                   capture_output=True, env={**os.environ, "MUSTER_MACHINES": "machines"})


def is_found(site, kind, every, options):
    """Whether the case fails and names that rank, GPU or node alone (of a message, both its ranks)."""
    build = pathlib.Path(options.build).resolve()
    is_of_gpu = "flip" not in site.fault
    line = f"{site.fault} kind {kind} every {every}" if is_of_gpu else f"{site.fault} {kind} every {every}"
    with tempfile.TemporaryDirectory(prefix="muster-computation-") as name:
        folder = pathlib.Path(name)
        machine_of(folder, build, [line] if is_of_gpu else ["set 0 slow 1"])
        (folder / "check.toml").write_text(CHECK.format(probe=site.probe, ranks=RANKS))
        env = {**os.environ, "MUSTER_MACHINE": "machine", "MUSTER_DRIVERS": str(build / "drivers"), "NO_COLOR": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1", "MUSTER_STARTUP_TIMEOUT": "120s"}
        # As many pieces as on a real machine.
        env["MUSTER_SELFTEST"] = "speed" if is_of_gpu else f"{line}; speed"
        settings = list(site.settings) + ([f"verify={options.verify}"] if site.probe in VERIFIED else [])
        done = subprocess.run([build / "bin" / "muster", "run", "--simulated", "check.toml", "--report", "json=r.json",
                               *[word for one in settings for word in ("-S", f"it.{one}")]],
                              cwd=folder, capture_output=True, text=True, env=env)
        report = folder / "r.json"
        if not report.exists():
            sys.exit(done.stdout + done.stderr)
        case = json.loads(report.read_text())["cases"][0]
    if case["verdict"] not in ("pass", "fail", "unmeasured"):  # of time, on a busy machine
        sys.exit(f"{site.probe}: {case['verdict']}: {done.stdout}{done.stderr}")
    named = {culprit["name"] for culprit in case["culprits"]}
    other = {f"rank {rank}" for rank in range(RANKS) if rank != 1}
    if is_of_gpu:
        is_right = bool(named) and all("2b:00.0" in name for name in named)
    elif site.probe == "memory_bandwidth":
        is_right = len(named) == 1
    else:
        is_right = "rank 1" in named and len(named & other) <= 1
    return case["verdict"] == "fail" and is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", default=os.environ.get("MUSTER_BUILD", str(SOURCE / "build" / "release")))
    parser.add_argument("--runs", type=int, default=3, help="of each kind")
    parser.add_argument("--only", default="", help="data or probes whose name contains this")
    parser.add_argument("--verify", default="0.5", help="the parameter of that name of p2p, allreduce and gpu_copy")
    options = parser.parse_args()
    os.environ["MUSTER_BUILD"] = options.build
    print(f"{options.runs} runs of each; share in which the error is found\n")
    print("| data | probe | wrong is | " + " | ".join(KINDS) + " |")
    print("|---|---|---|" + "---|" * len(KINDS))
    for site in SITES:
        if options.only not in site.data and options.only not in site.probe:
            continue
        for every in site.rates:
            shares = [sum(is_found(site, kind, every, options) for _ in range(options.runs)) / options.runs for kind in KINDS]
            print(f"| {site.data} | `{site.probe}` | {'each' if every == 1 else f'1 of {every}'} | "
                  + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
