"""A few of the moments of kill_nine.py."""
import os
import pathlib
import signal
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kill_nine  # noqa: E402
import support  # noqa: E402


class KillNine(unittest.TestCase):
    def test_a_few_moments_of_each(self):
        self.assertEqual(kill_nine.campaign(kill_nine.VICTIMS, 2, 17), dict.fromkeys(kill_nine.VICTIMS, 2))

    @unittest.skipIf(support.ISOLATED not in os.environ, "whose files lie in /dev/shm is seen in a namespace of its own")
    def test_files_of_a_killed_launcher_are_removed_from_shared_memory(self):
        """What killed ranks left there is removed by mpirun, unless it is killed, too."""
        run = support.Run(support.check("bad", how="hang", rank=0, timeout="60s", marker="MARKER"), "--launcher", "mpirun")
        self.addCleanup(run.clean)
        run.until_marker(60)
        segments = list(pathlib.Path("/dev/shm").glob("muster-shm.*/vader_segment.*"))
        if not segments:
            self.skipTest("this MPI makes no files of that kind")
        self.assertEqual(len(segments), 2, run.story())
        # As an mpirun leaves it that is killed while it tries POSIX shared memory, and as one has it open that is trying it.
        pathlib.Path("/dev/shm/open_mpi.0007").touch()
        tried = open("/dev/shm/open_mpi.0008", "x", encoding="ascii")
        self.addCleanup(lambda: (tried.close(), os.unlink(tried.name)))
        for pid in kill_nine.pids_of("launcher", run) + kill_nine.pids_of("agent", run):
            os.kill(pid, signal.SIGKILL)
        self.assertIn(run.wait(60), (1, 2), run.story())
        self.assertNotEqual(run.case("bad")["verdict"], "pass", run.story())
        self.assertEqual(run.leftovers(), [], run.story())
        self.assertEqual(os.listdir("/dev/shm"), ["open_mpi.0008"], run.story())


if __name__ == "__main__":
    support.main()
