"""Samples per second of probe training against PyTorch's DistributedDataParallel over gloo: the same network, batch, optimiser,
ranks and threads, in turn. The ratio is to be 1 at least.

usage: training_vs_ddp.py FOLDER-WITH-MUSTER [--ranks 2] [--threads 1] [--rounds 5] [--python /usr/bin/python3]
Steps alone are timed on both sides (batch, forward, backward, sums, update), without the first epoch. Two ratios: of whole epochs, and of
the median step, which a busy machine disturbs less: an MPI that spins loses more to other programs than sockets that sleep.
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

SHAPE = {"samples": 5000, "features": 64, "classes": 10, "hidden": 256, "batch": 240, "epochs": 8}


def ddp(threads):
    """One rank of PyTorch's; rank 0 prints the median of samples per second."""
    import torch
    from torch import nn
    torch.distributed.init_process_group("gloo")
    torch.set_num_threads(threads)
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.manual_seed(1)
    centres = torch.randint(0, 2, (30, SHAPE["features"])).float() * 2 - 1
    which = torch.randint(0, 30, (SHAPE["samples"],))
    values = centres[which] + torch.randn(SHAPE["samples"], SHAPE["features"])
    labels = which % SHAPE["classes"]
    hidden = SHAPE["hidden"]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(
        nn.Linear(SHAPE["features"], hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
        nn.Linear(hidden, SHAPE["classes"])))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    rates, steps, first, last = [], [], None, None
    for _ in range(SHAPE["epochs"]):
        order = torch.randperm(SHAPE["samples"])
        torch.distributed.barrier()
        began = time.monotonic()
        for at in range(0, SHAPE["samples"], SHAPE["batch"]):
            step_began = time.monotonic()
            batch = order[at:at + SHAPE["batch"]]
            mine = batch[len(batch) * rank // ranks:len(batch) * (rank + 1) // ranks]
            optimizer.zero_grad()
            loss = loss_of(model(values[mine]), labels[mine])
            loss.backward()
            optimizer.step()
            last = loss.detach()
            first = last if first is None else first
            steps.append(time.monotonic() - step_began)
        rates.append(SHAPE["samples"] / (time.monotonic() - began))
    if rank == 0:
        median_step = statistics.median(steps[len(steps) // SHAPE["epochs"]:])
        print(json.dumps({"rates": [statistics.median(rates[1:]), SHAPE["batch"] / median_step],
                          "first": float(first), "last": float(last)}), flush=True)


def environment(threads):
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    if os.geteuid() == 0:  # Open MPI refuses to run as root unless told
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return env


def run(command, threads, **options):
    done = subprocess.run(command, env=environment(threads), capture_output=True, text=True, timeout=300, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def rate_of_ddp(args):
    """Ranks as torchrun would start them, each on cores of its own, as muster's are."""
    port = free_port()
    cpus = sorted(os.sched_getaffinity(0))
    ranks = []
    for rank in range(args.ranks):
        env = {**environment(args.threads), "RANK": str(rank), "WORLD_SIZE": str(args.ranks), "LOCAL_RANK": str(rank),
               "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        mine = cpus[rank * args.threads:(rank + 1) * args.threads] or cpus
        ranks.append(subprocess.Popen(
            [args.python, __file__, args.folder, "--as-rank", "--threads", str(args.threads)], env=env,
            stdout=subprocess.PIPE, text=True, preexec_fn=lambda mine=mine: os.sched_setaffinity(0, mine)))
    outputs = [rank.communicate(timeout=300)[0] for rank in ranks]
    if any(rank.returncode != 0 for rank in ranks):
        raise SystemExit("PyTorch failed; what it said is above")
    told = json.loads(outputs[0])
    assert told["last"] < told["first"] / 2, f"PyTorch did not learn: {told}"
    return told["rates"]


def rate_of_muster(args, folder):
    params = {**SHAPE, "threads": args.threads, "learning_rate": 0.05, "momentum": 0.9}
    run([pathlib.Path(args.folder).resolve() / "muster", "run", "-n", "^training$", "--ranks-per-node", str(args.ranks),
         "--output", folder, *(f"-Straining.{name}={value}" for name, value in params.items())], args.threads)
    report = json.loads((pathlib.Path(folder) / "latest" / "report.json").read_text())
    case = next(case for case in report["cases"] if case["check"] == "training")
    assert case["verdict"] == "pass", case["reason"]
    value = {metric["metric"]: metric["median"] for metric in case["metrics"]}
    return [value["throughput"], SHAPE["batch"] / value["step_time"] * 1e6]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--as-rank", action="store_true")
    args = parser.parse_args()
    if args.as_rank:
        return ddp(args.threads)
    if subprocess.run([args.python, "-c", "import torch"], capture_output=True).returncode != 0:
        raise SystemExit(f"{args.python} has no torch: apt-get install python3-torch, or --python with one that has")
    rates = {"muster": [], "PyTorch DDP, gloo": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.rounds):
            rates["muster"].append(rate_of_muster(args, folder))
            rates["PyTorch DDP, gloo"].append(rate_of_ddp(args))
    ratios = []
    for at, what in enumerate(("epochs", "median step")):
        medians = []
        for name, told in rates.items():
            values = [one[at] for one in told]
            medians.append(statistics.median(values))
            print(f"{what:<12} {name:<18} median {medians[-1]:10.0f} samples/s   min {min(values):10.0f}   "
                  f"max {max(values):10.0f}   n {len(values)}")
        ratios.append(medians[0] / medians[1])
    print(f"ratio {ratios[0]:.2f} by epochs, {ratios[1]:.2f} by the median step, with {args.ranks} ranks of {args.threads} "
          "threads (to be 1.00 at least)")
    return 0 if ratios[0] >= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
