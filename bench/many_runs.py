"""The default checks, many times in a row, on a machine that may be busy: no run may be `fail`.

usage: many_runs.py MUSTER [RUNS]
Timing may be `unmeasured` or not judged where others used the CPUs; what is wrong must be wrong with the machine.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile


def main():
    if len(sys.argv) not in (2, 3) or not os.path.isfile(sys.argv[1]):
        sys.exit(__doc__)
    muster, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    verdicts = collections.defaultdict(collections.Counter)
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs):
            subprocess.run([muster, "run", "--quiet", "--output", folder], stdout=subprocess.DEVNULL, check=False)
            with open(os.path.join(folder, "latest", "report.json"), encoding="utf-8") as file:
                report = json.load(file)
            seconds.append(report["seconds"])
            for case in report["cases"]:
                verdicts[case["check"]][case["verdict"]] += 1
                if case["verdict"] not in ("pass", "skip"):
                    print(f"{case['check']}: {case['verdict']}: {case.get('reason', '')}", flush=True)
    load = os.getloadavg()[0]
    print(f"{runs} runs, load {load:.1f} on {os.cpu_count()} CPUs, {min(seconds):.1f} to {max(seconds):.1f} s each")
    for check, counts in sorted(verdicts.items()):
        print(f"  {check:20} " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 1 if any(counts["fail"] or counts["error"] for counts in verdicts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
