"""For muster selftest: one of the PyTorch checks' scripts, with a fault in what it stands on.

torch_fault.py FAULT SCRIPT ARGUMENTS... The script itself is the one that checks run.
"""
import os
import platform
import runpy
import sys

sys.dont_write_bytecode = True


def on_rank_1():
    return os.environ.get("RANK") == "1"


def foreign():
    """The kernel's machine is another than that which torch is built for."""
    other = "x86_64" if platform.machine() == "aarch64" else "aarch64"
    platform.machine = lambda: other


def wrong_sum():
    import torch.distributed as distributed
    original = distributed.all_reduce

    def replaced(tensor, *arguments, **named):
        done = original(tensor, *arguments, **named)
        if on_rank_1() and tensor.numel() > 3:
            tensor[3] += 1
        return done

    distributed.all_reduce = replaced


def damaged():
    import torch.distributed as distributed
    original = distributed.recv

    def replaced(tensor, src=None):
        done = original(tensor, src=src)
        if tensor.dim() == 2:
            tensor[7, 11] = 0.5
        return done

    distributed.recv = replaced


def drift():
    import torch
    original = torch.optim.SGD.step

    def replaced(self, *arguments, **named):
        done = original(self, *arguments, **named)
        if on_rank_1():
            self.param_groups[0]["params"][0].data[0] *= 1.001
        return done

    torch.optim.SGD.step = replaced


def one_core():
    """A launcher inside a launcher: the ranks see one core, all the same."""
    os.cpu_count = lambda: 64
    os.sched_getaffinity = lambda process: {0}


def other_mpi():
    """The ranks were started with an MPI that no mpi4py is built with."""
    os.environ["MUSTER_MPI"] = "Open MPI v0.1.0"


def main():
    faults = {fault.__name__: fault for fault in (foreign, wrong_sum, damaged, drift, one_core, other_mpi)}
    if len(sys.argv) < 3 or sys.argv[1] not in faults:
        sys.exit(f"torch_fault.py: write one of {', '.join(faults)}, and the script")
    fault, script = faults[sys.argv[1]], sys.argv[2]
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(script)
    fault()
    runpy.run_path(script, run_name="__main__")


main()
