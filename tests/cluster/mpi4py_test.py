"""mpi4py_ranks on two virtual nodes below a real Slurm: its processes are a further step beside the ranks that ask."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from support import Run  # noqa: E402

SOURCE = pathlib.Path(os.environ["MUSTER_SOURCE"]).resolve()
STAND_IN = SOURCE / "tests" / "fake" / "python"
INSTALLED = support.python_with("mpi4py")


class BelowSlurm(support.EndToEnd):
    @classmethod
    def setUpClass(cls):
        cls.context = vc.running(2, slurm=vc.Shape())
        cls.cluster = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def case(self, verdict, python=sys.executable, python_path=str(STAND_IN), **variables):
        check = support.check("mpi", probe="command", ranks=2, timeout="100s", imports=["mpi4py"], python=python,
                              argv=["{python}", str(SOURCE / "checks" / "pytorch" / "mpi4py_ranks.py")], deadline="80s")
        run = Run(check, "-J=--cpu-bind=none", wrapper=self.cluster.argv_on_login(["salloc", "--quiet", "-N2", "--ntasks-per-node=2"]),
                  env={**self.cluster.environment(), "PYTHONPATH": python_path, **variables})
        self.addCleanup(run.clean)
        run.start()
        run.wait(200)
        case = run.report()["cases"][0]
        self.assertEqual(case["verdict"], verdict, run.story())
        return case, run.story()

    def test_ranks_of_two_nodes_are_one_job(self):
        case, story = self.case("pass")
        self.assertIn("4 processes with mpi4py have ranks 0 to 3 of 4", " ".join(case["evidence"]), story)

    @unittest.skipIf(INSTALLED is None, "no python3 here imports mpi4py (Debian: python3-mpi4py)")
    def test_the_one_that_is_installed(self):
        case, story = self.case("pass", python=INSTALLED, python_path="")
        self.assertIn("4 processes with mpi4py have ranks 0 to 3 of 4", " ".join(case["evidence"]), story)
        self.assertNotIn("mpi4py 4.0.0", " ".join(case["evidence"]), "that is the stand-in")

    def test_an_mpi_that_does_not_know_srun(self):
        case, story = self.case("fail", MPI4PY_ALONE="1")
        self.assertIn("each of 4 processes with mpi4py is rank 0 of 1", case["reason"], story)


if __name__ == "__main__":
    if shutil.which("mpirun") is None or "Open MPI) 4" not in subprocess.run(
            ["mpirun", "--version"], capture_output=True, text=True).stdout:
        support.skip("the stand-in of mpi4py is for Open MPI 4")
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main()
