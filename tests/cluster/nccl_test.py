"""Two virtual nodes of eight simulated GPUs each: sums and messages between 16 of them, over a stand-in of RCCL."""
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
import on_gpu_nodes  # noqa: E402

CHECKS = """
[check.allreduce]
probe   = "allreduce"
summary = "Sums are right."
timeout = "150s"
params  = { sizes = ["8B", "64KiB"], types = ["float", "int64", "half", "bfloat16"], memory = "256KiB" }
[check.p2p]
probe   = "p2p"
summary = "Messages are right."
timeout = "150s"
params  = { sizes = ["64KiB"], memory = "256KiB" }
"""


class Sums(on_gpu_nodes.TwoNodesOfEight):
    def test_healthy(self):
        run = self.passes(CHECKS)
        for name in ("allreduce", "p2p"):
            evidence = " | ".join(run.case(name)["evidence"])
            self.assertIn("memory of 16 GPUs over RCCL 2.21.5", evidence)
            self.assertIn("NET/IB/GDRDMA", evidence)

    def test_sockets_beside_a_fabric_are_a_finding(self):
        run = self.check(CHECKS, driver=["set all nccl_network Socket"])
        for name in ("allreduce", "p2p"):
            case = run.case(name)
            self.assertEqual(case["verdict"], "fail", run.story())
            self.assertIn("data between GPUs of different nodes goes through sockets, though", case["reason"])
            self.assertIn("cxi", case["reason"])
            for word in ("NCCL_NET", "NCCL_IB_HCA", "plugin"):
                self.assertIn(word, case["remedy"])


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
