"""muster's p2p and allreduce readings beside those of OSU micro-benchmarks 7.4: what they read, and how long it takes.

usage: osu_compare.py --osu FOLDER [--rounds N] [--sweeps N] [--repeats N] [--quiet SHARE] [--patience SECONDS] FOLDER-WITH-MUSTER

FOLDER is searched for osu_latency, osu_bw and osu_allreduce. docs/measurements/osu.md describes how to build them, what is
compared and what came out.
"""
import argparse
import json
import math
import os
import re
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
PROGRAMS = {"latency": "osu_latency", "bandwidth": "osu_bw", "allreduce": "osu_allreduce", "bidirectional": "osu_bibw"}
# p2p reads every bandwidth in both directions, one after the other and at once: what OSU needs three programs for.
SWEPT = {"latency": ["latency"], "bandwidth": ["bandwidth", "bandwidth", "bidirectional"], "allreduce": ["allreduce"]}

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

    def sweep(self, kind, sizes):
        """Seconds for all that muster's part reads as well, the programs one after the other; what others used at most."""
        done = [measured(self.command(part, *sizes))[1:] for part in SWEPT[kind]]
        return sum(took for took, _ in done), max(foreign for _, foreign in done)


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
    """Median and its 95 % confidence interval by order statistics, as docs/measuring.md has it; below 6 values all there is."""
    if not values:
        return (float("nan"),) * 3
    ordered, count = sorted(values), len(values)
    tail, rank = 0.5**count, 1
    while rank < count // 2 and (tail := tail + math.comb(count, rank) * 0.5**count) <= 0.025:
        rank += 1
    return statistics.median(ordered), ordered[rank - 1], ordered[-rank]


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
    print(f"# readings, {options.rounds} rounds in turn: median (its 95 % interval) of the rounds in which others used at most {options.quiet:.0%} of the CPUs")
    print("| reading | unit | OSU, mean | OSU, median | muster | muster : OSU's mean | muster : OSU's median | rounds |")
    print("|---|---|---|---|---|---|---|---|")
    kept = {(kind, size): [] for kind in ITERATIONS for size in NAMES}
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
    print(f"every reading is at least OSU's mean, or not distinguishable from it at 95 %: {'yes' if is_good else 'no'}")


def powers(least, most):
    return [f"{1 << power}B" for power in range(least, most + 1)]


def p2p_check(name, sizes, latency_sizes=("1B",), window=64):
    text = P2P.format(sizes=json.dumps(sizes), latency_sizes=json.dumps(latency_sizes), cap=5)
    return text.replace("compare_p2p", name).replace("= 64", f"= {window}")


def sweep_parts():
    """What OSU sweeps over by default, and checks that read as much: name, OSU's part, checks."""
    every = powers(0, 22)
    return [
        ("latency", "latency", [p2p_check("latency", ["1B"], every)]),
        ("bandwidth, windows of 64", "bandwidth", [p2p_check("bandwidth", every)]),
        ("bandwidth, windows of 8 above 64 KiB", "bandwidth", [p2p_check("small", powers(0, 16)), p2p_check("large", powers(17, 22), window=8)]),
        ("allreduce", "allreduce", [ALLREDUCE.format(sizes=json.dumps(powers(3, 20)), cap=5)]),
    ]


def readings_parts():
    """The sizes of the readings, up to the largest: OSU sweeps over all powers of two between them, with its default iterations."""
    every = powers(3, 24)
    return [
        ("latency", "latency", [p2p_check("latency", ["8B"], every)]),
        ("bandwidth, windows of 64", "bandwidth", [p2p_check("bandwidth", every)]),
        ("bandwidth, windows of 8 above 64 KiB", "bandwidth", [p2p_check("small", powers(3, 16)), p2p_check("large", powers(17, 24), window=8)]),
        ("allreduce", "allreduce", [ALLREDUCE.format(sizes=json.dumps(every), cap=5)]),
    ]


def known(osu, options):
    """How well one of OSU's sweeps knows its readings, and how many sweeps it takes until their medians are known to 2 %."""
    print(f"# OSU's default sweep, {options.repeats} times: half of the 95 % interval of the median, and sweeps until it is 2 % (it shrinks with the root)")
    print("| program | seconds each | half-width, median of sizes | widest | sweeps, median of sizes | most |")
    print("|---|---|---|---|---|---|")
    for kind in PROGRAMS:
        seen, seconds = {}, []
        for _ in range(options.repeats):
            text, took, _ = measured(osu.command(kind))
            seconds.append(took)
            for line in text.splitlines():
                if line[:1].isdigit():
                    seen.setdefault(line.split()[0], []).append(float(line.split()[1]))
        widths = []
        for values in seen.values():
            mid, low, high = middle(values)
            widths.append((high - low) / 2 / mid)
        needed = [max(6, options.repeats * (width / 0.02) ** 2) for width in widths]
        print(f"| {kind} | {statistics.median(seconds):.3g} | {statistics.median(widths):.1%} | {max(widths):.1%} | {statistics.median(needed):.0f} | {max(needed):.0f} |")


def endings(report):
    """How many readings are known to 2 %, of how many: according to p2p and allreduce."""
    said = [re.search(r"(\d+) of (\d+) timings known", text) for case in report["cases"] for text in case["evidence"]]
    counts = [(int(found[1]), int(found[2])) for found in said if found]
    return sum(reached for reached, _ in counts), sum(timed for _, timed in counts)


def sweep(osu, muster, options, title, parts, range_of_osu):
    print(f"# time for {title}, {options.sweeps} rounds in turn: median (its 95 % interval), seconds from start to end of the commands")
    print("| part | OSU | muster | share of OSU's time | known to 2 % | rounds |")
    print("|---|---|---|---|---|---|")
    try:
        for name, kind, checks in parts:
            rounds, precise, asked = [], 0, 0
            for _ in range(options.sweeps):
                if not wait_for_quiet(options.quiet, options.patience):
                    continue
                theirs, foreign_a = osu.sweep(kind, range_of_osu)
                report, ours, foreign_b = muster.run(checks)
                is_known = all(row["n"] > 0 for case in report["cases"] for row in case["metrics"])
                if is_known and max(foreign_a, foreign_b) <= options.quiet:
                    rounds.append((theirs, ours, ours / theirs))
                    reached, all_readings = endings(report)
                    precise, asked = precise + reached, asked + all_readings
            cells = [spread(values) for values in list(zip(*rounds)) or [[], [], []]]
            print(f"| {name} | {' | '.join(cells)} | {precise} of {asked} | {len(rounds)} |")
    except KeyboardInterrupt:
        print("(interrupted)")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--osu", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=10)
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
        if options.repeats > 0:
            known(osu, options)
        if options.sweeps > 0:
            sweep(osu, muster, options, "OSU's default sizes", sweep_parts(), [])
            sweep(osu, muster, options, "8 B to 16 MiB, OSU's default iterations", readings_parts(), ["-m", f"8:{16 * MIB}"])
    print(f"# load at the end: {Path('/proc/loadavg').read_text().split()[0]}")


main()
