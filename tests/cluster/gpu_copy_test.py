"""Two virtual nodes of eight simulated GPUs each, whose runtime executes on the host."""
import pathlib
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
CHECKS = check("gpu_copy", probe="gpu_copy", timeout="120s") + check("gpu_memory", probe="gpu_memory", timeout="120s")


class TwoNodesOfEight(OnSharedNodes):
    NODES = NODES

    def test_healthy(self):
        folder = support.new_folder()
        run = Run(CHECKS, "--nodes", ",".join(NODES), "--ranks-per-node", "8", "--launcher", "mpirun", folder=folder,
                  env={**self.cluster.environment(), "MUSTER_MACHINE": str(folder / "lumi"), "MUSTER_STARTUP_TIMEOUT": "120",
                       "MUSTER_DRIVERS": str(support.BUILD.resolve() / "drivers")},
                  wrapper=self.cluster.argv_on_login([]))
        self.addCleanup(run.clean)
        subprocess.run([support.DRIVER, "machine", "lumi-g", "--write", folder / "lumi", "--nodes", ",".join(NODES)],
                       check=True, stdout=subprocess.DEVNULL)
        run.start()
        run.wait(400)
        verdicts = {case["check"]: case["verdict"] for case in run.report()["cases"]}
        self.assertEqual((run.status, verdicts), (0, {"gpu_copy": "pass", "gpu_memory": "pass"}), run.story())
        self.assertIn("112 copies on 16 GPUs: all data was right", run.case("gpu_copy")["evidence"])
        self.assertIn("in 16 GPUs kept every pattern", run.case("gpu_memory")["evidence"][0])


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
