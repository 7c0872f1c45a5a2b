"""Described machines of current GPUs: healthy ones pass, and every fault of theirs is red, with the right culprit."""
import json
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import on_gpus  # noqa: E402
from on_machine import MUSTER, NODE, OnMachine  # noqa: E402

CHECKS = """
[check.device_visibility]
probe   = "device_visibility"
summary = "Devices are there."
ranks   = "one-per-node"
[check.network_interfaces]
probe   = "network_interfaces"
summary = "NICs are up."
ranks   = "one-per-node"
params  = { interval = "10ms" }
"""
GPU5 = "0000:c3:00.0"  # of the machines with Xeons
MI5 = "0000:a6:00.0"
TRAY = [f"GPU {address}" for address in ("0008:01:00.0", "0009:01:00.0", "0018:01:00.0", "0019:01:00.0")]
HGX = [f"GPU 0000:{bus}:00.0" for bus in ("1b", "43", "52", "61", "9d", "c3", "d1", "df")]


def of_nvidia(gpu, more=None):
    """Faults that all machines of NVIDIA have: who is to blame, by a part of the culprit's name, and a part of the reason."""
    return {"gpu_missing": ([NODE], ""), "gpu_lost": ([gpu], "fallen off the bus"), "ecc_uncorrected": ([gpu], "2 uncorrected memory errors"),
            "row_remap": ([gpu], "waits to be remapped"), "hot": ([gpu], "because of heat at 91 C"), **(more or {})}


def of_fabric(gpu, every):
    return {"nvlink_down": ([gpu], "2 of 18 NVLinks down (3, 7)"), "no_fabric": (every, "not joined the NVLink fabric"),
            "fabric_degraded": ([gpu], "degraded bandwidth"), "fabric_route": ([gpu], "a route of the NVLink fabric is unhealthy"),
            "nic_down": (["mlx5_1"], "port mlx5_1/1")}


def of_amd(more=None):
    return {"gpu_missing": ([NODE], ""), "gpu_lost": ([MI5], "fallen off the bus"), "ecc_uncorrected": ([MI5], "2 uncorrected errors"),
            "id_differs": ([MI5], "0xabc by ROCm SMI"), "gpu_closed": ([MI5], "renderD"), "nic_down": (["mlx5_1"], "port mlx5_1/1"),
            **(more or {})}


WHOLE = {"gpu_whole": ([MI5], "SPX")}
MACHINES = {
    "gb200-nvl72": (4, "4x NVIDIA GB200", of_nvidia(TRAY[2], {**of_fabric(TRAY[2], TRAY), "fabric_domain": ([TRAY[2]], "NVLink domain")})),
    "dgx-b200": (8, "8x NVIDIA B200", of_nvidia(GPU5, of_fabric(GPU5, HGX))),
    "hgx-h200-mig": (8, "16x 1g.18gb, 8x 2g.35gb and 8x 3g.71gb",
                     of_nvidia(GPU5, {"mig_off": ([GPU5], "MIG is off, unlike"), "mig_without_instances": ([GPU5], "has no instance"),
                                      "mig_pending": ([GPU5], "will be off after a reset"), "nic_down": (["mlx5_1"], "port mlx5_1/1")})),
    "a10g-vm": (8, "8x NVIDIA A10G", of_nvidia("0000:1b:00.0", {"gpu_narrow": (["0000:1b:00.0"], "x4")})),
    "mi300x": (8, "8x AMD Instinct MI300X", of_amd()),
    "mi300x-cpx": (8, "8x AMD Instinct MI300X", of_amd(WHOLE)),
    "mi308x-cpx": (8, "8x AMD Instinct MI308X", of_amd(WHOLE)),
    "mi355x": (8, "8x AMD Instinct MI355X", of_amd()),
}
RED = ("fail", "unmeasured")


