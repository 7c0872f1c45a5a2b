"""Two virtual nodes of eight simulated GPUs each: products of matrices."""
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
import on_gpu_nodes  # noqa: E402
from support import check  # noqa: E402


class Products(on_gpu_nodes.TwoNodesOfEight):
    def test_healthy(self):
        run = self.passes(check("gpu_compute", probe="gpu_compute", timeout="120s"))
        self.assertIn("on 16 GPUs: the same bits, and the known answer", " | ".join(run.case("gpu_compute")["evidence"]))


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
