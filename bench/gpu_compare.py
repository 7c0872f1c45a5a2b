"""Copies of one GPU against nvbandwidth and PyTorch, products of matrices against PyTorch: in turn, on the machine this runs on.

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
TORCH_COPIES = ("host_to_device", "device_to_host", "local_copy")
TYPES = ("float64", "float32", "tf32", "float16", "bfloat16", "int8")

TORCH = """
import json, statistics, sys, torch

# Of one, in batches of about 50 ms, as muster takes them: so clocks and power are those of work.
def seconds(work):
    def batch(times):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(times):
            work()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1e3 / times
    batch(1)
    times = min(max(int(0.05 / batch(1)), 1), 256)
    return statistics.median(batch(times) for _ in range(20))

size, told = int(sys.argv[1]), {}
bytes = 512 << 20
one, two = (torch.full((bytes,), 7, dtype=torch.uint8, device="cuda") for _ in range(2))
host = torch.full((bytes,), 7, dtype=torch.uint8).pin_memory()
told["host_to_device"] = bytes / seconds(lambda: one.copy_(host, non_blocking=True)) / 1e9
told["device_to_host"] = bytes / seconds(lambda: host.copy_(one, non_blocking=True)) / 1e9
told["local_copy"] = 2 * bytes / seconds(lambda: two.copy_(one)) / 1e9
for name in sys.argv[2].split(","):
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    a = torch.randint(-8, 8, (size, size), device="cuda").to(getattr(torch, "float32" if name == "tf32" else name))
    try:
        work = (lambda: torch._int_mm(a, a.t())) if name == "int8" else (lambda: torch.mm(a, a))
        told[name] = 2 * size ** 3 / seconds(work) / 1e12
    except RuntimeError as refused:
        print(name, refused, file=sys.stderr)
print(json.dumps(told))
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


def copies_of_nvbandwidth(args, ours, table):
    theirs = first_of_matrices(said_by([args.nvbandwidth, "-t", *COPIES.values()],
                                       env={**environment(), "CUDA_VISIBLE_DEVICES": "0"}))
    for (metric, by), name in COPIES.items():
        if (metric, by, None) in ours and name in theirs:
            table.setdefault((f"{metric}, by {by}", "GB/s", "nvbandwidth"), []).append((ours[metric, by, None], theirs[name]))


def all_of_torch(args, ours, table):
    theirs = json.loads(said_by([args.python, "-c", TORCH, args.size, ",".join(TYPES)], env={**os.environ, "CUDA_VISIBLE_DEVICES": "0"}))
    for metric in TORCH_COPIES:
        table.setdefault((f"{metric}, by engine", "GB/s", "PyTorch"), []).append((ours[metric, "engine", None], theirs[metric]))
    for name in TYPES:
        if ("rate", "blas", name) in ours and name in theirs:
            table.setdefault((f"products of {name}", "TFLOP/s", "PyTorch"), []).append((ours["rate", "blas", name], theirs[name]))


def one_round(args, folder, has_torch, table):
    ours = muster(args, folder, "gpu_copy", ["-S", "gpu_copy.bytes=512MiB", "-S", "gpu_copy.pairs=false"])
    if args.nvbandwidth:
        copies_of_nvbandwidth(args, ours, table)
    if has_torch:
        ours |= muster(args, folder, "gpu_compute", ["-S", f"gpu_compute.types={','.join(TYPES)}", "-S", f"gpu_compute.size={args.size}"])
        all_of_torch(args, ours, table)


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
            one_round(args, folder, has_torch, table)
    print(f"{'what':<28} {'unit':<8} {'muster':>9} {'peer':>9}  ratio of medians (range)")
    for (what, unit, peer), pairs in table.items():
        mine, other = (statistics.median(values) for values in zip(*pairs))
        ratios = sorted(a / b for a, b in pairs)
        print(f"{what:<28} {unit:<8} {mine:9.1f} {other:9.1f}  {mine / other:.3f} ({ratios[0]:.3f} - {ratios[-1]:.3f})  {peer}")
    if not table:
        raise SystemExit("nothing was measured by both")


if __name__ == "__main__":
    main()
