"""What mpi4py_ranks makes of libraries and of processes that were made up, and how it starts further ones."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["MUSTER_SOURCE"], "checks", "pytorch"))

import mpi4py_ranks as check
import relaunch

OPEN_MPI = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"
CRAY = "MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)"
MPICH = "MPICH Version:      4.0.2"
HOSTS = ["a", "a", "b", "b"]


class Library(unittest.TestCase):
    def test_families(self):
        self.assertEqual(check.family_of(OPEN_MPI), ("Open MPI", "4.1.4"))
        self.assertEqual(check.family_of(CRAY), ("Cray MPICH", "8.1.28"))
        self.assertEqual(check.family_of(MPICH), ("MPICH", "4.0.2"))
        self.assertEqual(check.family_of("MVAPICH2 Version      :\t2.3.7")[0], "MVAPICH")
        self.assertEqual(check.family_of("something"), ("", ""))

    def test_the_same_library_is_right(self):
        self.assertIsNone(check.other_library(OPEN_MPI, "Open MPI v4.1.6"))
        self.assertIsNone(check.other_library(CRAY, CRAY))
        self.assertIsNone(check.other_library("something", CRAY))

    def test_another_mpi(self):
        reason, remedy = check.other_library(MPICH, CRAY)
        self.assertEqual(reason, "mpi4py is built with MPICH 4.0.2, the ranks here are started with Cray MPICH 8.1.28")
        self.assertIn("--no-binary=mpi4py", remedy)
        self.assertIn("Open MPI 5.0.1", check.other_library("Open MPI v5.0.1", OPEN_MPI)[0])


class Ranks(unittest.TestCase):
    GOOD = [(0, 4, "a"), (1, 4, "a"), (2, 4, "b"), (3, 4, "b")]

    def test_one_job(self):
        self.assertIsNone(check.wrong_ranks(self.GOOD, 4))
        self.assertIsNone(check.wrong_hosts(self.GOOD, HOSTS))
        self.assertIsNone(check.wrong_ranks([(0, 1, "a")], 1))

    def test_each_is_alone(self):
        reason, _ = check.wrong_ranks([(0, 1, host) for host in HOSTS], 4)
        self.assertEqual(reason, "each of 4 processes with mpi4py is rank 0 of 1: its MPI does not know the launcher")

    def test_some_are_missing_or_elsewhere(self):
        self.assertIn("3 of 4 processes", check.wrong_ranks(self.GOOD[:3], 4)[0])
        self.assertIn("a size of 2", check.wrong_ranks([(0, 2, "a"), (1, 2, "a"), (0, 2, "b"), (1, 2, "b")], 4)[0])
        self.assertIn("are 0, 1, 2, 2", check.wrong_ranks([(0, 4, "a"), (1, 4, "a"), (2, 4, "b"), (2, 4, "b")], 4)[0])
        self.assertIn("are on a, where a, b", check.wrong_hosts([(rank, 4, "a") for rank in range(4)], HOSTS)[0])


class Order(unittest.TestCase):
    def test_torch_first(self):
        self.assertIsNone(check.judge_order(None, OPEN_MPI))
        self.assertIsNone(check.judge_order((OPEN_MPI, ""), OPEN_MPI))
        self.assertEqual(check.judge_order(("", "ImportError: libmpi.so.12"), OPEN_MPI),
                         ("mpi4py imported after torch fails: ImportError: libmpi.so.12", "import mpi4py before torch"))
        self.assertIn("has another MPI", check.judge_order((MPICH, ""), OPEN_MPI)[0])


class Relaunch(unittest.TestCase):
    def test_commands(self):
        self.assertEqual(relaunch.command("srun", "Cray MPICH", HOSTS)[0],
                         ["srun", "--overlap", "--nodes=2", "--ntasks=4", "--ntasks-per-node=2", "--nodelist=a,b",
                          "--cpu-bind=none"])
        self.assertEqual(relaunch.command("ibrun", "Open MPI", HOSTS),
                         (["ibrun", "-n", "4", "-o", "0"], {"IBRUN_TASKS_PER_NODE": "2"}))
        words = [word for word in relaunch.command("mpirun", "Open MPI", HOSTS)[0] if word != "--allow-run-as-root"]
        self.assertEqual(words[:5], ["mpirun", "-n", "4", "-H", "a:2,b:2"])
        self.assertEqual(relaunch.command("mpiexec", "MPICH", HOSTS)[0],
                         ["mpiexec", "-n", "4", "-hosts", "a,b", "-ppn", "2"])
        self.assertIsNone(relaunch.command("flux", "MPICH", HOSTS))
        self.assertIsNone(relaunch.command("mpirun", "", HOSTS))

    def test_what_is_of_the_launch_around_stays_out(self):
        kept = {"PATH": "/bin", "SLURM_JOB_ID": "7", "SLURM_TASKS_PER_NODE": "2(x2)", "OMPI_MCA_plm_rsh_agent": "ssh",
                "OMPI_ALLOW_RUN_AS_ROOT": "1"}
        gone = {"RANK": "1", "OMPI_COMM_WORLD_RANK": "1", "PMIX_RANK": "1", "SLURM_PROCID": "1", "SLURM_STEP_ID": "0",
                "OMPI_MCA_ess": "pmi", "MUSTER_WIRE": "x", "SLURM_CPU_BIND_TYPE": "none"}
        self.assertEqual(relaunch.environment_for({**kept, **gone}), kept)

    def test_what_can_not_be_started_is_said(self):
        said, status = relaunch.start(["/nonexistent/mpirun"], {}, ["true"], 5)
        self.assertEqual((said, status), ("/nonexistent/mpirun: No such file or directory", None))
        said, status = relaunch.start(["sleep"], {}, ["5"], 0.1)
        self.assertEqual((said, status), ("sleep did not end within 0.1 s", None))


if __name__ == "__main__":
    unittest.main()
