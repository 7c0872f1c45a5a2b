"""From the launcher's line to the verdict: each of the five systems, simulated, two nodes, started by the batch script of its
page through the real Slurm. Ranks have the masks that slurmstepd (for ibrun: mpirun and muster-rank) set for them."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_site import site  # noqa: E402

PATIENCE_S = 300
# By local rank, as the pages publish them (LUMI user guide, NERSC's mask table, OLCF: -c7 on L3 i), else all cores that -c gives.
MASKS = {
    "lumi": ["49-55", "57-63", "17-23", "25-31", "1-7", "9-15", "33-39", "41-47"],
    "frontier": ["1-7", "9-15", "17-23", "25-31", "33-39", "41-47", "49-55", "57-63"],
    "perlmutter": ["48-63,112-127", "32-47,96-111", "16-31,80-95", "0-15,64-79"],
    "vista": ["0-71"],
    "zurada": ["0-15", "16-31"],
}
GPUS = {"lumi": [0, 1, 2, 3, 4, 5, 6, 7], "frontier": [4, 5, 2, 3, 6, 7, 0, 1], "perlmutter": [0, 1, 2, 3], "vista": [0], "zurada": [0, 1]}
EVERYWHERE = {"allreduce", "cpu_affinity", "device_visibility", "environment", "gpu_copy", "gpu_mapping", "hello", "memory_bandwidth",
              "network_interfaces", "p2p", "training"}


class SiteJob(support.EndToEnd):
    SYSTEM = ""

    @classmethod
    def setUpClass(cls):
        cls.context = site(cls.SYSTEM)
        cls.site = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def run_job(self, *options, **more):
        run = self.site.job(*options, **more)
        self.addCleanup(run.clean)
        run.start()
        run.wait(PATIENCE_S)
        self.said = run.said.read_text() if run.said.exists() else f"nothing\n{slurm_services.last_words(self.site.cluster)}"
        return run

    def healthy(self):
        run = self.run_job()
        self.assertTrue(run.report_path().exists(), self.said + run.story())
        cases = {case["check"]: case for case in run.report()["cases"]}
        not_passed = {name: (case["verdict"], case["reason"]) for name, case in cases.items() if case["verdict"] != "pass"}
        self.assertEqual((run.status, not_passed), (0, {}), self.said)
        self.assertLessEqual(EVERYWHERE, set(cases))
        self.assertEqual(run.report()["simulated"], self.site.system.machine)
        self.assertEqual(self.facts(cases["cpu_affinity"], "mask"), MASKS[self.SYSTEM] * 2, self.said)
        self.assert_gpus(cases["cpu_affinity"])
        if os.environ.get("MUSTER_TEST_TIMES"):
            print(self.SYSTEM, round(run.seconds, 1), {name: round(case["seconds"], 1) for name, case in cases.items()})
        return run, cases

    def facts(self, case, key):
        return [row["facts"].get(key) for row in sorted(case["rank_rows"], key=lambda row: row["rank"])]

    def assert_gpus(self, case):
        devices = self.site.gpus()
        self.assertEqual(self.facts(case, "gpu"), [devices[gpu] for gpu in GPUS[self.SYSTEM]] * 2, self.said)

    def binding(self, run):
        return {node["facts"].get("binding") for node in run.report()["nodes"]}


class Lumi(SiteJob):
    SYSTEM = "lumi"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"profile lumi, by the launcher"})

    def test_without_binding(self):
        run = self.run_job("--bind", "none", "-n", "^cpu_affinity$")
        self.assertEqual(run.status, 1, self.said)
        case = run.case("cpu_affinity")
        self.assertEqual(case["verdict"], "fail", self.said)
        self.assertIn("srun", case["remedy"])

    def gate(self, *options):
        run = self.run_job(*options, command="muster gate --need 2 -- srun --nodes=2 --ntasks=2 hostname")
        self.assertEqual((run.status, sorted(self.said.split())[-2:]), (0, ["nid001", "nid002"]), self.said)

    def test_gate(self):
        self.gate()

    def test_gate_in_a_container(self):
        self.gate("--environment", "container", "-J", "image=image.sif")


class Frontier(SiteJob):
    SYSTEM = "frontier"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"profile frontier, by the launcher"})

    def test_without_binding(self):
        run = self.run_job("--bind", "none", "-n", "^cpu_affinity$")
        self.assertEqual(run.status, 1, self.said)
        self.assertEqual(run.case("cpu_affinity")["verdict"], "fail", self.said)
        self.assertIn("srun", run.case("cpu_affinity")["remedy"])


class Perlmutter(SiteJob):
    SYSTEM = "perlmutter"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"profile perlmutter, by the launcher"})


class Vista(SiteJob):
    SYSTEM = "vista"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"profile vista, by the agent"})


class Zurada(SiteJob):
    SYSTEM = "zurada"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"profile zurada, by the launcher"})


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("mpirun", "srun"))
