"""The checks of devices on a real GPU. Label gpu; skipped where there is none."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ["MUSTER_SOURCE"]
MUSTER = os.path.join(os.environ["MUSTER_BUILD"], "bin", "muster")


def run(folder, *arguments, before=(), **variables):
    """(cases of the report by check, what was printed, exit status) of one `muster run`."""
    env = {name: value for name, value in os.environ.items() if name not in ("MUSTER_MACHINE", "MUSTER_DRIVERS")}
    done = subprocess.run([*before, MUSTER, "run", "--no-history", *arguments, "--report", "json=r.json"], cwd=folder, capture_output=True,
                          text=True, timeout=300, env={**env, "NO_COLOR": "1", **variables})
    print(done.stdout)
    with open(os.path.join(folder, "r.json")) as file:
        cases = {case["check"]: case for case in json.load(file)["cases"]}
    return cases, done.stdout + done.stderr, done.returncode


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
        self.assertTrue(any("all compared data was right" in told for told in self.cases["gpu_copy"]["evidence"]), self.output)
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


class InOtherWords(unittest.TestCase):
    """The same GPU as others see it, or don't."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="muster-gpu-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_it_is_the_gpu_of_nvidia_smi(self):
        if shutil.which("nvidia-smi") is None:
            self.skipTest("there is no nvidia-smi")
        query = "pci.bus_id,uuid,name,pcie.link.width.current"
        told = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], capture_output=True, text=True, check=True)
        cases, output, _ = run(self.folder, "-n", "^gpu_copy_short%", "-n", "^device_visibility%", "-n", "^gpu_mapping%")
        tested = " ".join(json.dumps(row.get("facts", {})) for row in cases["gpu_copy_short"]["rank_rows"])
        widths = {m["where"]["device"]: m["median"] for m in cases["device_visibility"]["metrics"] if m["metric"] == "pcie_width"}
        for line in told.stdout.splitlines():
            bus, uuid, name, width = (word.strip() for word in line.split(","))
            address = bus[4:].lower()
            self.assertIn(f"{address} {uuid} {name}", tested, output)
            self.assertEqual(widths.get(address, float(width)), float(width), output)

    def test_a_hidden_gpu_is_no_pass_on_host_memory(self):
        for hidden in ({"CUDA_VISIBLE_DEVICES": ""}, {"CUDA_VISIBLE_DEVICES": "-1"}, {"CUDA_VISIBLE_DEVICES": "77"}):
            cases, output, status = run(self.folder, "-n", "^training%", "-n", "^gpu_mapping%", "-n", "^gpu_copy%", **hidden)
            self.assertEqual(status, 1, output)
            for check, case in cases.items():
                self.assertIn(case["verdict"], ("fail", "error"), f"{check} with {hidden}\n{output}")
            self.assertIn("CUDA_VISIBLE_DEVICES", cases["gpu_mapping"]["reason"])

    def test_two_ranks_on_one_gpu_are_named(self):
        if len(glob.glob("/dev/nvidia[0-9]*")) != 1 or shutil.which("mpirun") is None:
            self.skipTest("needs one GPU of NVIDIA and mpirun")
        cases, output, status = run(self.folder, "--ranks-per-node", "2", "-n", "^training%", "-n", "^gpu_mapping%", "-n", "^allreduce%", "-n", "^p2p%")
        self.assertEqual(status, 1, output)
        self.assertIn("use the same GPU", cases["gpu_mapping"]["reason"])
        for check in ("training", "allreduce", "p2p"):
            self.assertEqual(cases[check]["verdict"], "error", f"{check}\n{output}")

    def test_a_device_file_that_cannot_be_opened(self):
        """As where a container lacks it: /dev/nvidia-uvm is another device in a mount namespace of the run."""
        if os.geteuid() != 0 or not os.path.exists("/dev/nvidia-uvm") or shutil.which("unshare") is None:
            self.skipTest("needs root, unshare and /dev/nvidia-uvm")
        for lost in ("/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl"):
            before = ("unshare", "--mount", "sh", "-c", f'mount --bind /dev/null {lost} && exec "$@"', "sh")
            cases, output, status = run(self.folder, "-n", "^training%", "-n", "^device_visibility%", "-n", "^gpu_copy_short%", before=before)
            self.assertEqual(status, 1, f"{lost}\n{output}")
            for check in ("training", "gpu_copy_short"):
                self.assertIn(cases[check]["verdict"], ("fail", "error"), f"{check} without {lost}\n{output}")
            told = [cases[check]["reason"] + cases[check].get("remedy", "") for check in ("training", "gpu_copy_short", "device_visibility")]
            self.assertTrue(any("/dev/nvidia" in text for text in told), f"{lost}: {told}")

    def test_launches_that_wait_for_their_kernel(self):
        cases, output, status = run(self.folder, "-n", "^gpu_copy_short%", "-n", "^gpu_compute%", CUDA_LAUNCH_BLOCKING="1")
        self.assertEqual(status, 0, output)
        for check, case in cases.items():
            self.assertLess(case["seconds"], 12, f"{check}\n{output}")
            self.assertTrue(any("timed without a gate" in told for told in case["evidence"]), case["evidence"])

    def test_settings_that_change_what_the_blas_multiplies_are_not_the_gpus_fault(self):
        cases, output, status = run(self.folder, "-n", "^gpu_compute%", NVIDIA_TF32_OVERRIDE="0")
        self.assertEqual(status, 0, output)
        self.assertTrue(any("tf32 not measured: NVIDIA_TF32_OVERRIDE=0" in told for told in cases["gpu_compute"]["evidence"]), output)
        cases, output, status = run(self.folder, "-n", "^gpu_compute%", CUDA_FORCE_PTX_JIT="1")
        for finding in cases["gpu_compute"]["findings"]:
            self.assertEqual([culprit["kind"] for culprit in finding["culprits"]], ["setting"], output)

    def test_a_list_that_hides_the_gpu_is_the_settings_fault(self):
        cases, output, status = run(self.folder, "-n", "^gpu_copy_short%", "-n", "^training%", CUDA_VISIBLE_DEVICES="0,0")
        self.assertEqual(status, 1, output)
        for check, case in cases.items():
            kinds = {culprit["kind"] for finding in case["findings"] for culprit in finding["culprits"]}
            self.assertEqual(kinds, {"setting"}, f"{check}\n{output}")

    def test_another_run_on_the_gpu_at_once(self):
        """Rates of neither are judged."""
        with tempfile.TemporaryDirectory(prefix="muster-gpu-") as other:
            arguments = [MUSTER, "run", "--no-history", "-n", "^gpu_compute%", "-S", "gpu_compute.types=bfloat16", "-S", "gpu_compute.cap=8s"]
            with subprocess.Popen(arguments, cwd=other, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as second:
                cases, output, _ = run(self.folder, "-n", "^gpu_compute%", "-S", "gpu_compute.types=bfloat16", "-S", "gpu_compute.cap=4s")
                beside = second.communicate()[0]
        self.assertEqual(cases["gpu_compute"]["verdict"], "unmeasured", output + beside)
        self.assertRegex(cases["gpu_compute"]["reason"], "used by others.*muster-rank", output)

    def test_a_process_of_others_on_the_gpu(self):
        """Rates are not judged beside it, and it is named."""
        busy = "import torch, time\na = torch.ones(8192, 8192, device='cuda')\nprint(1, flush=True)\nwhile True: a @ a"
        python = shutil.which("python3")
        with subprocess.Popen([python, "-c", busy], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as other:
            try:
                if other.stdout.readline() != "1\n":
                    self.skipTest(f"{python} has no torch with CUDA")
                cases, output, _ = run(self.folder, "-n", "^gpu_copy%", "-n", "^gpu_compute%")
            finally:
                other.kill()
        for check, case in cases.items():
            self.assertNotIn(case["verdict"], ("fail", "error"), f"{check}\n{output}")
            told = json.dumps([case["evidence"], case["notes"], case["reason"]])
            self.assertRegex(told, rf"{other.pid}|process", f"{check}\n{output}")


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
