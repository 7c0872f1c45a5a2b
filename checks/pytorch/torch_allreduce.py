"""torch.distributed.all_reduce over all ranks: every element verified, time and busbw for each size."""
import sys
import time

sys.dont_write_bytecode = True

import muster_torch as muster
from job import Job

CYCLE = 97  # a prime: no block of a buffer looks like its neighbour


def weight(rank):
    """Small, so that sums stay whole numbers that a float holds exactly, for up to 38,000 ranks."""
    return rank % 8 + 1


def pattern(torch, count, device):
    return (torch.arange(count, device=device) % CYCLE + 1).to(torch.float32)


def first_wrong(torch, got, wanted):
    """None, or index, value and wanted value of the first wrong element, and how many are wrong."""
    if torch.equal(got, wanted):
        return None
    wrong = (got != wanted).nonzero().flatten()
    index = int(wrong[0])
    return index, float(got[index]), float(wanted[index]), int(wrong.numel())


class Reduction:
    def __init__(self, job, size):
        self.job, self.torch = job, job.torch
        self.size = size_of_floats(size)
        self.base = pattern(self.torch, self.size // 4, job.device.device)
        self.data = self.torch.empty_like(self.base)

    def once(self):
        self.data.copy_(self.base).mul_(weight(self.job.place.rank))
        self.torch.distributed.all_reduce(self.data)

    def verify(self):
        self.once()
        total = sum(weight(rank) for rank in range(self.job.place.world))
        return first_wrong(self.torch, self.data, self.base * total)

    def timed(self, rounds):
        """Seconds of one operation on the slowest rank."""
        distributed = self.torch.distributed
        distributed.barrier()
        self.job.device.wait(self.torch)
        begun = time.perf_counter()
        for _ in range(rounds):
            distributed.all_reduce(self.data)
        self.job.device.wait(self.torch)
        took = self.torch.tensor([(time.perf_counter() - begun) / rounds], dtype=self.torch.float64,
                                 device=self.job.device.device)
        distributed.all_reduce(took, op=distributed.ReduceOp.MAX)
        return float(took[0])

    def measure(self, seconds):
        self.data.zero_()  # sums of sums of sums would overflow
        self.timed(2)
        rounds = max(1, min(1000, int(seconds / 5 / max(self.timed(1), 1e-6))))
        return [self.timed(rounds) for _ in range(5)]


def size_of_floats(size):
    return max(4, size // 4 * 4)


def size_label(text, size):
    """As it was requested, where that is what was summed."""
    return text if muster.size_of(text) == size else f"{size}B"


def main():
    options = muster.Arguments(description=__doc__)
    options.add_argument("--sizes", type=muster.sizes, default="1KiB,64KiB,1MiB,16MiB", help="bytes per rank, separated by commas")
    options.add_argument("--seconds", type=float, default=0.3, help="time for each size")
    options.add_argument("--patience", type=float, default=30, help="seconds to wait for another rank")
    asked = options.parse_args()
    job = Job(muster.import_torch(), asked.patience)
    place = job.place
    if place.world == 1:
        muster.stop("a single rank has no partner to sum with", "run it with --ranks-per-node 2", verdict="skip")
    for text in asked.sizes:
        with job.step(f"allreduce of {text}", job.patience + 10 * asked.seconds):
            reduction = Reduction(job, muster.size_of(text))
            wrong = reduction.verify()
            times = reduction.measure(asked.seconds)
        if wrong is not None:
            index, got, wanted, count = wrong
            job.complain(f"rank {place.rank} on {muster.HOST} got a wrong sum of {text}: element {index} of "
                         f"{reduction.size // 4} is {got:g} instead of {wanted:g}, {count} are wrong",
                         "run allreduce of muster over the same nodes: if that is right, another version of "
                         f"{job.device.backend} or other settings of it are called for")
        label = size_label(text, reduction.size)
        algbw = [reduction.size / took / 1e9 for took in times]
        muster.metric("time", [took * 1e6 for took in times], "us", size=label, backend=job.device.backend)
        factor = 2 * (place.world - 1) / place.world
        muster.metric("busbw", [one * factor for one in algbw], "GB/s", size=label, backend=job.device.backend)
    if place.rank == 0:
        job.device.tell()
    if not any(job.gather(job.failed)) and place.rank == 0:
        muster.evidence(f"sums of {place.world} ranks are right in every element, {', '.join(asked.sizes)} "
                        f"({job.device.backend}, torch {job.torch.__version__})")
    job.finish()


if __name__ == "__main__":
    muster.run(main)
