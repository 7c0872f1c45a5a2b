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

# Before the check's own program: what all nodes have, and what another installation would report on one of them.
ANOTHER = """
import site
torch.version.cuda = "12.6"
torch.distributed.is_nccl_available = lambda: True
torch.cuda.nccl.version = lambda: (2, 20, 5)
site.ENABLE_USER_SITE = False
if os.uname().nodename == "nid002":
    torch.__version__ = "9.9"
    torch.version.cuda = "13.1"
    torch.__file__ = "/home/me/.local/lib/python3.11/site-packages/torch/__init__.py"
    torch.cuda.nccl.version = lambda: (2, 26, 2)
    site.ENABLE_USER_SITE = True
    site.getusersitepackages = lambda: "/home/me/here"
"""
# What is compared -> its value on that node.
DIFFERENCES = {
    "torch": "9.9",
    "torch is built for": "CUDA 13.1",
    "torch.__file__": "/home/me/.local/lib/python3.11/site-packages/torch/__init__.py",
    "the collectives' library": "NCCL 2.26.2",
    "the user's site-packages": "/home/me/here",
}


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
        for name, value in DIFFERENCES.items():
            found = [one for one in case["findings"] if one["reason"].startswith(f'{name} is "')]
            self.assertEqual(len(found), 1, f"{name}: {story}")
            self.assertIn(f'"{value}" on nid002', found[0]["reason"])
            culprits = [(culprit["kind"], culprit["name"], culprit.get("node", "")) for culprit in found[0]["culprits"]]
            self.assertEqual(culprits, [("setting", name, "")], "of two nodes neither is like most")
        self.assertEqual(len(case["findings"]), len(DIFFERENCES), story)


if __name__ == "__main__":
    if reason := vc.why_not():
        support.skip(reason)
    support.main()
