"""What the readings of the PyTorch checks measure, with a torch and a clock that are made up."""
import os
import subprocess
import sys
import types
import unittest
from unittest import mock

sys.dont_write_bytecode = True
FOLDER = os.path.join(os.environ["MUSTER_SOURCE"], "checks", "pytorch")
sys.path.insert(0, FOLDER)

import muster_torch
import torch_allreduce
import torch_environment
import torch_launch
import torch_send_recv


class Clock:
    """In place of the module `time`."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


class Distributed:
    """Ranks that never come late; `slowest`: seconds of the slowest one in an interval."""
    ReduceOp = types.SimpleNamespace(MAX="max")

    def __init__(self, clock, slowest):
        self.clock, self.slowest, self.calls = clock, slowest, []

    def barrier(self):
        self.clock.now += 100

    def all_reduce(self, data, op=None):
        if op == "max":
            data[0] = max(data[0], self.slowest)
        else:
            self.clock.now += 0.5

    def send(self, _, dst):
        self.calls.append(f"send {dst}")
        self.clock.now += 100

    def recv(self, _, src):
        self.calls.append(f"recv {src}")
        self.clock.now += 2


class AllReduce(unittest.TestCase):
    def timed(self, rounds, slowest):
        clock = Clock()
        device = types.SimpleNamespace(device="cpu", wait=lambda torch: None)
        one = torch_allreduce.Reduction.__new__(torch_allreduce.Reduction)
        one.torch = types.SimpleNamespace(distributed=Distributed(clock, slowest), float64=None,
                                          tensor=lambda values, **_: list(values))
        one.job, one.data = types.SimpleNamespace(device=device), None
        with mock.patch.object(torch_allreduce, "time", clock):
            return one.timed(rounds)

    def test_time_is_the_mean_of_operations_in_a_row_on_the_slowest_rank(self):
        self.assertEqual(self.timed(4, slowest=0), 0.5)  # the barrier before is not counted
        self.assertEqual(self.timed(4, slowest=3), 3)

    def test_size_is_what_was_summed(self):
        for text, label in (("64KiB", "64KiB"), ("8B", "8B"), ("10B", "8B"), ("1B", "4B"), ("1026B", "1024B")):
            size = torch_allreduce.size_of_floats(muster_torch.size_of(text))
            self.assertEqual(torch_allreduce.size_label(text, size), label)


class SendAndReceive(unittest.TestCase):
    def test_from_being_ready_to_having_it_all(self):
        clock = Clock()
        distributed = Distributed(clock, 0)
        torch = types.SimpleNamespace(distributed=distributed, zeros=lambda *_, **__: None)
        job = types.SimpleNamespace(torch=torch, place=types.SimpleNamespace(rank=3),
                                    device=types.SimpleNamespace(wait=lambda torch: None))
        tensor = types.SimpleNamespace(fill_=lambda value: None, device="cpu")
        with mock.patch.object(torch_send_recv, "time", clock), \
                mock.patch.object(torch_send_recv, "first_wrong", lambda *_: None):
            self.assertEqual(torch_send_recv.receive(job, tensor, 10), 2)
        self.assertEqual(distributed.calls, ["send 0", "recv 0"])


def fake_torch(gpus, has_nccl=True):
    cuda = types.SimpleNamespace(
        is_available=lambda: gpus > 0, device_count=lambda: gpus, set_device=lambda device: None, get_arch_list=list,
        get_device_name=lambda device: "H100", get_device_properties=lambda index: types.SimpleNamespace(name="H100", major=9, minor=0))
    return types.SimpleNamespace(
        cuda=cuda, device=lambda kind, index=0: types.SimpleNamespace(type=kind, index=index),
        distributed=types.SimpleNamespace(is_nccl_available=lambda: has_nccl))


class Backend(unittest.TestCase):
    def device(self, gpus, has_nccl=True, asked="auto"):
        place = types.SimpleNamespace(local_rank=1, local_size=2)
        with mock.patch.dict(os.environ, {"MUSTER_BACKEND": asked}):
            return muster_torch.Device(fake_torch(gpus, has_nccl), place)

    def test_nccl_is_memory_of_the_gpu_and_gloo_of_the_host(self):
        own = self.device(2)
        self.assertEqual((own.backend, own.device.type, own.device.index), ("nccl", "cuda", 1))
        for other in (self.device(0), self.device(3, has_nccl=False), self.device(2, asked="gloo"), self.device(1)):
            self.assertEqual((other.backend, other.device.type), ("gloo", "cpu"))
            self.assertTrue(other.why)


class Devices(unittest.TestCase):
    def test_those_that_torch_shows(self):
        for gpus in (0, 3):
            facts = torch_environment.Facts()
            torch_environment.ask_torch(fake_torch(gpus, has_nccl=False), facts)
            self.assertEqual(facts.devices, [("H100", "sm_90")] * gpus)


class Startup(unittest.TestCase):
    def test_of_a_task_it_counts_from_the_start_of_its_process(self):
        """exec keeps the process: what a wrapper does before is part of it."""
        code = f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {FOLDER!r}); import torch_launch; print(torch_launch.age())"
        environment = {name: value for name, value in os.environ.items() if name != torch_launch.STARTED}
        done = subprocess.run(["sh", "-c", 'sleep 1; exec "$0" -c "$1"', sys.executable, code], env=environment,
                              capture_output=True, text=True, check=True, timeout=60)
        self.assertGreaterEqual(float(done.stdout), 1)

    def test_of_a_worker_it_counts_from_the_start_of_torchrun(self):
        with mock.patch.dict(os.environ, {torch_launch.STARTED: str(torch_launch.uptime() - 1000)}):
            self.assertAlmostEqual(torch_launch.age(), 1000, delta=60)


if __name__ == "__main__":
    unittest.main()
