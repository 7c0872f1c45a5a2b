"""Two virtual nodes of eight simulated GPUs each: sums and messages between 16 of them, over a stand-in of RCCL."""
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_nodes import OnSharedNodes  # noqa: E402
from support import Run  # noqa: E402

NODES = ("nid001", "nid002")
CHECKS = """
[check.allreduce]
probe   = "allreduce"
summary = "Sums are right."
timeout = "150s"
params  = { sizes = ["8B", "64KiB"], memory = "256KiB" }
[check.p2p]
probe   = "p2p"
summary = "Messages are right."
timeout = "150s"
params  = { sizes = ["64KiB"], memory = "256KiB" }
"""


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
        self.assertEqual((run.status, verdicts), (0, {"allreduce": "pass", "p2p": "pass"}), run.story())
        for name in verdicts:
            evidence = " | ".join(run.case(name)["evidence"])
            self.assertIn("memory of 16 GPUs over RCCL 2.21.5", evidence)
            self.assertIn("NET/IB/GDRDMA", evidence)


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
