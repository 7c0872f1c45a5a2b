"""Ranks that pretend to be on each described system: healthy, all is well; with a fault, the right thing is blamed."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

MUSTER = os.path.join(os.environ["MUSTER_BUILD"], "bin", "muster")
CHECKS = """
[check.device_visibility]
probe   = "device_visibility"
summary = "Devices are there."
ranks   = "one-per-gpu"
[check.cpu_affinity]
probe   = "cpu_affinity"
summary = "Ranks are near their GPUs."
ranks   = "one-per-gpu"
params  = { smt = "apart", numa = "one" }
[check.gpu_mapping]
probe   = "gpu_mapping"
summary = "Every rank has a GPU of its own, near it."
ranks   = "one-per-gpu"
params  = { near = "required" }
[check.environment]
probe   = "environment"
summary = "Variables and limits agree."
ranks   = "one-per-gpu"
params  = { torch = "if set" }
[check.hello]
probe   = "hello"
summary = "A timing that must not be judged."
ranks   = "one-per-gpu"
[[check.hello.expect]]
metric    = "barrier"
reference = { value = 1e-6, upper = 0.1, unit = "us" }
"""
PROFILE = """[system]
name = "site"
[[partition]]
name     = "gpu"
launcher = "mpirun"
[partition.node]
reserved_cores = {reserved}
gpus = {{ count = {gpus}, vendor = "{vendor}", name = "{name}" }}
"""
TRENTO = [0, 8, 16, 24, 32, 40, 48, 56]
SYSTEMS = {
    "lumi-g": (8, "amd", "^AMD Instinct MI250X", TRENTO),
    "frontier": (8, "amd", "^AMD Instinct MI250X", TRENTO),
    "perlmutter": (4, "nvidia", "^(NVIDIA )?A100-SXM4-(40|80)GB$", []),
    "vista": (1, "nvidia", "^NVIDIA GH200( 120GB)?$", []),
    "zurada-gpu1h100": (1, "nvidia", "^NVIDIA H100 NVL$", []),
    "zurada-gpu2h100": (2, "nvidia", "^NVIDIA H100 NVL$", []),
}
ALL = ["cpu_affinity", "device_visibility", "environment", "gpu_mapping"]
NODE = os.uname().nodename


class Machines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="muster-machines-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, machine, *options):
        done = subprocess.run([MUSTER, "machine", machine, "--write", "machine", *options], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def run_checks(self, system, variables=None, options=()):
        gpus, vendor, name, reserved = SYSTEMS[system]
        for file, text in (("checks.toml", CHECKS), ("site.toml", PROFILE.format(gpus=gpus, vendor=vendor, name=name, reserved=reserved))):
            with open(os.path.join(self.folder, file), "w") as out:
                out.write(text)
        env = {**os.environ, "MUSTER_MACHINE": "machine", "OMPI_MCA_mpi_yield_when_idle": "1", "NO_COLOR": "1",
               "MUSTER_STARTUP_TIMEOUT": "120s", **(variables or {})}
        command = [MUSTER, "run", "checks.toml", "site.toml", "--system", "site", "--timeout", "120s"]
        command += ["--report", "json=r.json", "--report", "junit=r.xml", *options]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=500, env=env)
        self.output = done.stdout + done.stderr
        self.said = " ".join(self.output.split())  # without the line breaks of a console
        self.assertTrue(os.path.exists(os.path.join(self.folder, "r.json")), self.output)
        with open(os.path.join(self.folder, "r.json")) as file:
            self.report = json.load(file)
        self.cases = {case["check"]: case for case in self.report["cases"]}
        return done.returncode

    def healthy(self, system):
        self.write(system)
        status = self.run_checks(system, options=["-x", "hello"])
        self.assertEqual((status, {name: self.cases[name]["verdict"] for name in ALL}),
                         (0, {name: "pass" for name in ALL}), self.output)

    def ill(self, system, fault, variables=None):
        """Verdicts that are no pass."""
        self.write(system, "--fault", fault)
        self.assertEqual(self.run_checks(system, variables, ["-x", "hello"]), 1, self.output)
        return sorted(name for name in ALL if self.cases[name]["verdict"] != "pass")

    def reasons(self, check):
        case = self.cases[check]
        return " | ".join(f["reason"] for f in case.get("findings", []) if f["verdict"] == case["verdict"])

    def culprits(self, check):
        return [culprit["name"] for culprit in self.cases[check]["culprits"]]

    # Healthy.

    def test_healthy_lumi(self):
        self.healthy("lumi-g")

    def test_healthy_frontier(self):
        self.healthy("frontier")
        devices = [fact for fact in self.cases["gpu_mapping"]["evidence"] if "NUMA domain" in fact]
        self.assertEqual(devices, ["8 of 8 ranks run in the NUMA domain of their GPU"])

    def test_healthy_perlmutter(self):
        self.healthy("perlmutter")

    def test_healthy_vista(self):
        self.healthy("vista")

    def test_healthy_zurada(self):
        self.healthy("zurada-gpu1h100")
        self.healthy("zurada-gpu2h100")

    # Faults.

    def test_gpu_missing(self):
        for system, bus in (("lumi-g", "d6"), ("perlmutter", "81")):
            with self.subTest(system):
                bad = self.ill(system, "gpu_missing")
                self.assertIn("device_visibility", bad)
                count = SYSTEMS[system][0]
                self.assertIn(f"{count - 1} of {count}", self.reasons("device_visibility"), self.output)
                self.assertNotIn("environment", bad)
                self.assertNotIn(f"0000:{bus}:00.0", json.dumps(self.report["cases"]), "nobody knows it any more")

    def test_masks_shifted(self):
        for system in ("lumi-g", "frontier", "perlmutter", "zurada-gpu2h100"):
            with self.subTest(system):
                self.assertEqual(self.ill(system, "masks_shifted"), ["cpu_affinity", "gpu_mapping"], self.output)
                self.assertIn("rank 1", self.culprits("cpu_affinity"), self.output)

    def test_the_right_masks_are_in_the_remedy(self):
        self.ill("lumi-g", "masks_shifted")
        self.assertIn("--cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,0xfe00,"
                      "0xfe00000000,0xfe0000000000", self.cases["cpu_affinity"]["remedy"])

    def test_masks_with_reserved_cores(self):
        self.assertIn("cpu_affinity", self.ill("lumi-g", "masks_moved"), self.output)
        self.assertIn("reserved", self.reasons("cpu_affinity"))

    def test_nic_down(self):
        for system, name in (("lumi-g", "hsn2"), ("frontier", "hsn2"), ("perlmutter", "hsn1"), ("vista", "mlx5_0"),
                             ("zurada-gpu1h100", "mlx5_0")):
            with self.subTest(system):
                bad = self.ill(system, "nic_down")
                self.assertIn("device_visibility", bad, self.output)
                self.assertIn(name, " ".join(self.culprits("device_visibility")), self.output)
                self.assertNotIn("cpu_affinity", bad)
                self.assertNotIn("gpu_mapping", bad)

    def test_all_ranks_on_one_gpu(self):
        self.assertIn("gpu_mapping", self.ill("lumi-g", "all_on_one"))
        self.assertIn("use the same GPU 0000:c1:00.0", self.reasons("gpu_mapping"))

    def test_too_few_open_files(self):
        self.assertEqual(self.ill("lumi-g", "few_files"), ["environment"], self.output)
        self.assertIn("512", self.reasons("environment"))

    # What is really set goes before the description, so that a setting can be tried.

    def test_a_variable_that_is_set_stays(self):
        self.write("lumi-g")
        self.assertEqual(self.run_checks("lumi-g", {"ROCR_VISIBLE_DEVICES": "3"}, ["-x", "hello"]), 1, self.output)
        self.assertIn("use the same GPU 0000:ce:00.0", self.reasons("gpu_mapping"))

    # Nobody takes it for real.

    def test_everything_says_simulated(self):
        self.write("vista", "--fault", "nic_slow")
        self.run_checks("vista")
        name = "vista with nic_slow"
        self.assertEqual(self.report["simulated"], name)
        facts = {fact["key"]: fact["value"] for fact in self.report["nodes"][0]["facts"]}
        self.assertEqual((facts["simulated"], facts["architecture"], facts["cores"]), (name, "aarch64", "72"))
        self.assertIn(f"SIMULATED machine {name}", self.output.splitlines()[0])
        self.assertIn("nothing real was tested", self.said)
        self.assertIn(f"timing not judged: simulated machine {name}", self.cases["hello"]["notes"])
        self.assertEqual(self.cases["hello"]["verdict"], "pass", "the bound that can't be met was not applied")
        suite = xml.parse(os.path.join(self.folder, "r.xml")).getroot().find("testsuite")
        self.assertEqual(suite.get("name"), "muster.simulated.site")
        self.assertTrue(all(case.get("classname").startswith("simulated.") for case in suite.iter("testcase")))

    def test_the_folder_of_a_node_goes_first(self):
        self.write("zurada-gpu1h100")
        self.write("zurada-gpu1h100", "--nodes", NODE, "--fault", f"gpu_lost@{NODE}")
        self.run_checks("zurada-gpu1h100", options=["-x", "hello"])
        self.assertEqual(self.report["simulated"], "zurada-gpu1h100 with gpu_lost")
        self.assertEqual(self.cases["device_visibility"]["verdict"], "fail")

    def test_what_is_no_machine_is_refused(self):
        os.mkdir(os.path.join(self.folder, "machine"))
        self.assertNotEqual(self.run_checks("vista", options=["-x", "hello"]), 0)
        self.assertEqual({case["verdict"] for case in self.report["cases"]} & {"pass"}, set(), self.output)
        self.assertIn("machine.json: is no machine; write one with muster machine NAME --write FOLDER", self.said)

    def test_more_ranks_than_masks_are_refused(self):
        self.write("vista")
        self.assertNotEqual(self.run_checks("vista", options=["-x", "hello", "--ranks-per-node", "2"]), 0)
        self.assertIn("has masks for 1 ranks of a node, and this is local rank 1", self.said)


class Command(unittest.TestCase):
    def machine(self, *words, status=0):
        done = subprocess.run([MUSTER, "machine", *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def test_lists(self):
        text = self.machine()
        for name in SYSTEMS:
            self.assertIn(name, text)

    def test_shows(self):
        text = self.machine("lumi-g", "--fault", "masks_moved")
        self.assertIn("rank 4        0x1fc", text)
        self.assertIn("synthetic", text)
        self.assertIn("0000:d6:00.0  domain 0, CPUs 8-15,72-79", text)

    def test_mistakes(self):
        self.assertIn('unknown machine; did you mean "lumi-g"?', self.machine("lumy-g", status=3))
        self.assertIn('has no fault "x"', self.machine("lumi-g", "--fault", "x", status=3))
        self.assertIn("--nodes requires --write", self.machine("lumi-g", "--nodes", "a", status=3))
        self.assertIn("is of a node that is not written",
                      self.machine("lumi-g", "--write", "/nonexistent/x", "--fault", "nic_down@b", status=3))
        self.assertIn("is neither empty nor a machine", self.machine("lumi-g", "--write", os.path.dirname(MUSTER), status=3))


if __name__ == "__main__":
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True) if shutil.which("mpirun") else None
    if version is None or "Open MPI" not in version.stdout:
        print("skipped: there is no mpirun of Open MPI")
        sys.exit(77)
    unittest.main(verbosity=2)
