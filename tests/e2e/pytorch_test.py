"""The PyTorch checks on two ranks: all pass; and what goes wrong in a job names who is at fault, never a bare timeout."""
import os
import pathlib
import shutil
import subprocess
import sys

import support

SOURCE = pathlib.Path(os.environ["MUSTER_SOURCE"]).resolve()
FOLDER = SOURCE / "checks" / "pytorch"


def find_python():
    """The first python3 that has torch, as the probe looks for it; then Debian's, which may not be the first."""
    named = os.environ.get("MUSTER_TEST_TORCH_PYTHON")
    for python in [named] if named else [shutil.which("python3"), "/usr/bin/python3"]:
        if python and subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            return python
    support.skip("no python3 here imports torch (Debian: python3-torch)")
    return None


PYTHON = find_python()


def torch_check(script, *arguments, name="torch", ranks=2, wrapper=(), deadline="60s", timeout="90s", python=PYTHON):
    """A check that runs one of the shipped scripts; `wrapper` stands in front of it."""
    argv = [*wrapper, "{python}", str(FOLDER / script), *arguments]
    return support.check(name, probe="command", ranks=ranks, timeout=timeout, argv=argv, imports=["torch"],
                         python=python, deadline=deadline)


# On one rank only, before its program.
def on_rank(rank, commands):
    return ["sh", "-c", f'if [ "$RANK" = {rank} ]; then {commands}; fi; exec "$0" "$@"']


class Torch(support.EndToEnd):
    def go(self, checks, *options, limit=150, **more):
        with support.Run(checks, *options, **more) as run:
            run.wait(limit)
            run.left = run.leftovers()
            run.said = run.report()
            self.assert_clean(run)
            return run.said, run.story()

    def case(self, checks, verdict, **more):
        report, story = self.go(checks, **more)
        self.assertEqual(len(report["cases"]), 1, story)
        case = report["cases"][0]
        self.assertEqual(case["verdict"], verdict, story)
        return case, story

    def assert_names(self, case, story, *parts, rank=None):
        for part in parts:
            self.assertIn(part, case["reason"], story)
        self.assertTrue(case["remedy"], story)
        if rank is not None:
            self.assertEqual([culprit.get("rank") for culprit in case["culprits"]], [rank], story)


class Shipped(Torch):
    def test_all_pass_on_two_ranks(self):
        with support.Run("", "--ranks-per-node", "2") as run:
            run.argv[2] = str(FOLDER)
            run.env["PATH"] = f"{pathlib.Path(PYTHON).parent}:{run.env['PATH']}"
            run.start()
            self.assertEqual(run.wait(300), 0, run.story())
            cases = run.report()["cases"]
            self.assertEqual({case["check"]: case["verdict"] for case in cases},
                             {path.stem: "pass" for path in FOLDER.glob("*.toml")}, run.story())


if __name__ == "__main__":
    support.main()
