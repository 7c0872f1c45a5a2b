"""muster's p2p and allreduce readings beside those of OSU micro-benchmarks 7.4: what they read, and how long it takes.

usage: osu_compare.py --osu FOLDER [--rounds N] [--sweeps N] [--quiet SHARE] [--patience SECONDS] FOLDER-WITH-MUSTER

FOLDER is searched for osu_latency, osu_bw and osu_allreduce. docs/measurements/osu.md says how to build them, what is
compared and what came out.
"""
import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import environment

LAUNCH = ["mpirun", "--host", "localhost:2", "-n", "2", "--map-by", "ppr:2:node", "--bind-to", "core"]
KIB, MIB = 1 << 10, 1 << 20
NAMES = {8: "8B", 64 * KIB: "64KiB", MIB: "1MiB", 16 * MIB: "16MiB"}
# Iterations of OSU that take about as long as muster's reading: its defaults would take 20 s for 16 MiB.
ITERATIONS = {
    "latency": {8: 100000, 64 * KIB: 5000, MIB: 300, 16 * MIB: 20},
    "bandwidth": {8: 10000, 64 * KIB: 100, MIB: 10, 16 * MIB: 3},
    "allreduce": {8: 100000, 64 * KIB: 3000, MIB: 200, 16 * MIB: 20},
}
PROGRAMS = {"latency": "osu_latency", "bandwidth": "osu_bw", "allreduce": "osu_allreduce"}

P2P = """[check.compare_p2p]
probe   = "p2p"
ranks   = {{ per_node = 2 }}
timeout = "30m"
[check.compare_p2p.params]
sizes         = {sizes}
latency_sizes = {latency_sizes}
buffers       = "reused"
window        = 64
sockets       = "allowed"
cap           = "{cap}s"
budget        = "1h"
"""
ALLREDUCE = """[check.compare_allreduce]
probe   = "allreduce"
ranks   = {{ per_node = 2 }}
timeout = "30m"
[check.compare_allreduce.params]
sizes   = {sizes}
types   = ["float"]
buffers = "reused"
cap     = "{cap}s"
"""


def busy_seconds():
    """CPU time that all programs of this machine have used since boot, without interrupts and waiting."""
    fields = Path("/proc/stat").read_text().split("\n")[0].split()
    return sum(int(ticks) for ticks in fields[1:4]) / os.sysconf("SC_CLK_TCK")


def measured(command, **options):
    """Output, wall time and the share of the machine's CPU time that others used meanwhile."""
    began, busy, own = time.monotonic(), busy_seconds(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, **options)
    took = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    mine = after.ru_utime + after.ru_stime - own.ru_utime - own.ru_stime
    if done.returncode != 0:
        raise SystemExit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, took, max(0.0, busy_seconds() - busy - mine) / took / os.cpu_count()


