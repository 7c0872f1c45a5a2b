"""Copies of one GPU against nvbandwidth, products of matrices against PyTorch: in turn, on the machine this runs on.

usage: gpu_compare.py FOLDER-WITH-MUSTER [--nvbandwidth PROGRAM] [--python PYTHON-WITH-TORCH] [--rounds 3] [--size 8192]
Of GPU 0 as CUDA counts. What is not there is named and left out; with neither of them there is nothing to compare, exit 77.
A ratio of 1.0: muster reads as much. nvbandwidth's copies take 512 MiB at its default, muster's as many here.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from measure import environment

# muster's metric and its label `by`, and nvbandwidth's name of the same.
COPIES = {
    ("host_to_device", "engine"): "host_to_device_memcpy_ce",
    ("device_to_host", "engine"): "device_to_host_memcpy_ce",
    ("host_to_device", "kernel"): "host_to_device_memcpy_sm",
    ("device_to_host", "kernel"): "device_to_host_memcpy_sm",
}
TORCH_TYPES = {"float64": "float64", "float32": "float32", "float16": "float16", "bfloat16": "bfloat16"}

TORCH = """
import json, statistics, sys, torch
size, rates = int(sys.argv[1]), {}
torch.backends.cuda.matmul.allow_tf32 = False
for name in sys.argv[2].split(","):
    a = torch.randint(-2, 3, (size, size), device="cuda").to(getattr(torch, name))
    times = []
    for turn in range(30):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        torch.mm(a, a)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    rates[name] = 2 * size ** 3 / statistics.median(times[10:]) / 1e12
print(json.dumps(rates))
"""


def said_by(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def first_of_matrices(text):
    """`Running NAME.`, a line of words, the numbers of columns, then rows: number, values. The first value of each."""
    values, name = {}, None
    for line in text.splitlines():
        began = re.match(r"Running (\w+)", line)
        if began:
            name = began.group(1)
        row = re.match(r"\s*0\s+([0-9]+\.[0-9]+)", line)
        if row and name and name not in values:
            values[name] = float(row.group(1))
    return values


def muster(args, folder, check, options):
    command = [pathlib.Path(args.folder).resolve() / "muster", "run", "-n", f"^{check}$", "--ranks-per-node", "1", "--output", folder, *options]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600,
                          env={**environment(), "CUDA_VISIBLE_DEVICES": "0"})
    report = json.loads((pathlib.Path(folder) / "latest" / "report.json").read_text())
    case = next(case for case in report["cases"] if case["check"] == check)
    if case["verdict"] != "pass":
        raise SystemExit(f"{check}: {case['verdict']}: {case['reason']}\n{done.stdout[-3000:]}")
    return {(row["metric"], row["where"].get("by"), row["where"].get("type")): row["median"] for row in case["metrics"]}


def copies(args, folder, table):
    ours = muster(args, folder, "gpu_copy", ["-S", "gpu_copy.bytes=512MiB", "-S", "gpu_copy.pairs=false"])
    theirs = first_of_matrices(said_by([args.nvbandwidth, "-t", *COPIES.values()],
                                       env={**environment(), "CUDA_VISIBLE_DEVICES": "0"}))
    for (metric, by), name in COPIES.items():
        if (metric, by, None) in ours and name in theirs:
            table.setdefault((f"{metric}, by {by}", "GB/s", "nvbandwidth"), []).append((ours[metric, by, None], theirs[name]))


def products(args, folder, table):
    types = ",".join(TORCH_TYPES)
    ours = muster(args, folder, "gpu_compute", ["-S", f"gpu_compute.types={types}", "-S", f"gpu_compute.size={args.size}"])
    theirs = json.loads(said_by([args.python, "-c", TORCH, args.size, types], env={**os.environ, "CUDA_VISIBLE_DEVICES": "0"}))
    for name, rate in theirs.items():
        if ("rate", "blas", name) in ours:
            table.setdefault((f"products of {name}", "TFLOP/s", "PyTorch"), []).append((ours["rate", "blas", name], rate))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--nvbandwidth", default=shutil.which("nvbandwidth"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=int, default=8192)
    args = parser.parse_args()
    has_cuda = [args.python, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"]
    has_torch = subprocess.run(has_cuda, capture_output=True).returncode == 0
    if not args.nvbandwidth:
        print("nvbandwidth: not found; --nvbandwidth names it")
    if not has_torch:
        print(f"PyTorch: {args.python} has none that sees a GPU; --python names one that has")
    if not args.nvbandwidth and not has_torch:
        raise SystemExit(77)
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.rounds):
            if args.nvbandwidth:
                copies(args, folder, table)
            if has_torch:
                products(args, folder, table)
    print(f"{'what':<28} {'unit':<8} {'muster':>9} {'peer':>9}  ratio of medians (range)")
    for (what, unit, peer), pairs in table.items():
        mine, other = (statistics.median(values) for values in zip(*pairs))
        ratios = sorted(a / b for a, b in pairs)
        print(f"{what:<28} {unit:<8} {mine:9.1f} {other:9.1f}  {mine / other:.3f} ({ratios[0]:.3f} - {ratios[-1]:.3f})  {peer}")
    if not table:
        raise SystemExit("nothing was measured by both")


if __name__ == "__main__":
    main()
