"""Two virtual nodes of eight simulated GPUs each: copies and memory."""
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
import on_gpu_nodes  # noqa: E402
from support import check  # noqa: E402

CHECKS = check("gpu_copy", probe="gpu_copy", timeout="120s") + check("gpu_memory", probe="gpu_memory", timeout="120s")


class Copies(on_gpu_nodes.TwoNodesOfEight):
    def test_healthy(self):
        run = self.passes(CHECKS)
        self.assertIn("112 series of copies on 16 GPUs: all compared data was right", run.case("gpu_copy")["evidence"])
        self.assertIn("in 16 GPUs kept every pattern", run.case("gpu_memory")["evidence"][0])


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
