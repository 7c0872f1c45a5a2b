"""On a kernel without pidfd, as that of EL8: processes are found by number and start time, ended, and never confused with others."""
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import Run, check, ten_cases  # noqa: E402

OLD = support.OLD_KERNEL


class OldKernel(support.EndToEnd):
    def new_run(self, checks, *options):
        run = Run(checks, *options, wrapper=OLD)
        self.addCleanup(run.clean)
        return run

    def test_ranks_that_hang_are_ended_and_the_others_judged(self):
        for how in ("stop", "orphan"):
            with self.subTest(how=how):
                run = self.new_run(ten_cases(how=how, rank=1, timeout="2s"), "--launcher", "mpirun").finish(60)
                self.assert_status(run, 1)
                self.assertEqual(run.case("bad")["verdict"], "fail", run.story())
                self.assert_nine_passed(run)
                self.assert_clean(run)

    def test_a_killed_driver_takes_its_launch_along(self):
        run = self.new_run(check("a") + check("b", how="hang", rank=1, timeout="60s", marker="MARKER"), "--launcher", "mpirun")
        run.until_marker()
        run.signal(signal.SIGKILL)
        run.wait(2)
        self.assertTrue(support.wait_until(lambda: not run.processes(), 10 * support.SLOWNESS),
                        f"left running: {[support.command_line(pid) for pid in run.processes()]}\n{run.story()}")
        if support.ISOLATED in os.environ:
            support.wait_until(lambda: not support.shared_memory(), 5 * support.SLOWNESS)
            self.assertEqual(support.shared_memory(), set())


if __name__ == "__main__":
    tried = subprocess.run([*OLD, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        support.skip(f"system calls can't be filtered here: {tried.stderr.strip().splitlines()[-1]}")
    support.main(("mpirun",))
