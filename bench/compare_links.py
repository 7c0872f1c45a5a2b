#!/usr/bin/env python3
"""Pairs of runs of p2p on a virtual cluster, unchanged and with the link of one node made slower: what `muster compare` finds.

usage: compare_links.py [BUILD] [--pairs N] [--slow N] [--earlier N] [--seed N]

BUILD (build/release) is a build folder with `system_programs`. Needs root. Each run is compared with the run before it, after `--earlier` runs (5) of
the same history, a slow one with a history of unchanged runs. The links have 200 Mbit/s. A slow link has less by 15 %, or by four times the spread of its bandwidth from launch to launch, as
measured in the unchanged runs, if that is more. Found: something is worse, and all of it is of that node. docs/measurements/diagnosis.md has figures.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(SOURCE / "tests" / "cluster"), str(SOURCE / "tests" / "e2e")]
NODES = ("nid001", "nid002", "nid003", "nid004")
RATE = 200  # Mbit/s


class Cluster:
    """Runs on four nodes with a history of their own."""

    def __init__(self, cluster, folder, support):
        self.cluster, self.support = cluster, support
        self.history = folder / "history.db"
        self.checks = support.check("pairs", probe="p2p", ranks=1, timeout="60s", least_slowdown=0.5, sizes=["64KiB"], window=16, memory="16MiB",
                                    cap="200ms", interval=0.0001)
        for node in NODES:
            cluster.set_apart(node)
            cluster.slow(node, f"{RATE}mbit")

    def run(self):
        run = self.support.Run(self.checks, "--nodes", ",".join(NODES), "--launcher", "mpirun", "-J=-x",
                               f"-J=LD_PRELOAD={self.support.BIN / 'sleepy_yield.so'}", "--history", self.history,
                               env=self.cluster.environment(), wrapper=self.cluster.argv_on_login([]))
        run.start()
        run.wait(90)
        report = run.report()
        run.clean()
        return report

    def compare(self, before="previous"):
        """(exit status, JSON) of the last run against another one of the history."""
        done = subprocess.run([self.support.DRIVER, "compare", before, "latest", "--history", self.history, "--json"], capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout) if done.stdout else {}

    def set_rate(self, node, share):
        self.cluster.slow(node, f"{round(RATE * share * 1000)}kbit")


def worse_of(comparison):
    """(words, nodes) of all that is worse."""
    found = []
    for one in [*comparison.get("metrics", []), *comparison.get("verdicts", []), *comparison.get("one_sided", [])]:
        if one.get("worse"):
            words = " ".join(str(one.get(name, "")) for name in ("metric", "case", "subject", "reason")) + " ".join(one.get("items", []) + one.get("nodes", []))
            found.append((words, set(re.findall(r"nid00\d", words))))
    return found


def bandwidths(report):
    """Median of each link and role, by what it is."""
    metrics = [one for case in report["cases"] for one in case.get("metrics", []) if "bandwidth" in one["metric"]]
    return {json.dumps([one["metric"], one["where"], {name: value for name, value in reading.items() if not isinstance(value, float) and name != "n"}]):
            reading["median"] for one in metrics for reading in one["readings"]}


def spread_of(reports):
    """From launch to launch: the median over all links and roles of standard deviation by mean."""
    values = {}
    for report in reports:
        for key, value in bandwidths(report).items():
            values.setdefault(key, []).append(value)
    shares = [statistics.stdev(each) / statistics.mean(each) for each in values.values() if len(each) > 2 and statistics.mean(each) > 0]
    return statistics.median(shares) if shares else 0.0


def interval(right, all_):
    """Of Wilson, with 95 %."""
    if all_ == 0:
        return "no runs"
    z, share = 1.96, right / all_
    middle = (share + z * z / (2 * all_)) / (1 + z * z / all_)
    half = z * ((share * (1 - share) + z * z / (4 * all_)) / all_) ** 0.5 / (1 + z * z / all_)
    return f"{right} of {all_} ({share:.3f}, {middle - half:.3f} to {middle + half:.3f})"


def unchanged_pairs(runs, count):
    worse, passed, failed = [], [], collections.Counter()
    for number in range(count):
        report = runs.run()
        if report["verdict"] != "pass":
            failed[reason_of(report)] += 1
            continue
        passed.append(report)
        status, comparison = runs.compare()
        if status == 1:
            worse.append(f"pair {number}: " + "; ".join(words for words, _ in worse_of(comparison)))
    print(f"unchanged: worse in {interval(len(worse), len(passed))}, {failed.total()} runs did not pass", flush=True)
    print_reasons(failed)
    for line in worse:
        print(f"  {line[:300]}")
    return spread_of(passed)


def reason_of(report):
    """Why it did not pass."""
    return next((f"{one['verdict']}: {one['reason']}" for one in report["cases"] if one["verdict"] != "pass"), report["verdict"])


def print_reasons(reasons):
    for reason, number in reasons.most_common(5):
        print(f"  {number} times {reason[:300]}")


def slow_pairs(runs, count, share, choice):
    found, others, unmeasured = 0, [], collections.Counter()
    for number in range(count):
        node = choice.choice(NODES)
        # Each slow run is compared with a history of unchanged ones.
        unchanged = runs.history.read_bytes()
        runs.set_rate(node, 1 - share)
        report = runs.run()
        runs.set_rate(node, 1)
        if report["verdict"] == "unmeasured":
            unmeasured[reason_of(report)] += 1
            runs.history.write_bytes(unchanged)
            continue
        status, comparison = runs.compare()
        runs.history.write_bytes(unchanged)
        worse = worse_of(comparison)
        wrong = [words for words, nodes in worse if nodes and node not in nodes]
        found += status == 1 and any(node in nodes for _, nodes in worse) and not wrong
        if status != 1 or wrong:
            others.append(f"{node}, pair {number}: " + ("; ".join(wrong) or "nothing worse"))
    print(f"link slower by {share:.0%}: found, and nothing else, in {interval(found, count - unmeasured.total())}, {unmeasured.total()} unmeasured")
    print_reasons(unmeasured)
    for line in others:
        print(f"  {line[:300]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", default=os.environ.get("MUSTER_BUILD", str(SOURCE / "build" / "release")))
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--slow", type=int, default=50)
    parser.add_argument("--earlier", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ["MUSTER_BUILD"] = options.build
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    import support
    import virtual_cluster
    reason = virtual_cluster.why_not()
    if reason:
        support.skip(reason)
    support.isolate()
    with virtual_cluster.running(len(NODES), f"pairs{os.getpid()}") as cluster:
        folder = support.new_folder()
        runs = Cluster(cluster, folder, support)
        for _ in range(options.earlier + 1):
            runs.run()
        spread = unchanged_pairs(runs, options.pairs)
        print(f"spread of bandwidth from launch to launch: {spread:.1%}")
        slow_pairs(runs, options.slow, max(0.15, 4 * spread), random.Random(options.seed))


if __name__ == "__main__":
    main()
