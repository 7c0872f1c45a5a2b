"""PyTorch looked at on all ranks of two virtual nodes: another one on a node is a failure that names that node."""
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import on_nodes  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from pytorch_test import torch_check  # noqa: E402

# Before the check's own program, on one node: what another installation would say.
ANOTHER = """
if os.uname().nodename == "nid002":
    torch.__version__ = "9.9"
    torch.version.cuda = "13.1"
    torch.__file__ = "/home/me/.local/lib/python3.11/site-packages/torch/__init__.py"
"""


class TwoNodes(on_nodes.OnNodes):
    NODES = ("nid001", "nid002")

    def case(self, code):
        run = self.new_run(torch_check("torch_environment.py", code=code))
        run.start()
        run.wait(150)
        return run.report()["cases"][0], run.story()

    def test_the_same_on_both(self):
        case, story = self.case("pass")
        self.assertEqual(case["verdict"], "pass", story)
        self.assertEqual(len(case["rank_rows"]), 4, story)

    def test_another_on_one_node(self):
        case, story = self.case(ANOTHER)
        self.assertEqual(case["verdict"], "fail", story)
        reasons = [finding["reason"] for finding in case["findings"]]
        for name, other in (("torch is", "9.9"), ("torch is built for", "CUDA 13.1"), ("torch.__file__ is", "/home/me/.local/")):
            self.assertTrue(any(name in reason and other in reason and "nid002" in reason for reason in reasons), f"{name}: {reasons}")


if __name__ == "__main__":
    if reason := vc.why_not():
        support.skip(reason)
    support.main()
