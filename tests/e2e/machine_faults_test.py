"""Ranks that pretend to be on each described system, one thing of it at fault: the right thing is blamed."""
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from on_machine import MUSTER, NODE, SYSTEMS, OnMachine, main  # noqa: E402


class Faults(OnMachine):
    def blames(self, name):
        """network_interfaces names this card, on this node."""
        self.assertIn(name, " ".join(self.culprits("network_interfaces")), self.output)
        self.assertEqual({culprit["node"] for culprit in self.cases["network_interfaces"]["culprits"]}, {NODE}, self.output)

    def test_gpu_missing(self):
        for system in SYSTEMS:
            with self.subTest(system):
                bad = self.ill(system, "gpu_missing")
                count = SYSTEMS[system][0]
                self.assertIn("device_visibility", bad, self.output)
                self.assertIn(f"{count} expected by the profile", self.reasons("device_visibility"), self.output)
                self.assertEqual(self.culprits("device_visibility"), [NODE], self.output)
                self.assertNotIn("environment", bad)
                self.only_cause("device_visibility")

    def test_gpu_that_answers_nothing(self):
        self.assertIn("device_visibility", self.ill("lumi-g", "gpu_lost"))
        self.assertIn("0000:d6:00.0", " ".join(self.culprits("device_visibility")), self.output)
        self.only_cause("device_visibility")
        self.assertIn("first (GPU 0000:d6:00.0", self.cases["gpu_mapping"]["remedy"])

    def test_masks_shifted(self):
        for system in ("lumi-g", "frontier", "perlmutter", "zurada-gpu2h100"):
            with self.subTest(system):
                self.assertEqual(self.ill(system, "masks_shifted"), ["cpu_affinity", "gpu_mapping"], self.output)
                self.assertIn("rank 1", self.culprits("cpu_affinity"), self.output)
                self.only_cause("cpu_affinity")

    def test_the_right_masks_are_in_the_remedy(self):
        self.ill("lumi-g", "masks_shifted")
        self.assertIn("--cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,0xfe00,"
                      "0xfe00000000,0xfe0000000000", self.cases["cpu_affinity"]["remedy"])

    def test_masks_with_reserved_cores(self):
        self.assertIn("cpu_affinity", self.ill("lumi-g", "masks_moved"), self.output)
        self.assertIn("reserved", self.reasons("cpu_affinity"))

    def test_nic_down(self):
        for system, name in (("lumi-g", "hsn2"), ("frontier", "hsn2"), ("perlmutter", "hsn1"), ("vista", "mlx5_0"),
                             ("zurada-gpu1h100", "mlx5_0"), ("zurada-gpu2h100", "mlx5_0")):
            with self.subTest(system):
                self.assertEqual(self.ill(system, "nic_down"), ["network_interfaces"], self.output)
                self.blames(name)

    def test_nic_slow(self):
        for system, name in (("lumi-g", "hsn2"), ("frontier", "hsn2"), ("perlmutter", "hsn1"), ("vista", "mlx5_0"),
                             ("zurada-gpu1h100", "mlx5_0"), ("zurada-gpu2h100", "mlx5_0")):
            with self.subTest(system):
                self.assertEqual(self.ill(system, "nic_slow"), ["network_interfaces"], self.output)
                self.blames(name)
                self.assertIn("the profile promises", self.reasons("network_interfaces"))

    def test_nic_missing(self):
        for system, name in (("lumi-g", "hsn2"), ("frontier", "hsn2"), ("perlmutter", "hsn1")):
            with self.subTest(system):
                self.assertEqual(self.ill(system, "nic_missing"), ["network_interfaces"], self.output)
                self.blames(name)
        for system in ("vista", "zurada-gpu1h100", "zurada-gpu2h100"):
            with self.subTest(system):
                self.assertEqual(self.ill(system, "nic_missing"), ["network_interfaces"], self.output)
                self.assertIn(f"no NIC on {NODE}, 1 expected by the profile", self.reasons("network_interfaces"))

    def test_no_plugin(self):
        for system in ("lumi-g", "frontier", "perlmutter"):
            with self.subTest(system):
                self.assertEqual(self.ill(system, "no_plugin"), ["network_plugin"], self.output)
                self.assertEqual(self.culprits("network_plugin"), ["LD_LIBRARY_PATH"])
                self.assertIn("cannot open shared object file", self.reasons("network_plugin"))
                self.assertEqual(self.cases["network_plugin"]["remedy"], "load the module")

    def test_no_plugin_outside_of_the_container_that_has_it(self):
        self.write("lumi-g", "--fault", "no_plugin")
        self.assertEqual(self.run_checks("lumi-g", None, ["-x", "hello"], "lumi:standard-g"), 0, self.output)
        case = self.cases["network_plugin"]
        self.assertEqual(case["verdict"], "skip", self.output)
        self.assertIn("is in the container of the job", case["reason"])
        self.assertIn("--environment laifs", case["remedy"])
        inside = {"SINGULARITY_CONTAINER": "/images/a.sif"}
        self.run_checks("lumi-g", inside, ["-n", "network_plugin"], "lumi:standard-g")
        self.assertEqual(self.cases["network_plugin"]["verdict"], "fail", self.output)

    def test_the_gate_excludes_no_node_for_a_plugin_of_the_container(self):
        for fault, status in (("no_plugin", 0), ("nic_down", 125)):
            with self.subTest(fault):
                self.write("lumi-g", "--fault", fault)
                done = subprocess.run([MUSTER, "gate", "--simulated", "--need", "1", "--system", "lumi:standard-g", "--launcher", "mpirun", "--output",
                                       "gate", "--print", "json"], cwd=self.folder, capture_output=True, text=True, timeout=300,
                                      env={**os.environ, "MUSTER_MACHINE": "machine", "MUSTER_STARTUP_TIMEOUT": "120s"})
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)

    def test_an_interface_that_nobody_has(self):
        self.write("zurada-gpu2h100")
        self.assertEqual(self.run_checks("zurada-gpu2h100", {"NCCL_SOCKET_IFNAME": "eno1"}, ["-x", "hello"]), 1, self.output)
        self.assertIn('NCCL_SOCKET_IFNAME is "eno1"', self.reasons("network_interfaces"))
        self.assertEqual(self.cases["environment"]["verdict"], "pass", self.output)

    def test_all_ranks_on_one_gpu(self):
        self.assertIn("gpu_mapping", self.ill("lumi-g", "all_on_one"))
        self.assertIn("use the same GPU 0000:c1:00.0", self.reasons("gpu_mapping"))

    def test_too_few_open_files(self):
        self.assertEqual(self.ill("lumi-g", "few_files"), ["environment"], self.output)
        self.assertIn("512", self.reasons("environment"))


if __name__ == "__main__":
    main()