class OnOneMachine(OnMachine):
    def judge(self, name, *faults, file=None):
        """The findings of both checks on that machine with those faults; the exit status is kept."""
        folder = f"{name}-{'-'.join(faults) or 'well'}"
        subprocess.run([MUSTER, "machine", file or name, "--write", folder, *[word for fault in faults for word in ("--fault", fault)]],
                       cwd=self.folder, check=True, capture_output=True, timeout=100)
        with open(os.path.join(self.folder, "checks.toml"), "w") as out:
            out.write(CHECKS)
        gpus = MACHINES[name][0]
        env = {**os.environ, "MUSTER_MACHINE": folder, "MUSTER_DRIVERS": on_gpus.DRIVERS, "NO_COLOR": "1", "MUSTER_STARTUP_TIMEOUT": "120s"}
        done = subprocess.run([MUSTER, "run", "--simulated", "checks.toml", "-S", f"device_visibility.expected={gpus}", "--report", "json=r.json"],
                              cwd=self.folder, capture_output=True, text=True, timeout=300, env=env)
        self.output = done.stdout + done.stderr
        with open(os.path.join(self.folder, "r.json")) as file:
            report = json.load(file)
        self.cases = {case["check"]: case for case in report["cases"]}
        self.status = done.returncode
        return [finding for case in report["cases"] for finding in case["findings"] if finding["verdict"] in RED]


def well(name):
    def test(self):
        self.judge(name)
        self.assertEqual(self.status, 0, self.output)
        self.assertEqual({check: case["verdict"] for check, case in self.cases.items()},
                         {"device_visibility": "pass", "network_interfaces": "pass"}, self.output)
        self.assertIn(MACHINES[name][1], " | ".join(self.cases["device_visibility"]["evidence"]))
    return test


def ill(name):
    def test(self):
        described = subprocess.run([MUSTER, "machine", name], capture_output=True, text=True, timeout=60).stdout
        for fault, (culprits, reason) in MACHINES[name][2].items():
            with self.subTest(fault):
                self.assertIn(fault, described)
                findings = self.judge(name, fault)
                self.assertEqual(self.status, 1, self.output)
                self.assertIn(reason, " | ".join(finding["reason"] for finding in findings), self.output)
                blamed = {culprit["name"] for finding in findings for culprit in finding["culprits"]}
                for culprit in culprits:
                    self.assertTrue(any(culprit in one for one in blamed), (culprit, blamed, self.output))
                for one in blamed:
                    self.assertTrue(any(culprit in one for culprit in culprits), (one, culprits, self.output))
    return test


class GpuMachines(OnOneMachine):
    pass


for machine in MACHINES:
    setattr(GpuMachines, f"test_{machine.replace('-', '_')}_is_well", well(machine))
    setattr(GpuMachines, f"test_{machine.replace('-', '_')}_with_each_fault", ill(machine))


