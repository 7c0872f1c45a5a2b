"""The runs of live.py: which are to do, how one is done, what is kept of it, and the tables. Part of live.py."""
import contextlib
import json
import os
import random
import shutil
import time

import live_entries
import live_faults
import live_machines
import live_score
import live_tables
import support
import virtual_cluster as vc

GRACE_S = 60.0  # after the end of a run, until which everything has to be gone
START_S = 0.8  # in which random moments of a start lie
MOST_CASES = 6  # of the eight cases `work`, of which so many at most have passed before a random moment
LONGEST_S = 240
TOO_LATE_S = 0.25  # a fault so short before the end of a run that passes has missed it: its last case was over


def read(path):
    """Records of earlier calls, the newest of each run."""
    if not path.exists():
        return []
    records = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return list({(one["entry"], one["number"]): one for one in records}.values())


def keep(path, record):
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def wanted(options):
    """(entry, number) of all runs, the first of each entry before the second of any."""
    entries = [(entry, options.moments) for entry in live_entries.FAULTS] + [(entry, options.healthy) for entry in live_entries.WELL]
    chosen = [(entry, count) for entry, count in entries if options.only in entry.name or options.only in entry.machine]
    part, parts = map(int, options.part.split("/"))
    chosen = chosen[part - 1::parts]
    rounds = max([count for _, count in chosen], default=0)
    return [(entry, number) for number in range(rounds) for entry, count in chosen if number < count]


def why_not(entry):
    if entry.needs and shutil.which(entry.needs) is None:
        return f"there is no {entry.needs}"
    return live_machines.why_not(entry.machine)


def wait_for_moment(scene, run):
    """A random number of cases, then a random part of the time that one of them takes, however fast the machine is."""
    def wait_for_cases(number):
        support.wait_until(lambda: run.stdout.count("pass") >= number or run.process.poll() is not None, 60)
        return time.monotonic()
    first = wait_for_cases(1)
    more = scene.random.randrange(MOST_CASES)
    each = (wait_for_cases(1 + more) - first) / more if more else 0.1
    time.sleep(scene.random.uniform(0, each))


def strike(entry, scene, run):
    """Starts the run and injects the faults; the time at which they were there, in seconds from its start."""
    if entry.when in ("before", "always", "never"):
        for fault in entry.faults:
            fault(scene)
        run.start()
        return 0.0
    run.start()
    if entry.when == "start":
        time.sleep(scene.random.uniform(0, START_S))
    else:
        wait_for_moment(scene, run)
    if run.process.poll() is not None:
        raise live_faults.Missed
    for fault in entry.faults:
        fault(scene)
    return time.monotonic() - run.began


def seconds_to_name(run, since):
    """From the fault until the driver prints the first line of a case that did not pass; else until its end."""
    while run.process.poll() is None and time.monotonic() - run.began < LONGEST_S:
        if any(line.lstrip().lower().startswith(("fail", "error", "unmeasured")) for line in run.stdout.splitlines()):
            break
        time.sleep(0.05)
    return round(time.monotonic() - run.began - since, 2)


def report_of(run):
    try:
        return run.report()
    except (OSError, ValueError):
        return None


def wait_for_end(scene):
    """Seconds until nothing was left, and what was left after GRACE_S."""
    began = time.monotonic()
    support.wait_until(lambda: not scene.leftovers(), GRACE_S, 0.1)
    return round(time.monotonic() - began, 1), scene.leftovers()


def one(entry, number, seed, clusters):
    """The record of one run. Raises Missed where the run was over before the fault."""
    choice = random.Random(f"{seed} {entry.name} {number}")
    cluster = clusters.get(entry.machine)
    scene = live_machines.FaultContext(cluster, live_machines.MACHINES[entry.machine], choice)
    left = ["not looked at"]
    try:
        run = scene.new_run(entry.checks(scene), entry.options(scene), entry.env(scene))
        since = strike(entry, scene, run)
        named_after = seconds_to_name(run, since)
        status = run.wait(LONGEST_S)
        if status == 0 and entry.when == "moment" and run.seconds - since < TOO_LATE_S:
            raise live_faults.Missed
        seconds, left = wait_for_end(scene)
        report = report_of(run)
        return {"entry": entry.name, "number": number, "seed": seed, "status": status, "at": round(since, 2), "named_after": named_after,
                "seconds": round(run.seconds, 2), "clean_after": seconds, "left": [] if entry.leaves else left,
                "at_fault": roles(scene, entry.at_fault), "tolerated": roles(scene, entry.tolerated), "has_report": report is not None,
                "findings": live_score.findings_of(report) if report else [], "load": round(os.getloadavg()[0], 1)}
    finally:
        scene.close()
        if left or not cluster.is_as_made:
            clusters.drop(entry.machine)


def roles(scene, names):
    return [culprit for name in names for culprit in scene.role(name)]


def run_all(options):
    done = {(record["entry"], record["number"]) for record in read(options.results)}
    began = time.monotonic()
    clusters = live_machines.Clusters()
    with contextlib.ExitStack() as stack:
        stack.callback(clusters.drop_all)
        for entry, number in wanted(options):
            if (entry.name, number) in done:
                continue
            if time.monotonic() - began > options.seconds:
                print(f"{options.seconds:.0f} s are over; the next call continues", flush=True)
                return
            reason = why_not(entry)
            if reason is None:
                attempt(entry, number, options, clusters)
            elif number == 0:
                print(f"{entry.name}: not run: {reason}", flush=True)


def attempt(entry, number, options, clusters):
    for again in range(3):
        try:
            record = one(entry, number, options.seed + again, clusters)
        except live_faults.Missed:
            continue
        except (vc.ClusterError, AssertionError, OSError, RuntimeError) as problem:
            print(f"{entry.name} {number}: {str(problem)[:1500]}", flush=True)
            clusters.drop(entry.machine)
            continue
        keep(options.results, record)
        print(live_tables.line(record, entry), flush=True)
        return


def work(options):
    if options.list:
        print("\n".join(live_tables.entries(live_entries.FAULTS + live_entries.WELL)))
        return
    if not options.table:
        run_all(options)
    known = {entry.name: entry for entry in live_entries.FAULTS + live_entries.WELL}
    records = [record for record in read(options.results) if record["entry"] in known]
    print("\n".join(live_tables.tables(records, known)))
