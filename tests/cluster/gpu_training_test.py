"""Two virtual nodes of eight simulated GPUs each train together, over a stand-in of RCCL."""
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
import on_gpu_nodes  # noqa: E402
from support import check  # noqa: E402


class Training(on_gpu_nodes.TwoNodesOfEight):
    def test_healthy(self):
        run = self.passes(check("training", probe="training", timeout="150s"))
        case = run.case("training")
        print(f"  {run.seconds:.1f} s: {'; '.join(case['evidence'])}")
        evidence = " | ".join(case["evidence"])
        self.assertIn("memory of 16 GPUs over RCCL 2.21.5", evidence)
        self.assertIn("those of one rank alone on the host", evidence)
        self.assertIn("16 ranks have the same parameters to the bit after each step", evidence)


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
