"""What torch_environment makes of machines that were made up."""
import os
import struct
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["MUSTER_SOURCE"], "checks", "pytorch"))

import torch_environment
from torch_environment import Facts, describe, judge, runs_on

H100 = [("NVIDIA H100 80GB HBM3", "sm_90")] * 4


def machine(**changed):
    """A node with four H100 and a build that fits it, but for what is changed."""
    known = dict(torch="2.7.1+cu126", machine="x86_64", library_machine="x86_64", cuda=(12, 6), driver_cuda=(12, 8),
                 driver="570.86.15", nvidia_gpus=4, is_available=True, devices=H100,
                 architectures=["sm_80", "sm_90", "compute_90"], backends=["gloo", "nccl"], nccl=(2, 26, 2))
    return Facts(**{**known, **changed})


class Environment(unittest.TestCase):
    def only(self, facts):
        found = judge(facts)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_a_build_that_fits(self):
        self.assertEqual(judge(machine()), [])
        self.assertEqual(describe(machine()),
                         "torch 2.7.1+cu126 (CUDA 12.6) on x86_64; 4 x NVIDIA H100 80GB HBM3; driver 570.86.15 for CUDA "
                         "12.8; nccl 2.26.2; backends gloo, nccl")

    def test_a_cpu_build_on_a_machine_without_gpus_is_right(self):
        facts = Facts(torch="1.13.0a0", machine="x86_64", library_machine="x86_64", backends=["gloo"])
        self.assertEqual(judge(facts), [])
        self.assertIn("(CPUs only)", describe(facts))
        # A CUDA build does on a login node, too.
        self.assertEqual(judge(Facts(cuda=(13, 2), machine="x86_64", backends=["gloo", "nccl"])), [])

    def test_an_old_driver(self):
        reason, remedy = self.only(machine(torch="2.8.0+cu129", cuda=(12, 9), driver_cuda=(12, 4), driver="550.54.15",
                                           is_available=False, devices=[], architectures=[]))
        self.assertEqual(reason, "this wheel is built for CUDA 12.9, the driver 550.54.15 supports CUDA 12.4 at most")
        self.assertIn("download.pytorch.org/whl/cu124", remedy)

    def test_an_older_driver_that_does_is_no_finding(self):
        self.assertEqual(judge(machine(cuda=(12, 9), driver_cuda=(12, 4))), [])

    def test_a_wheel_without_the_architecture(self):
        reason, remedy = self.only(machine(architectures=["sm_50", "sm_70", "sm_86"]))
        self.assertEqual(reason, "this build has no code for NVIDIA H100 80GB HBM3 (sm_90); it has sm_50, sm_70, sm_86")
        self.assertIn("a newer one", remedy)
        reason, remedy = self.only(machine(devices=[("Tesla P100", "sm_60")]))
        self.assertIn("an older release", remedy)

    def test_which_code_runs_where(self):
        for code, device, does in (("sm_90", "sm_90", True), ("sm_80", "sm_86", True), ("sm_86", "sm_80", False),
                                   ("sm_80", "sm_90", False), ("compute_80", "sm_90", True), ("compute_90", "sm_80", False),
                                   ("sm_90a", "sm_90", False), ("sm_100", "sm_103", True), ("sm_90", "sm_100", False),
                                   ("gfx90a", "gfx90a", True), ("gfx90a", "gfx942", False)):
            self.assertEqual(runs_on(code, device), does, (code, device))

    def test_the_wheel_of_another_machine(self):
        reason, remedy = self.only(machine(machine="aarch64", is_available=False))
        self.assertEqual(reason, "this torch is built for x86_64, the machine is aarch64")
        self.assertIn("aarch64 wheel", remedy)

    def test_the_machine_is_read_from_the_library(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"\x7fELF" + bytes(14) + struct.pack("<H", 183) + bytes(8))
            file.flush()
            self.assertEqual(torch_environment.machine_of(file.name), "aarch64")
        self.assertEqual(torch_environment.machine_of("/nonexistent"), "")
        self.assertEqual(torch_environment.machine_of(__file__), "")

    def test_rocm_on_nvidia_and_cuda_on_amd(self):
        reason, remedy = self.only(machine(hip=(6, 2), cuda=None, is_available=False, devices=[]))
        self.assertEqual(reason, "this torch is built for ROCm 6.2, the node has 4 NVIDIA GPUs")
        self.assertIn("whl/cu128", remedy)
        reason, remedy = self.only(machine(nvidia_gpus=0, amd_gpus=8, driver_cuda=None, is_available=False, devices=[]))
        self.assertEqual(reason, "this torch is built for CUDA 12.6, the node has 8 AMD GPUs")
        self.assertIn("rocm", remedy)

    def test_a_wheel_for_another_rocm(self):
        blind = dict(torch="2.4.1+rocm6.1", cuda=None, driver_cuda=None, hip=(6, 1), rocm=(7, 1), nvidia_gpus=0, amd_gpus=8,
                     is_available=False, devices=[], architectures=[])
        reason, remedy = self.only(machine(**blind, problem="No HIP GPUs are available"))
        self.assertEqual(reason, "this wheel is built for ROCm 6.1, and ROCm 7.1 is here: torch uses none of 8 AMD GPUs: "
                                 "No HIP GPUs are available")
        self.assertIn("whl/rocm7.1", remedy)
        seeing = machine(**{**blind, "is_available": True, "devices": [("AMD Instinct MI250X", "gfx90a")],
                            "architectures": ["gfx90a"], "nccl": (2, 20, 5)})
        self.assertEqual(judge(seeing), [], "wheels bring most of ROCm along")
        self.assertIn("ROCm 7.1 is here, another than it is built for", describe(seeing))
        reason, _ = self.only(machine(**{**blind, "rocm": (6, 1)}))
        self.assertNotIn("is here", reason)

    def test_a_cpu_build_on_a_gpu_node(self):
        reason, remedy = self.only(machine(torch="2.7.1+cpu", cuda=None, is_available=False, devices=[],
                                           architectures=[], nvidia_gpus=1, backends=["gloo"]))
        self.assertEqual(reason, "this torch (2.7.1+cpu) is built for CPUs only, the node has 1 NVIDIA GPU")
        self.assertIn("CUDA 12.8 at most", remedy)

    def test_no_nccl(self):
        reason, _ = self.only(machine(backends=["gloo", "mpi"]))
        self.assertEqual(reason, "this build has no nccl, and GPUs can't talk to each other without; it has gloo, mpi")

    def test_gpus_that_are_hidden_or_refused(self):
        reason, remedy = self.only(machine(is_available=False, devices=[], visible={"CUDA_VISIBLE_DEVICES": ""}))
        self.assertEqual(reason, "CUDA_VISIBLE_DEVICES hides all GPUs of the node from torch")
        self.assertIn("unset CUDA_VISIBLE_DEVICES", remedy)
        reason, _ = self.only(machine(is_available=False, devices=[], problem="No CUDA GPUs are available"))
        self.assertEqual(reason, "torch uses none of 4 NVIDIA GPUs: No CUDA GPUs are available")
        reason, remedy = self.only(Facts(hip=(6, 2), amd_gpus=8, machine="x86_64"))
        self.assertEqual(reason, "torch uses none of 8 AMD GPUs")
        self.assertIn("/dev/kfd", remedy)

    def test_gpus_are_counted_on_the_bus(self):
        with tempfile.TemporaryDirectory() as root:
            for name, kind, vendor in (("0000:01:00.0", "0x030200", "0x10de"), ("0000:02:00.0", "0x030000", "0x1a03"),
                                       ("0000:03:00.0", "0x120000", "0x1002"), ("0000:04:00.0", "0x020000", "0x10de")):
                folder = os.path.join(root, "sys/bus/pci/devices", name)
                os.makedirs(folder)
                for file, text in (("class", kind), ("vendor", vendor)):
                    with open(os.path.join(folder, file), "w") as out:
                        out.write(text + "\n")
            self.assertEqual(torch_environment.count_gpus(root, "0x10de"), 1)
            self.assertEqual(torch_environment.count_gpus(root, "0x1002"), 1)
            self.assertEqual(torch_environment.count_gpus(os.path.join(root, "nowhere"), "0x10de"), 0)


if __name__ == "__main__":
    unittest.main()
