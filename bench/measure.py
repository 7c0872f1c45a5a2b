"""Timing of whole commands, for the comparisons in this folder."""
import os
import statistics
import subprocess
import time


def environment():
    env = dict(os.environ)
    if os.geteuid() == 0:  # Open MPI refuses to run as root unless told
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return env


def seconds(command, **options):
    """Wall time of one run of `command`, which must succeed."""
    began = time.monotonic()
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, **options)
    took = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return took


def interleaved(commands, rounds, **options):
    """Wall times of each command, taken in turn so that a busy moment of the machine meets all alike."""
    times = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(seconds(command, **options))
    return times


def line(name, times, unit=1000.0, word="ms"):
    ordered = sorted(times)
    return (f"{name:<44} median {statistics.median(ordered) * unit:8.1f} {word}   "
            f"min {ordered[0] * unit:8.1f}   max {ordered[-1] * unit:8.1f}   n {len(ordered)}")
