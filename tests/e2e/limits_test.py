"""Limits (ulimit) of the driver or of the agent that a run reaches: no hang, no signal, and no pass without a measurement; the
limit stands in the reason of the case, or in what the driver prints where it starts nothing."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import Run, check  # noqa: E402

CHECKS = check("a", ranks=1, probe="hello", timeout="20s") + check("b", ranks=1, probe="hello", timeout="20s")
# Starts a program under a limit, with so many descriptors in use already.
CROWDED = '''#!/usr/bin/python3
import os, resource, sys
for _ in range(int(sys.argv[2])):
    os.set_inheritable(os.open("/dev/null", os.O_RDONLY), True)
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.argv[3], sys.argv[3:])
'''


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


class Limits(support.EndToEnd):
    def setUp(self):
        self.folder = pathlib.Path(support.new_folder())

    def ended(self, launcher, agent=support.AGENT, wrapper=()):
        run = Run(CHECKS, "--launcher", launcher, agent=agent, wrapper=wrapper)
        self.addCleanup(run.clean)
        run.start()
        run.wait(60)
        self.assertEqual(run.leftovers(), [], run.story())
        return run

    def said_by(self, run):
        """Reasons of cases that did not pass, and standard error."""
        cases = run.report()["cases"] if run.report_path().exists() else []
        if run.status == 0:
            self.assertEqual([(case["verdict"], bool(case["evidence"])) for case in cases], [("pass", True)] * 2, run.story())
        return " ".join([*(case["reason"] for case in cases if case["verdict"] != "pass"), run.stderr, run.stdout])

    def test_the_driver_runs_out_of_descriptors(self):
        crowded = executable(self.folder / "crowded", CROWDED)
        statuses = set()
        for launcher in ("local", "mpirun"):
            for free in (1, 4, 16, 30, 40, 48, 51, 60):
                with self.subTest(launcher=launcher, free=free):
                    run = self.ended(launcher, wrapper=[crowded, 64, 64 - 3 - free])
                    statuses.add(run.status)
                    if run.status != 0:
                        self.assertRegex(self.said_by(run), "ulimit -n|Too many open files")
                        self.assertIn(run.status, (2, 3), run.story())
        self.assertTrue({0, 3} <= statuses, statuses)

    def test_the_agent_runs_out_of_descriptors(self):
        statuses = []
        for limit in (4, 8, 16, 24, 32, 40, 64):
            with self.subTest(limit=limit):
                run = self.ended("local", self.limited(f"-n {limit}"))
                statuses.append(run.status)
                if run.status != 0:
                    self.assert_error(run, "ulimit -n 1024")
        self.assertEqual((statuses[0], statuses[-1]), (2, 0))

    def test_ranks_of_mpich_need_more_on_a_node_with_more_of_them(self):
        for ranks, is_enough in ((1, True), (8, False), (2000, False)):
            with self.subTest(ranks=ranks):
                run = self.ended("local", self.limited("-n 41\nexport MPI_LOCALNRANKS=%d" % ranks))
                if is_enough:
                    self.assert_status(run, 0)
                else:
                    self.assert_error(run, "needs %d; raise the limit: ulimit -n 1024" % {8: 42, 2000: 538}[ranks])

    def test_other_limits_of_the_agent(self):
        for limit, cause in (("-f 0", "may have 0 KiB, and MPI needs 16384; raise the limit: ulimit -f"), ("-f 2048", "may have 1024 KiB, and MPI needs 16384"),
                             ("-s 64", "ulimit -s 512")):
            with self.subTest(limit=limit):
                self.assert_error(self.ended("local", self.limited(limit)), cause)

    def limited(self, limit):
        return executable(self.folder / "agent", f'#!/bin/sh\n[ "$1" = --about ] && exec {support.AGENT} --about\nulimit {limit}\nexec {support.AGENT} "$@"\n')

    def assert_error(self, run, cause):
        """The limit is not the fault of a rank or of its node."""
        self.assert_status(run, 2)
        for case in run.report()["cases"]:
            self.assertEqual((case["verdict"], case["culprits"]), ("error", []), run.story())
            self.assertIn(cause, case["reason"], run.story())


if __name__ == "__main__":
    support.main(needs=("mpirun",))
