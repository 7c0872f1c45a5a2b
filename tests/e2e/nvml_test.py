"""Ranks on described machines whose libnvidia-ml.so.1 is a stand-in: what it tells is judged, and how it fails."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from on_machine import MUSTER, NODE, OnMachine, main  # noqa: E402

DRIVERS = os.path.join(os.environ.get("MUSTER_STAND_INS", os.environ["MUSTER_BUILD"]), "drivers")
OLD_DRIVERS = DRIVERS + "-2018"
MACHINES = pathlib.Path(os.environ["MUSTER_SOURCE"]) / "simulation/machines"
CHECK = """
[check.device_visibility]
probe   = "device_visibility"
summary = "Devices are there, and well."
ranks   = "one-per-node"
"""


class Nvml(OnMachine):
    def judge(self, machine, *driver, fault=None, drivers=DRIVERS, timeout="60s"):
        """Exit status of a run on that machine, with further lines for the stand-in."""
        text = (MACHINES / (machine + ".toml")).read_text()
        if driver:
            lines = ", ".join(f'"{line}"' for line in driver)
            text += f'\n[fault.made]\nsummary = "made"\ndriver = [{lines}]\n'
            fault = "made"
        file = pathlib.Path(self.folder) / f"{machine}.toml"
        file.write_text(text)
        self.write(str(file), *(["--fault", fault] if fault else []))
        (pathlib.Path(self.folder) / "checks.toml").write_text(CHECK)
        env = {**os.environ, "MUSTER_MACHINE": "machine", "OMPI_MCA_mpi_yield_when_idle": "1", "NO_COLOR": "1",
               "MUSTER_STARTUP_TIMEOUT": "120s", "MUSTER_DRIVERS": drivers}
        if not drivers:
            del env["MUSTER_DRIVERS"]
        command = [MUSTER, "run", "--simulated", "checks.toml", "--timeout", timeout, "--report", "json=r.json"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=300, env=env)
        self.output = done.stdout + done.stderr
        self.report = json.loads((pathlib.Path(self.folder) / "r.json").read_text())
        self.case = self.report["cases"][0]
        self.cases = {"device_visibility": self.case}
        return done.returncode

    def uuid_of(self, address):
        text = (pathlib.Path(self.folder) / "machine/root/proc/driver/nvidia/gpus" / address / "information").read_text()
        return re.search(r"GPU UUID:\s*(\S+)", text)[1]

    def fails(self, machine, driver, reason, remedy, address="0000:c3:00.0", **more):
        """GPU 5 of a DGX, unless said otherwise, is blamed by address and UUID."""
        self.assertEqual(self.judge(machine, *driver, **more), 1, self.output)
        self.assertEqual(self.case["verdict"], "fail", self.output)
        self.assertIn(reason, self.case["reason"])
        self.assertIn(remedy, self.case["remedy"])
        self.assertEqual({culprit["node"] for culprit in self.case["culprits"]}, {NODE})
        if address:
            self.assertEqual(self.culprits("device_visibility"), [f"GPU {address} ({self.uuid_of(address)})"])

    # Healthy.

    def test_healthy(self):
        for machine, told in (("dgx-h100", "8 GPUs: memory, clocks and modes are healthy, 144 NVLinks are up"),
                              ("perlmutter", "4 GPUs: memory, clocks and modes are healthy, 48 NVLinks are up"),
                              ("vista", "1 GPU: memory, clocks and modes are healthy"),
                              ("zurada-gpu2h100", "2 GPUs: memory, clocks and modes are healthy, 24 NVLinks are up"),
                              ("zurada-gpu1h100", "1 GPU: memory, clocks and modes are healthy")):
            with self.subTest(machine):
                self.assertEqual(self.judge(machine), 0, self.output)
                self.assertEqual(self.case["verdict"], "pass")
                self.assertIn("NVML reports " + told, self.case["evidence"])

    def test_healthy_with_mig(self):
        self.assertEqual(self.judge("dgx-h100", fault="mig"), 0, self.output)
        self.assertIn("NVML reports 8 GPUs: memory, clocks and modes are healthy, with 32 MIG instances (16x 1g.10gb, 8x 2g.20gb and 8x 3g.40gb)", self.case["evidence"])

    # Each fault that this library can show.

    def test_ills_of_a_gpu(self):
        for fault, reason, remedy in (
                ("ecc_uncorrected", "2 uncorrected memory errors", "reset the GPU"),
                ("row_remap", "waits to be remapped", "nvidia-smi --gpu-reset -i 0000:c3:00.0"),
                ("nvlink_down", "2 of 18 NVLinks down (3, 7)", "Xid 74"),
                ("power_brake", "power brake", "power supplies"),
                ("hot", "because of heat at 91 C", "cooling"),
                ("mig_without_instances", "MIG is on, unlike on 7 of 8 GPUs", "nvidia-smi -mig 0"),
                ("leftover", "4242 (61440 MiB)", "epilog")):
            with self.subTest(fault):
                self.fails("dgx-h100", (), reason, remedy, fault=fault)

    def test_gpus_that_the_sources_do_not_agree_on(self):
        self.fails("dgx-h100", ["set 5 uuid GPU-other"], "NVML GPU-other", "reboot")
        self.fails("dgx-h100", ["set all count 5"], "not to NVML, which reports 5 GPUs", "nvidia-smi -L", address=None)
        self.assertEqual([name.split()[1] for name in self.culprits("device_visibility")],
                         ["0000:c3:00.0", "0000:d1:00.0", "0000:df:00.0"])

    def test_a_gpu_that_is_lost(self):
        self.fails("dgx-h100", ["fail nvmlDeviceGetHandleByIndex_v2 15 5"], "returned 15: GPU is lost", "Xid 79")
        self.fails("dgx-h100", (), "fallen off the bus", "Xid 79", fault="gpu_lost", address=None)
        self.assertIn("GPU 0000:c3:00.0", " ".join(self.culprits("device_visibility")))

    def test_a_gpu_that_is_lost_while_it_is_asked(self):
        self.fails("dgx-h100", ["fail nvmlDeviceGetTotalEccErrors 15 5", "fail nvmlDeviceGetTemperature 15 5"],
                   "nvmlDeviceGetTotalEccErrors returned 15: GPU is lost", "Xid 79")

    def test_a_narrow_link_is_told_once(self):
        self.fails("dgx-h100", (), "PCIe x8 where the card can do x16", "riser", fault="gpu_narrow")
        self.assertEqual(len(self.case["findings"]), 1, self.output)

    def test_no_fabric_manager(self):
        self.fails("dgx-h100", (), "not joined the NVLink fabric (state in_progress)", "nvidia-fabricmanager",
                   fault="no_fabric", address=None)
        self.assertEqual(len(self.case["culprits"]), 8)

    # The library itself.

    def test_init_that_fails_with_each_documented_code(self):
        for code, words, remedy in ((4, "Insufficient Permissions", "NVreg_DeviceFileMode"), (9, "Driver Not Loaded", "modprobe"),
                                    (10, "Timeout", "NVRM"), (12, "NVML Shared Library Not Found", "strace"),
                                    (15, "GPU is lost", "Xid 79"), (17, "The operating system", "withholds"),
                                    (18, "Driver/library version mismatch", "reload the kernel module"),
                                    (999, "Unknown Error", "NVRM and Xid")):
            with self.subTest(code):
                self.fails("vista", [f"fail nvmlInit_v2 {code}"], f"nvmlInit_v2 returned {code}: {words}", remedy,
                           address=None)
                self.assertIn(NODE, self.culprits("device_visibility"))

    def test_absent(self):
        nothing = os.path.join(self.folder, "nothing")
        os.mkdir(nothing)
        self.fails("vista", (), "has the kernel driver of NVIDIA, but no libnvidia-ml.so.1", "install the driver's libraries",
                   address=None, drivers=nothing)
        self.assertEqual(self.judge("lumi-g", drivers=nothing), 0, self.output)
        self.assertNotIn("nvidia", self.output)
        self.assertEqual(self.judge("vista", drivers=""), 0, "without stand-ins nobody is asked")

    def test_a_file_that_is_no_library(self):
        with open(os.path.join(self.folder, "libnvidia-ml.so.1"), "w") as file:
            file.write("no library, but long enough for a header that the loader reads before it says so, " * 3)
        self.fails("vista", (), "invalid ELF header", "install", address=None, drivers=self.folder)

    def test_an_older_driver_is_said_and_what_it_tells_is_judged(self):
        self.assertEqual(self.judge("perlmutter", drivers=OLD_DRIVERS), 0, self.output)
        self.assertIn("nvmlDeviceGetRemappedRows", " ".join(self.case.get("notes", [])), self.case)
        self.fails("perlmutter", ["set 1 ecc_uncorrected 3"], "3 uncorrected memory errors", "reset the GPU",
                   address="0000:41:00.0", drivers=OLD_DRIVERS)

    def test_a_call_that_never_returns_is_named_within_the_deadline(self):
        for machine, driver, fault, name in (("vista", ["hang nvmlInit_v2"], None, "nvmlInit_v2"), ("dgx-h100", (), "driver_hangs", "nvmlInit_v2"),
                                             ("dgx-h100", ["hang nvmlDeviceGetTotalEccErrors after 9"], None, "nvmlDeviceGetTotalEccErrors")):
            with self.subTest(f"{machine} {name}"):
                before = time.monotonic()
                self.assertEqual(self.judge(machine, *driver, fault=fault, timeout="3s"), 1, self.output)
                self.assertLess(time.monotonic() - before, 30)
                self.assertNotEqual(self.case["verdict"], "pass")
                self.assertIn(name, self.case["reason"], self.output)

    def test_a_library_that_crashes_is_no_pass(self):
        self.assertNotEqual(self.judge("vista", "crash nvmlInit_v2"), 0, self.output)
        self.assertNotEqual(self.case["verdict"], "pass")
        self.assertIn("nvmlInit_v2", self.case["reason"], self.output)


if __name__ == "__main__":
    main()
