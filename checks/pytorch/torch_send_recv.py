"""Rank 0 sends a square tensor to every other rank in turn; every element of what arrives is looked at."""
import sys
import time

sys.dont_write_bytecode = True

import muster_torch as muster
from job import Job

LARGEST = 16777213  # a prime below 2**24, up to which a float holds every whole number
BLOCK = 1 << 22  # elements looked at at once, so that memory is needed for little more than the tensor


def values(torch, first, count, rank, device):
    """Elements first .. first + count of the tensor for that rank: another number at every place, as far as they go."""
    start = (first + 7919 * rank) % LARGEST
    return torch.arange(start, start + count, dtype=torch.int32, device=device).remainder_(LARGEST).to(torch.float32)


def fill(torch, tensor, rank):
    flat = tensor.view(-1)
    for first in range(0, flat.numel(), BLOCK):
        count = min(BLOCK, flat.numel() - first)
        flat[first:first + count] = values(torch, first, count, rank, tensor.device)


def first_wrong(torch, tensor, rank):
    """None, or place, value and wanted value of the first wrong element, and how many are wrong."""
    flat, found, wrong = tensor.view(-1), None, 0
    for first in range(0, flat.numel(), BLOCK):
        count = min(BLOCK, flat.numel() - first)
        got, wanted = flat[first:first + count], values(torch, first, count, rank, tensor.device)
        if torch.equal(got, wanted):
            continue
        # Unequal to itself is what is not a number: that is wrong, too.
        at = (got != wanted).nonzero().flatten()
        wrong += int(at.numel())
        found = found or (first + int(at[0]), float(got[at[0]]), float(wanted[at[0]]))
    return None if found is None else (*found, wrong)


def receive(job, tensor, side):
    """On the receiving rank: seconds from being ready to having it all."""
    torch = job.torch
    tensor.fill_(float("nan"))
    ready = torch.zeros(1, device=tensor.device)
    job.device.wait(torch)
    torch.distributed.send(ready, dst=0)
    begun = time.perf_counter()
    torch.distributed.recv(tensor, src=0)
    job.device.wait(torch)
    took = time.perf_counter() - begun
    wrong = first_wrong(torch, tensor, job.place.rank)
    if wrong is not None:
        index, got, wanted, count = wrong
        job.complain(f"rank {job.place.rank} on {muster.HOST} received a wrong tensor from rank 0: row {index // side}, "
                     f"column {index % side} is {got:.9g} instead of {wanted:.9g}, {count} of {side * side} are wrong",
                     "run p2p of muster between the two: if that is right, look at the transport that "
                     f"{job.device.backend} takes",
                     [{"rank": 0}, {"rank": job.place.rank}])
    return took


def send(job, tensor, to):
    torch = job.torch
    torch.distributed.recv(torch.zeros(1, device=tensor.device), src=to)
    torch.distributed.send(tensor, dst=to)
    job.device.wait(torch)


def main():
    options = muster.Arguments(description=__doc__)
    options.add_argument("--side", type=int, default=10000, help="rows and columns")
    options.add_argument("--repetitions", type=int, default=2)
    options.add_argument("--patience", type=float, default=30, help="seconds to wait for another rank")
    asked = options.parse_args()
    job = Job(muster.import_torch(), asked.patience)
    place, torch = job.place, job.torch
    if place.world == 1:
        muster.stop("a single rank has no partner to send to", "run it with --ranks-per-node 2", verdict="skip")
    size = 4 * asked.side * asked.side
    tensor = torch.empty(asked.side, asked.side, device=job.device.device)
    # 0.1 GB/s is slower than anything that is meant to work.
    patience = job.patience + asked.repetitions * size / 1e8
    for to in range(1, place.world):
        if place.rank == 0:
            fill(torch, tensor, to)
        took = []
        with job.step(f"send to rank {to}", patience):
            for _ in range(asked.repetitions if place.rank in (0, to) else 0):
                if place.rank == 0:
                    send(job, tensor, to)
                else:
                    took.append(receive(job, tensor, asked.side))
            # One after the other: a shared link would be measured otherwise.
            torch.distributed.barrier()
        if took:
            muster.metric("bandwidth", [size / one / 1e9 for one in took], "GB/s", to=to, backend=job.device.backend)
    if place.rank == 0:
        job.device.tell()
    if not any(job.gather(job.failed)) and place.rank == 0:
        muster.evidence(f"{place.world - 1} {'rank' if place.world == 2 else 'ranks'} received {asked.side} x "
                        f"{asked.side} floats from rank 0 right in every element, {asked.repetitions} times "
                        f"({job.device.backend}, torch {torch.__version__})")
    job.finish()


if __name__ == "__main__":
    muster.run(main)
