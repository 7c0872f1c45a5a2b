"""Two virtual nodes, each a LUMI-G node with eight ranks; one of them with a fault, which is blamed on it alone."""
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_nodes import OnSharedNodes  # noqa: E402
from support import Run, check  # noqa: E402

NODES = ("nid001", "nid002")
CHECKS = "".join([check("device_visibility", probe="device_visibility", timeout="120s"),
                  check("cpu_affinity", probe="cpu_affinity", timeout="120s", smt="apart", numa="one"),
                  check("gpu_mapping", probe="gpu_mapping", timeout="120s", near="required"),
                  check("environment", probe="environment", timeout="120s"),
                  check("network_interfaces", probe="network_interfaces", timeout="120s")])


class TwoNodesOfLumi(OnSharedNodes):
    NODES = NODES
    MACHINE = "lumi-g"

    def run_with(self, *faults, options=()):
        folder = support.new_folder()
        run = Run(CHECKS, "--simulated", "--nodes", ",".join(NODES), "--ranks-per-node", "8", "--launcher", "mpirun", *options,
                  folder=folder,
                  env={**self.cluster.environment(), "MUSTER_MACHINE": str(folder / "lumi"), "MUSTER_STARTUP_TIMEOUT": "120"},
                  wrapper=self.cluster.argv_on_login([]))
        self.addCleanup(run.clean)
        words = [word for fault in faults for word in ("--fault", fault)]
        subprocess.run([support.DRIVER, "machine", "lumi-g", "--write", folder / "lumi", "--nodes", ",".join(NODES), *words],
                       check=True, stdout=subprocess.DEVNULL)
        run.start()
        run.wait(400)
        return run

    def bad(self, run):
        return sorted(case["check"] for case in run.report()["cases"] if case["verdict"] != "pass")

    def test_healthy(self):
        run = self.run_with()
        self.assertEqual((run.status, self.bad(run)), (0, []), run.story())
        self.assertEqual(run.report()["simulated"], "lumi-g")
        self.assertEqual({case["ranks"] for case in run.report()["cases"]}, {16})

    def test_a_gpu_is_missing_on_one_node(self):
        run = self.run_with("gpu_missing@nid002")
        case = run.case("device_visibility")
        self.assertEqual(case["verdict"], "fail", run.story())
        self.assertEqual({culprit["node"] for culprit in case["culprits"]}, {"nid002"}, run.story())
        self.assertEqual(run.report()["simulated"], "lumi-g and lumi-g with gpu_missing")

    def test_masks_are_shifted_on_one_node(self):
        """By the launcher's own file."""
        cores = ("49-55", "57-63", "17-23", "25-31", "1-7", "9-15", "33-39", "41-47")
        lines = [f"rank {i + 8 * node}={NODES[node]} slot={cores[(i + node) % 8]}" for node in (0, 1) for i in range(8)]
        ranks = support.new_folder() / "ranks"
        self.addCleanup(shutil.rmtree, ranks.parent)
        ranks.write_text("\n".join(lines) + "\n")
        run = self.run_with(options=("-J=--rankfile", f"-J={ranks}"))
        self.assertEqual(self.bad(run), ["cpu_affinity", "gpu_mapping"], run.story())
        self.assertEqual({culprit["node"] for culprit in run.case("cpu_affinity")["culprits"]}, {"nid002"}, run.story())

    def test_a_driver_is_older_on_one_node(self):
        run = self.run_with("old_driver@nid001")
        self.assertIn("device_visibility", self.bad(run), run.story())

    def test_a_network_card_on_one_node(self):
        for fault in ("nic_missing", "nic_down", "nic_slow", "nics_swapped"):
            with self.subTest(fault):
                run = self.run_with(f"{fault}@nid002")
                self.assertEqual(self.bad(run), ["network_interfaces"], run.story())
                case = run.case("network_interfaces")
                self.assertIn("nid002", {culprit["node"] for culprit in case["culprits"]}, run.story())
                self.assertIn("Cassini" if fault == "nic_missing" else "hsn2", case["reason"], run.story())


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