class Partitions(OnOneMachine):
    def test_ranks_that_are_bound_by_the_machines_numbers_are_near_their_gpus(self):
        for name in ("mi300x-cpx", "mi308x-cpx"):
            with self.subTest(name):
                subprocess.run([MUSTER, "machine", name, "--write", name], cwd=self.folder, check=True, capture_output=True, timeout=100)
                env = {**os.environ, "MUSTER_MACHINE": name, "MUSTER_DRIVERS": on_gpus.DRIVERS, "NO_COLOR": "1",
                       "MUSTER_STARTUP_TIMEOUT": "120s", "OMPI_MCA_mpi_yield_when_idle": "1"}
                done = subprocess.run([MUSTER, "run", "--simulated", "-n", "^(cpu_affinity|gpu_mapping)$", "--report", "json=r.json"],
                                      cwd=self.folder, capture_output=True, text=True, timeout=300, env=env)
                with open(os.path.join(self.folder, "r.json")) as file:
                    cases = {case["check"]: case["verdict"] for case in json.load(file)["cases"]}
                self.assertEqual(cases, {"cpu_affinity": "pass", "gpu_mapping": "pass"}, done.stdout + done.stderr)

    def partitioned(self, bits="high"):
        """Two MI300X, each of which is four devices."""
        with open(os.path.join(os.environ["MUSTER_SOURCE"], "simulation", "machines", "mi300x-cpx.toml")) as file:
            text = file.read()
        head, _, rest = text.partition("devices        = [\n")
        devices, _, _ = rest.partition("]\n")
        text = head.replace("partitions        = 8", "partitions        = 4").replace('partition_bits    = "high"', f'partition_bits    = "{bits}"')
        text += "devices        = [\n" + "".join(line + "\n" for line in devices.splitlines() if "05:00.0" in line or "85:00.0" in line)
        text += ']\nlinks = [[0, 1, 1]]\n[ranks]\nlauncher = "srun"\nmasks = ["0xff", "0xff00"]\n'
        with open(os.path.join(self.folder, "two.toml"), "w") as out:
            out.write(text)
        subprocess.run([MUSTER, "machine", "./two.toml", "--write", "two"], cwd=self.folder, check=True, capture_output=True, timeout=100)

    def on_partitions(self, ranks, *arguments, **variables):
        checks = "".join(f'[check.{probe}]\nprobe = "{probe}"\nsummary = "GPUs."\nranks = "{ranks}"\n' for probe in ("gpu_copy", "gpu_memory"))
        with open(os.path.join(self.folder, "checks.toml"), "w") as out:
            out.write(checks)
        env = {**os.environ, "MUSTER_MACHINE": "two", "MUSTER_DRIVERS": on_gpus.DRIVERS, "NO_COLOR": "1", "MUSTER_STARTUP_TIMEOUT": "120s",
               "OMPI_MCA_mpi_yield_when_idle": "1", **variables}
        done = subprocess.run([MUSTER, "run", "--simulated", "checks.toml", "--report", "json=r.json", *arguments], cwd=self.folder,
                              capture_output=True, text=True, timeout=300, env=env)
        self.output = done.stdout + done.stderr
        with open(os.path.join(self.folder, "r.json")) as file:
            self.cases = {case["check"]: case for case in json.load(file)["cases"]}
        return done.returncode

    def test_each_partition_is_tested(self):
        every = {f"0000:{bus}:00.0/{part}" for bus in ("05", "85") for part in range(4)}
        for bits in ("high", "low"):
            with self.subTest(bits):
                self.partitioned(bits)
                self.assertEqual(self.on_partitions("one-per-node"), 0, self.output)
                rows = {row["where"]["device"] for row in self.cases["gpu_memory"]["metrics"] if row["metric"] == "pattern_rate"}
                self.assertEqual(rows, every, self.output)
                evidence = " | ".join(self.cases["gpu_copy"]["evidence"])
                self.assertIn("on 8 GPUs: all compared data was right", evidence)
                self.assertIn("24 same_gpu", evidence)

    def test_partitions_that_no_rank_sees_are_named(self):
        self.partitioned()
        self.assertEqual(self.on_partitions("one-per-node", ROCR_VISIBLE_DEVICES="0,1,2,3,4,5,7"), 0, self.output)
        self.assertIn("GPU 0000:85:00.0/2", " | ".join(self.cases["gpu_memory"]["evidence"] + self.cases["gpu_memory"].get("notes", [])), self.output)


class Libraries(OnOneMachine):
    def test_parts_that_a_library_has_as_functions_of_a_device(self):
        with open(os.path.join(os.environ["MUSTER_SOURCE"], "simulation/machines", "mi308x-cpx.toml")) as file:
            text = file.read().replace("[gpus]", '[gpus]\ndriver = ["set 5 address 0000:a6:00.3"]')
        with open(os.path.join(self.folder, "mi308x-cpx.toml"), "w") as file:
            file.write(text)
        self.judge("mi308x-cpx", file="./mi308x-cpx.toml")
        self.assertEqual(self.status, 0, self.output)


class AllFaults(unittest.TestCase):
    def test_are_in_the_table(self):
        for name, (_, _, faults) in MACHINES.items():
            with open(os.path.join(os.environ["MUSTER_SOURCE"], "simulation/machines", name + ".toml")) as file:
                described = {line[len("[fault."):-2] for line in file if line.startswith("[fault.")}
            self.assertEqual(described, set(faults), name)


if __name__ == "__main__":
    on_gpus.main()
