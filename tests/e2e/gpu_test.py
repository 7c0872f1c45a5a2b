"""The checks of devices on a real GPU. Label gpu; skipped where there is none."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ["MUSTER_SOURCE"]
MUSTER = os.path.join(os.environ["MUSTER_BUILD"], "bin", "muster")


class RealGpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="muster-gpu-")
        cls.addClassCleanup(cls.folder.cleanup)
        env = {name: value for name, value in os.environ.items() if name not in ("MUSTER_MACHINE", "MUSTER_DRIVERS")}
        done = subprocess.run([MUSTER, "run", os.path.join(SOURCE, "checks", "devices"), "--report", "json=r.json"],
                              cwd=cls.folder.name, capture_output=True, text=True, timeout=500, env={**env, "NO_COLOR": "1"})
        cls.output = done.stdout + done.stderr
        with open(os.path.join(cls.folder.name, "r.json")) as file:
            cls.cases = {case["check"]: case for case in json.load(file)["cases"]}
        print(cls.output)

    def figures(self, check, metric):
        found = [m["median"] for m in self.cases[check]["metrics"] if m["metric"] == metric]
        self.assertTrue(found, self.output)
        return found

    def test_copies_are_verified_and_have_rates(self):
        self.assertEqual(self.cases["gpu_copy"]["verdict"], "pass", self.output)
        self.assertTrue(any("all data was right" in told for told in self.cases["gpu_copy"]["evidence"]), self.output)
        for metric in ("host_to_device", "device_to_host", "both_ways", "local_copy"):
            for value in self.figures("gpu_copy", metric):
                self.assertGreater(value, 0.5, metric)
        self.assertFalse(any("without a gate" in told for told in self.cases["gpu_copy"]["evidence"]), self.output)

    def test_memory_keeps_patterns(self):
        self.assertEqual(self.cases["gpu_memory"]["verdict"], "pass", self.output)
        self.assertTrue(any("kept every pattern" in told for told in self.cases["gpu_memory"]["evidence"]), self.output)
        for value in self.figures("gpu_memory", "pattern_rate"):
            self.assertGreater(value, 10)

    def test_products_are_exact_and_have_rates(self):
        self.assertEqual(self.cases["gpu_compute"]["verdict"], "pass", self.output)
        self.assertTrue(any("the same bits, and the known answer" in told for told in self.cases["gpu_compute"]["evidence"]),
                        self.output)
        rates = {(m["where"]["type"], m["where"]["by"]): m["median"] for m in self.cases["gpu_compute"]["metrics"]
                 if m["metric"] == "rate"}
        print("TFLOP/s:", rates)
        for (_, by), value in rates.items():
            self.assertGreater(value, 0.1, by)
        # Where the vendor's BLAS is, its numbers of 16 bits are faster than its doubles.
        if ("bfloat16", "blas") in rates:
            self.assertGreater(rates["bfloat16", "blas"], rates["float64", "blas"])
            for metric in ("power", "clock"):
                for value in self.figures("gpu_compute", metric):
                    self.assertGreater(value, 10, metric)


class RealTraining(unittest.TestCase):
    """One rank on the GPU, one on the host."""

    def train(self, on, blas='"auto"'):
        folder = tempfile.TemporaryDirectory(prefix="muster-gpu-")
        self.addCleanup(folder.cleanup)
        with open(os.path.join(folder.name, "training.toml"), "w") as out:
            out.write('[check.training]\nprobe = "training"\nsummary = "It learns."\nranks = { per_node = 1 }\n'
                      f'params = {{ on = "{on}", blas = {blas} }}\n')
        env = {name: value for name, value in os.environ.items() if name not in ("MUSTER_MACHINE", "MUSTER_DRIVERS")}
        done = subprocess.run([MUSTER, "run", "training.toml", "--report", "json=r.json"], cwd=folder.name,
                              capture_output=True, text=True, timeout=300, env={**env, "NO_COLOR": "1"})
        print(done.stdout)
        with open(os.path.join(folder.name, "r.json")) as file:
            case = json.load(file)["cases"][0]
        self.assertEqual(case["verdict"], "pass", done.stdout + done.stderr)
        return case, {int(m["where"]["step"]): m["median"] for m in case["metrics"] if m["metric"] == "loss"}

    def test_the_curve_is_the_hosts(self):
        case, on_gpu = self.train("device")
        self.assertRegex(case["evidence"][0], r"\(GPU \S+, ")
        self.assertTrue(any("one rank alone on the host" in told for told in case["evidence"]), case["evidence"])
        _, on_host = self.train("host")
        self.assertEqual(on_gpu.keys(), on_host.keys())
        for step in (step for step in on_host if step < 100):
            self.assertLessEqual(abs(on_gpu[step] - on_host[step]), 1e-3 * max(on_host[step], 0.1), f"step {step}")

    def test_own_kernels_learn_as_well(self):
        case, _ = self.train("device", '"plain"')
        self.assertIn("own kernels", case["evidence"][0])


if __name__ == "__main__":
    if not glob.glob("/dev/nvidia[0-9]*") and not os.path.exists("/dev/kfd"):
        print("skipped: this machine has no GPU (neither /dev/nvidia0 nor /dev/kfd)")
        sys.exit(77)
    unittest.main(verbosity=2)