def wait_for_quiet(quiet, patience):
    """False when others did not leave the CPUs alone in time."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        busy = busy_seconds()
        time.sleep(0.4)
        if (busy_seconds() - busy) / 0.4 / os.cpu_count() <= quiet:
            return True
    return False


class Osu:
    def __init__(self, folder):
        self.programs = {}
        for kind, name in PROGRAMS.items():
            found = [path for path in Path(folder).rglob(name) if path.is_file() and os.access(path, os.X_OK)]
            if not found:
                raise SystemExit(f"there is no program {name} below {folder}")
            self.programs[kind] = str(found[0])

    def command(self, kind, *options):
        types = ["-T", "mpi_float"] if kind == "allreduce" else []
        return [*LAUNCH, self.programs[kind], *types, *options]

    def read(self, kind, size):
        """Mean (what OSU gives) and median (with -z50) of the same iterations; what others used."""
        count = ITERATIONS[kind][size]
        text, took, foreign = measured(self.command(kind, "-z50", "-m", f"{size}:{size}", "-i", str(count), "-x", str(max(1, count // 10))))
        lines = [line.split() for line in text.splitlines() if line[:1].isdigit()]
        if len(lines) != 1 or int(lines[0][0]) != size:
            raise SystemExit(f"{self.programs[kind]} printed no line for {size}:\n{text}")
        unit = 1000 if kind == "bandwidth" else 1  # MB/s -> GB/s
        return [float(text) / unit for text in lines[0][1:3]], foreign


class Muster:
    def __init__(self, folder, work):
        self.program, self.work = os.path.join(os.path.abspath(folder), "muster"), work

    def run(self, checks):
        """The report, the wall time and what others used."""
        file = Path(self.work, "checks.toml")
        file.write_text("\n".join(checks))
        _, took, foreign = measured([self.program, "run", str(file), "--report", "json=report.json"], cwd=self.work)
        return json.loads(Path(self.work, "report.json").read_text()), took, foreign

    def read(self, kind, size):
        name, other = json.dumps([NAMES[size]]), '["8B"]'
        cap = 1.5 if size == 16 * MIB else 0.3
        if kind == "allreduce":
            check, metric = ALLREDUCE.format(sizes=name, cap=cap), "own_time"
        else:
            check = P2P.format(sizes=name if kind == "bandwidth" else other, latency_sizes=name if kind == "latency" else other, cap=cap)
            metric = kind
        report, _, foreign = self.run([check])
        rows = [row for case in report["cases"] for row in case["metrics"]]
        # Of two ranks the median is the mean: both directions of a bandwidth, both ranks' own times.
        found = [row["median"] for row in rows if row["metric"] == metric and row["where"]["size"] == NAMES[size] and row["n"] == 2 - (kind == "latency")]
        return (found[0] if found else None), foreign


def middle(values):
    """Median and quartiles."""
    if len(values) < 2:
        return (*values, *values, *values) if values else (float("nan"),) * 3
    low, mid, high = statistics.quantiles(values, n=4, method="inclusive")
    return mid, low, high


def ratio(kind, theirs, ours):
    return ours / theirs if kind == "bandwidth" else theirs / ours


def spread(values):
    mid, low, high = middle(values)
    return f"{mid:.4g} ({low:.4g} - {high:.4g})"


def one_round(osu, muster, kind, size, number, quiet):
    """OSU's mean and median and muster's reading; nothing when others disturbed either."""
    seen = {}
    for reader in (osu, muster) if number % 2 == 0 else (muster, osu):
        seen[reader] = reader.read(kind, size)
    (theirs, foreign_a), (ours, foreign_b) = seen[osu], seen[muster]
    return [(*theirs, ours)] if ours is not None and max(foreign_a, foreign_b) <= quiet else []


def compare(osu, muster, options):
    print(f"# readings, {options.rounds} rounds in turn: median (quartiles) of the rounds in which others used at most {options.quiet:.0%} of the CPUs")
    print("| reading | unit | OSU, mean | OSU, median | muster | muster : OSU's mean | muster : OSU's median | rounds |")
    print("|---|---|---|---|---|---|---|---|")
    kept = {(kind, size): [] for kind in PROGRAMS for size in NAMES}
    try:
        for number in range(options.rounds):
            for kind, size in kept:
                if wait_for_quiet(options.quiet, options.patience):
                    kept[kind, size] += one_round(osu, muster, kind, size, number, options.quiet)
    except KeyboardInterrupt:
        print("(interrupted: what there is)")
    is_good = True
    for (kind, size), rounds in kept.items():
        columns = list(zip(*rounds)) or [[], [], []]
        ratios = [[ratio(kind, each[which], each[2]) for each in rounds] for which in (0, 1)]
        cells = [spread(values) for values in (*columns, *ratios)]
        print(f"| {kind} {NAMES[size]} | {'GB/s' if kind == 'bandwidth' else 'us'} | {' | '.join(cells)} | {len(rounds)} |")
        is_good = is_good and middle(ratios[0])[2] >= 1
    print(f"every reading is at least OSU's within the quartiles: {'yes' if is_good else 'no'}")


def powers(least, most):
    return [f"{1 << power}B" for power in range(least, most + 1)]


def sweep_parts():
    """What OSU sweeps over by default, and checks that read as much: name, OSU's part, checks."""
    def p2p(name, sizes, latency_sizes=("1B",), window=64):
        text = P2P.format(sizes=json.dumps(sizes), latency_sizes=json.dumps(latency_sizes), cap=5)
        return text.replace("compare_p2p", name).replace("= 64", f"= {window}")

    every = powers(0, 22)
    return [
        ("latency", "latency", [p2p("latency", ["1B"], every)]),
        ("bandwidth, windows of 64", "bandwidth", [p2p("bandwidth", every)]),
        ("bandwidth, windows of 8 above 64 KiB", "bandwidth", [p2p("small", powers(0, 16)), p2p("large", powers(17, 22), window=8)]),
        ("allreduce", "allreduce", [ALLREDUCE.format(sizes=json.dumps(powers(3, 20)), cap=5)]),
    ]


def sweep(osu, muster, options):
    print(f"# time for OSU's default sizes, {options.sweeps} rounds in turn: median (quartiles), seconds from start to end of the commands")
    print("| part | OSU | muster | share of OSU's time | rounds |")
    print("|---|---|---|---|---|")
    try:
        for name, kind, checks in sweep_parts():
            rounds = []
            for _ in range(options.sweeps):
                if not wait_for_quiet(options.quiet, options.patience):
                    continue
                _, theirs, foreign_a = measured(osu.command(kind))
                report, ours, foreign_b = muster.run(checks)
                is_known = all(row["n"] > 0 for case in report["cases"] for row in case["metrics"])
                if is_known and max(foreign_a, foreign_b) <= options.quiet:
                    rounds.append((theirs, ours, ours / theirs))
            cells = [spread(values) for values in list(zip(*rounds)) or [[], [], []]]
            print(f"| {name} | {' | '.join(cells)} | {len(rounds)} |")
    except KeyboardInterrupt:
        print("(interrupted)")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--osu", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--quiet", type=float, default=0.05)
    parser.add_argument("--patience", type=float, default=10)
    parser.add_argument("muster")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was measured so far is printed
    sys.stdout.reconfigure(line_buffering=True)
    print(f"# load at the start: {Path('/proc/loadavg').read_text().split()[0]}")
    with tempfile.TemporaryDirectory() as work:
        osu, muster = Osu(options.osu), Muster(options.muster, work)
        if options.rounds > 0:
            compare(osu, muster, options)
        if options.sweeps > 0:
            sweep(osu, muster, options)
    print(f"# load at the end: {Path('/proc/loadavg').read_text().split()[0]}")


main()
