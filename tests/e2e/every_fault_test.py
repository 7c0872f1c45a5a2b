"""Every fault of every described machine: the check that fails, whom it blames, and that it blames nothing else.

Of each machine one launch, in which every fault of a node has a node of its own beside two without a fault. What is about ranks that
share a node (masks, variables) is shown one at a time by the tests that the table names. Nothing here is taken from what muster prints."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import on_gpus  # noqa: E402
from on_machine import MUSTER, OnMachine  # noqa: E402
from support import SLOWNESS  # noqa: E402

SOURCE = pathlib.Path(os.environ["MUSTER_SOURCE"])
SEEN, NICS, VARIABLES = CHECKS = ("device_visibility", "network_interfaces", "environment")
WELL = 2  # nodes without a fault
# Of a fault: the check that fails, culprits (a part of each name; NODE: the node itself), a part of the reason. None: no fault.
NODE = "nid"


def of_nvidia(gpu, **more):
    return {"gpu_missing": (SEEN, [NODE], " granted by "), "gpu_lost": (SEEN, [gpu], "fallen off the bus"),
            "ecc_uncorrected": (SEEN, [gpu], "2 uncorrected memory errors"), "row_remap": (SEEN, [gpu], "waits to be remapped"),
            "hot": (SEEN, [gpu], "91 C"), **more}


def of_switches(gpu, every):
    """Of GPUs behind NVSwitches, with a port that is down."""
    return {"nvlink_down": (SEEN, [gpu], "2 of 18 NVLinks down (3, 7)"), "no_fabric": (SEEN, every, "not joined the NVLink fabric"),
            "fabric_degraded": (SEEN, [gpu], "degraded bandwidth"),
            "fabric_route": (SEEN, [gpu], "a route of the NVLink fabric is unhealthy"), "nic_down": (NICS, ["mlx5_1"], "port mlx5_1/1")}


def of_amd(gpu, **more):
    return {"gpu_missing": (SEEN, [NODE], " granted by "), "gpu_lost": (SEEN, [gpu], "fallen off the bus"),
            "ecc_uncorrected": (SEEN, [gpu], "2 uncorrected errors"), "id_differs": (SEEN, [gpu], "0xabc by ROCm SMI"),
            "gpu_closed": (SEEN, [gpu], "renderD"), "nic_down": (NICS, ["mlx5_1"], "port mlx5_1/1"), **more}


def of_site(gpu, nic, files, **more):
    return {"gpu_missing": (SEEN, [NODE], " granted by "), "gpu_lost": (SEEN, [gpu], "fallen off the bus"), "gpu_closed": (SEEN, [gpu], files),
            "nic_down": (NICS, [nic], "port "), "nic_slow": (NICS, [nic], "Gbit/s"), "nic_missing": (NICS, [NODE], "the set of NICs"),
            "old_driver": (SEEN, [NODE], "version of "), "few_files": (VARIABLES, ["nofile", "memlock"], "512"), **more}


def in_test(file, name):
    """The test of another file that shows it."""
    return f"{file}:{name}"


SHIFTED = in_test("machine_faults_test.py", "test_masks_shifted")
RED, NOTED = in_test("failures_test.py", "test_one_at_a_time"), in_test("failures_test.py", "test_what_is_only_noted")
CROWDED = in_test("failures_test.py", "test_more_ranks_than_gpus")
TOGETHER = in_test("every_fault_test.py", "test_ranks_that_share_a_node")
HANGS = in_test("nvml_test.py", "test_a_call_that_never_returns_is_named_within_the_deadline")
GONE = in_test("machine_faults_test.py", "test_no_plugin")
HGX = [f"GPU 0000:{bus}:00.0" for bus in ("1b", "43", "52", "61", "9d", "c3", "d1", "df")]
TRAY = [f"GPU {address}" for address in ("0008:01:00.0", "0009:01:00.0", "0018:01:00.0", "0019:01:00.0")]
GPU5, MI5, TRENTO5 = HGX[5], "GPU 0000:a6:00.0", "GPU 0000:d6:00.0"
WHOLE = {"gpu_whole": (SEEN, [MI5, NODE], "SPX")}  # the node has other modes than its like, too
EXPECTED = {
    "gb200-nvl72": of_nvidia(TRAY[2], **of_switches(TRAY[2], TRAY), fabric_domain=(SEEN, [TRAY[2]], "NVLink domain")),
    "dgx-b200": of_nvidia(GPU5, **of_switches(GPU5, HGX)),
    "hgx-h200-mig": of_nvidia(GPU5, mig_off=(SEEN, [GPU5], "MIG is off, unlike"), mig_without_instances=(SEEN, [GPU5], "has no instance"),
                              mig_pending=(SEEN, [GPU5], "will be off after a reset"), nic_down=(NICS, ["mlx5_1"], "port mlx5_1/1")),
    "a10g-vm": of_nvidia("GPU 0000:1b:00.0", gpu_narrow=(SEEN, ["GPU 0000:1b:00.0"], "x4")),
    "mi300x": of_amd(MI5),
    "mi300x-cpx": of_amd(MI5, **WHOLE),
    "mi308x-cpx": of_amd(MI5, **WHOLE),
    "mi355x": of_amd(MI5),
    "vista": of_site("GPU 0009:01:00.0", "mlx5_0", "/dev/nvidia0", crowded=CROWDED, gpu_missing=(SEEN, [NODE], "the set of GPUs")),
    "dgx-h100": of_nvidia(GPU5, gpu_narrow=(SEEN, [GPU5], "PCIe x8"), driver_mismatch=(SEEN, [NODE, "libnvidia-ml.so.1"], "nvmlInit_v2 returned 18"),
                          driver_hangs=HANGS, nvlink_down=(SEEN, [GPU5], "2 of 18 NVLinks down (3, 7)"),
                          power_brake=(SEEN, [GPU5], "power brake"), no_fabric=(SEEN, HGX, "not joined the NVLink fabric"),
                          mig_without_instances=(SEEN, [GPU5], "MIG is on"), mig=None, leftover=(SEEN, [GPU5], "4242 (61440 MiB)")),
    "lumi-g": of_site(TRENTO5, "hsn2", "renderD", masks_shifted=SHIFTED, no_plugin=GONE, nics_swapped=(NICS, ["hsn"], "the names of NICs on"),
                      network_forced=NOTED, gdr_level=NOTED, export_none=NOTED,
                      **dict.fromkeys(("masks_moved", "masks_linear", "all_on_one", "nested", "interface", "memhooks", "alt_read",
                                       "both_variables", "spanning", "local_rank", "host_list", "left_over"), RED)),
    "frontier": of_site(TRENTO5, "hsn2", "renderD", masks_shifted=SHIFTED, no_plugin=GONE, nics_swapped=(NICS, ["hsn"], "the names of NICs on"),
                        masks_moved=TOGETHER, gpu_order=TOGETHER, all_on_one=TOGETHER),
    "perlmutter": of_site("GPU 0000:81:00.0", "hsn1", "/dev/nvidia2", masks_shifted=SHIFTED, no_plugin=GONE, nics_swapped=(NICS, ["hsn"], "the names of NICs on"),
                          masks_linear=TOGETHER, all_on_one=TOGETHER),
    "zurada-gpu1h100": of_site("GPU 0000:21:00.0", "mlx5_0", "/dev/nvidia0"),
    "zurada-gpu2h100": of_site("GPU 0000:e1:00.0", "mlx5_0", "/dev/nvidia1", masks_shifted=SHIFTED, all_on_one=TOGETHER, crowded=CROWDED),
}


def nodes(count):
    return [f"{NODE}{number:03}" for number in range(1, count + 1)]


def shown_here(name):
    return {fault: what for fault, what in EXPECTED[name].items() if not isinstance(what, str)}


class Machine:
    """A launch on one machine, with these faults on one node each; what it found, by node."""

    def __init__(self, name, faults):
        hosts = nodes(len(faults) + WELL)
        self.faults_of = dict(zip(hosts, faults))
        with tempfile.TemporaryDirectory(prefix="muster-faults-") as folder:
            marks = [word for host, faults in self.faults_of.items() for fault in faults for word in ("--fault", f"{fault}@{host}")]
            subprocess.run([MUSTER, "machine", name, "--write", "machine", "--nodes", ",".join(hosts), *marks], cwd=folder, check=True,
                           capture_output=True, timeout=300 * SLOWNESS)
            env = {**os.environ, "MUSTER_MACHINE": "machine", "MUSTER_DRIVERS": on_gpus.DRIVERS, "NO_COLOR": "1",
                   "MUSTER_SELFTEST": "hosts " + ",".join(hosts), "OMPI_MCA_mpi_yield_when_idle": "1", "MUSTER_STARTUP_TIMEOUT": "120s"}
            line = f"mpirun --oversubscribe --bind-to none -n {len(hosts)}"
            done = subprocess.run([MUSTER, "run", "--simulated", "--launch", line, "-n", f"^({'|'.join(CHECKS)})$", "--report", "json=r.json"],
                                  cwd=folder, capture_output=True, text=True, timeout=300 * SLOWNESS, env=env)
            self.output = done.stdout + done.stderr
            self.status = done.returncode
            self.report = json.loads(pathlib.Path(folder, "r.json").read_text())
        self.found = {host: [] for host in hosts}
        for case in self.report["cases"]:
            for finding in case["findings"]:
                if finding["verdict"] == "pass":
                    continue
                if not finding["culprits"]:
                    self.found.setdefault("", []).append((case["check"], "", finding["reason"]))
                for culprit in finding["culprits"]:
                    # Ranks of one mpirun are on several of these nodes: its variables are at odds with that.
                    if not culprit["name"].startswith("OMPI_"):
                        self.found.setdefault(culprit.get("node", ""), []).append((case["check"], culprit["name"], finding["reason"]))


def fails_as_expected(name):
    def test(self):
        machine = self.machines[name].result()
        self.assertEqual(machine.status, 1, machine.output)
        for host, found in machine.found.items():
            faults = machine.faults_of.get(host, ())
            with self.subTest(faults or "without a fault"):
                check_found(self, found, [EXPECTED[name][fault] for fault in faults], machine.output)
    return test


def check_found(test, found, expected, output):
    """All that is expected, and nothing else."""
    expected = [one for one in expected if one is not None]
    test.assertEqual({one for one, _, _ in found}, {check for check, _, _ in expected}, output)
    for check, culprits, reason in expected:
        test.assertIn(reason, " | ".join(why for where, _, why in found if where == check))
        for culprit in culprits:
            test.assertTrue(any(culprit in who for where, who, _ in found if where == check), (culprit, found))
    for _, who, _ in found:
        test.assertTrue(any(culprit in who for _, culprits, _ in expected for culprit in culprits), (who, expected))


class EveryFault(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        pool = concurrent.futures.ThreadPoolExecutor(2)
        cls.addClassCleanup(pool.shutdown)
        cls.machines = {name: pool.submit(Machine, name, [(fault,) for fault in shown_here(name)]) for name in EXPECTED}


for machine in EXPECTED:
    setattr(EveryFault, f"test_{machine.replace('-', '_')}", fails_as_expected(machine))


SMALL = ("allreduce.sizes=8B,64KiB", "p2p.sizes=64KiB", "p2p.cap=10ms", "training.epochs=4", "training.reference_steps=40")
# Checks that are skipped on one node of a machine that does not have what they are about.
SKIPPED = {"clock_skew", "network_plugin"}
ALONE = {"vista"}  # its only rank has no partner


def default_checks_on(name):
    """Exit status, verdicts by check, output."""
    with tempfile.TemporaryDirectory(prefix="muster-well-") as folder:
        subprocess.run([MUSTER, "machine", name, "--write", "machine"], cwd=folder, check=True, capture_output=True, timeout=100)
        env = {**os.environ, "MUSTER_MACHINE": "machine", "MUSTER_DRIVERS": on_gpus.DRIVERS, "NO_COLOR": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1", "MUSTER_STARTUP_TIMEOUT": "120s"}
        done = subprocess.run([MUSTER, "run", "--simulated", "--report", "json=r.json", *[word for one in SMALL for word in ("-S", one)]],
                              cwd=folder, capture_output=True, text=True, timeout=400 * SLOWNESS, env=env)
        cases = json.loads(pathlib.Path(folder, "r.json").read_text())["cases"]
        return done.returncode, {case["check"]: case["verdict"] for case in cases}, done.stdout + done.stderr


class WithoutAFault(unittest.TestCase):
    def test_every_default_check_without_a_fault(self):
        default = {file.stem for file in (SOURCE / "checks").glob("*/*.toml") if re.search(r'^tags .*"default"', file.read_text(), re.M)}
        self.assertGreater(len(default), 10)
        names = ("gb200-nvl72", "dgx-b200", "hgx-h200-mig", "vista", "a10g-vm", "mi300x", "mi300x-cpx", "mi308x-cpx", "mi355x")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for name, (status, verdicts, output) in zip(names, pool.map(default_checks_on, names)):
                with self.subTest(name):
                    skipped = SKIPPED | ({"allreduce", "p2p"} if name in ALONE else set())
                    wanted = {check: "skip" if check in skipped else "pass" for check in default}
                    self.assertEqual((status, verdicts), (0, wanted), output)


# Machine, fault, check, a culprit, a part of the reason.
SHARED = [
    ("frontier", "masks_moved", "cpu_affinity", "rank 0", "reserved"),
    ("frontier", "gpu_order", "gpu_mapping", "rank 0", "6 of 8 ranks are not confined to the NUMA domain of their GPU"),
    ("frontier", "all_on_one", "gpu_mapping", "rank 0", "use the same GPU 0000:c1:00.0"),
    ("perlmutter", "masks_linear", "gpu_mapping", "rank 0", "4 of 4 ranks are not confined to the NUMA domain of their GPU"),
    ("perlmutter", "all_on_one", "gpu_mapping", "rank 0", "use the same GPU 0000:02:00.0"),
    ("zurada-gpu2h100", "all_on_one", "gpu_mapping", "rank 0", "use the same GPU 0000:21:00.0"),
]


class RanksOfOneNode(OnMachine):
    def test_ranks_that_share_a_node(self):
        for system, fault, check, culprit, reason in SHARED:
            with self.subTest(f"{system} {fault}"):
                self.assertIn(check, self.ill(system, fault), self.output)
                self.assertIn(culprit, self.culprits(check), self.output)
                self.assertIn(reason, self.reasons(check), self.output)


class Table(unittest.TestCase):
    def test_has_every_fault_of_every_machine(self):
        described = {file.stem: set(re.findall(r"^\[fault\.(\w+)\]", file.read_text(), re.M))
                     for file in (SOURCE / "simulation/machines").glob("*.toml")}
        self.assertEqual(described, {name: set(faults) for name, faults in EXPECTED.items()})

    def test_names_tests_that_try_the_fault_on_that_machine(self):
        for name, faults in EXPECTED.items():
            for fault, what in faults.items():
                if isinstance(what, str):
                    file, test = what.split(":")
                    text = (SOURCE / "tests/e2e" / file).read_text()
                    self.assertIn(f"def {test}(self)", text)
                    self.assertIn(f'"{name}"', text, (name, fault))
                    self.assertIn(f'"{fault}"', text, (name, fault))
                if what == TOGETHER:
                    self.assertIn((name, fault), {row[:2] for row in SHARED})


if __name__ == "__main__":
    on_gpus.main()
