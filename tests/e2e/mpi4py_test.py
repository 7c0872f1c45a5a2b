"""mpi4py_ranks on two ranks: with the mpi4py that is installed here, and with a stand-in of it, which is real MPI by ctypes, for
what is wrong and named."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import support

SOURCE = pathlib.Path(os.environ["MUSTER_SOURCE"]).resolve()
SCRIPT = SOURCE / "checks" / "pytorch" / "mpi4py_ranks.py"
STAND_IN = SOURCE / "tests" / "fake" / "python"
OTHERS = "Open MPI v5.0.1, package: of someone else"
INSTALLED = support.python_with("mpi4py")


def check(ranks=2, python=sys.executable):
    return support.check("mpi", probe="command", ranks=ranks, timeout="90s", argv=["{python}", str(SCRIPT)],
                         imports=["mpi4py"], python=python, deadline="60s")


class Mpi4py(support.EndToEnd):
    def case(self, verdict, **variables):
        with support.Run(check(), env={"PYTHONPATH": str(STAND_IN), **variables}) as run:
            run.wait(120)
            self.assert_clean(run)
            case = run.report()["cases"][0]
            self.assertEqual(case["verdict"], verdict, run.story())
            return case, run.story()

    def test_ranks_and_size_are_those_of_the_job(self):
        case, story = self.case("pass")
        evidence = " ".join(case["evidence"])
        self.assertIn("2 processes with mpi4py have ranks 0 to 1 of 2", evidence, story)
        self.assertIn("mpi4py 4.0.0 uses Open MPI", evidence, story)

    def test_another_mpi(self):
        case, story = self.case("fail", MPI4PY_LIBRARY=OTHERS)
        self.assertIn("mpi4py is built with Open MPI 5.0.1, the ranks here are started with Open MPI 4", case["reason"], story)
        self.assertIn("--no-binary=mpi4py", case["remedy"])

    def test_an_mpi_that_knows_no_launcher(self):
        case, story = self.case("fail", MPI4PY_ALONE="1")
        self.assertIn("each of 2 processes with mpi4py is rank 0 of 1", case["reason"], story)

    def test_one_that_can_not_be_imported(self):
        case, story = self.case("fail", MPI4PY_BROKEN="1")
        self.assertIn("can't import it: ImportError: libmpi.so.12", case["reason"], story)


@unittest.skipIf(INSTALLED is None, "no python3 here imports mpi4py (Debian: python3-mpi4py)")
class Installed(support.EndToEnd):
    """Debian's, which is built with Debian's Open MPI."""

    def case(self, *options, **more):
        with support.Run(check(python=INSTALLED), *options, **more) as run:
            run.wait(120)
            self.assert_clean(run)
            return run.report()["cases"][0], run.story()

    def test_ranks_and_size_are_those_of_the_job(self):
        case, story = self.case()
        self.assertEqual(case["verdict"], "pass", story)
        evidence = " ".join(case["evidence"])
        self.assertIn("2 processes with mpi4py have ranks 0 to 1 of 2", evidence, story)
        self.assertRegex(evidence, r"mpi4py \d+\.\d+\.\d+ uses Open MPI v4")

    def test_below_another_mpi(self):
        """Ranks of MPICH."""
        if shutil.which("mpiexec.mpich") is None or not support.AGENT_MPICH.exists():
            self.skipTest("there is no MPICH beside Open MPI")
        case, story = self.case("--launch", "mpiexec.mpich -n 2", agent=support.AGENT_MPICH)
        self.assertEqual(case["verdict"], "fail", story)
        self.assertIn("mpi4py is built with Open MPI 4", case["reason"], story)
        self.assertIn("the ranks here are started with MPICH", case["reason"], story)


if __name__ == "__main__":
    if shutil.which("mpirun") is None or "Open MPI) 4" not in subprocess.run(
            ["mpirun", "--version"], capture_output=True, text=True).stdout:
        support.skip("the stand-in of mpi4py is for Open MPI 4")
    support.main()
