"""Ranks that nothing else ends: those of a driver that hangs. Orphans are in tests/run/watchdog_test.cpp."""
import os
import pathlib
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import Run, check, ten_cases, wait_until  # noqa: E402

# Grace after a deadline, and between two looks (src/run/watchdog.hpp), with room for a busy machine.
PATIENCE_S = 180


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Watchdog(support.EndToEnd):
    def begun(self, checks):
        run = Run(checks, "--launcher", "mpirun")
        self.addCleanup(run.clean)
        run.until_marker(60)
        return run

    def ranks(self, run):
        return [pid for pid in run.processes() if name_of(pid).startswith("muster-rank")]

    def test_one_watches_and_ends_with_the_ranks(self):
        run = self.begun(ten_cases(how="hang", rank=0, timeout="3s", marker="MARKER"))
        watching = [pid for pid in run.processes() if name_of(pid) == "muster-watchdog"]
        self.assertEqual(len(watching), 1, run.story())
        self.assertEqual(os.getsid(watching[0]), watching[0], "a session of its own")
        self.assertEqual(run.wait(90), 1, run.story())
        self.assert_clean(run)

    def test_a_driver_that_hangs(self):
        run = self.begun(check("bad", how="hang", rank=0, timeout="2s", marker="MARKER"))
        ranks = self.ranks(run)
        run.signal(signal.SIGSTOP)
        self.assertTrue(wait_until(lambda: not self.ranks(run), PATIENCE_S), run.story())
        self.assertEqual(len(ranks), 2)
        run.signal(signal.SIGCONT)
        self.assertNotEqual(run.wait(90), 0, run.story())
        self.assertNotEqual(run.case("bad")["verdict"], "pass", run.story())
        self.assert_clean(run)


if __name__ == "__main__":
    support.main(("mpirun",))
