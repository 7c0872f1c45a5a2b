"""SIGINT and SIGTERM to the driver in every stage: the launch ends, every report is written, exit 130 or 143."""
import json
import os
import signal
import sys
import time
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import Run, check  # noqa: E402

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}


class Signals(support.EndToEnd):
    def interrupt(self, number, checks, hook=None, passed=0):
        """A run that hangs where `hook` (or its second case) says, and gets the signal there, once it has printed `passed` passes."""
        run = Run(checks)
        self.addCleanup(run.clean)
        junit, extra = run.folder / "results.xml", run.folder / "more.json"
        run.argv += ["--report", f"junit={junit}", "--report", f"json={extra}"]
        if hook:
            run.env.update(MUSTER_TEST_HOOK=hook, MUSTER_TEST_ONCE=str(run.marker))
        run.until_marker()
        # The rank that hangs may be ahead of what rank 0 reports.
        self.assertTrue(support.wait_until(lambda: run.stdout_path.read_text().count("\npass ") >= passed, 10 * support.SLOWNESS),
                        run.stdout_path.read_text())
        run.signal(number)
        run.wait(12)
        run.reports = (json.loads(extra.read_text()), xml.parse(junit).getroot())
        return run

    def assert_interrupted(self, run, number):
        self.assert_status(run, SIGNALS[number])
        self.assert_clean(run)
        report = run.report()
        self.assertEqual(report["interrupted"], signal.Signals(number).name)
        self.assertEqual(report["exit_status"], SIGNALS[number])
        for case in report["cases"]:
            if case["verdict"] != "pass":
                self.assertEqual(case["verdict"], "unmeasured", run.story())
                self.assertIn(signal.Signals(number).name, case["reason"])
        extra, junit = run.reports
        self.assertEqual(len(extra["cases"]), len(report["cases"]))
        self.assertEqual(len(list(junit.iter("testcase"))), len(report["cases"]))
        print(f"  {signal.Signals(number).name}: {run.seconds:.1f} s in all, "
              f"{[case['verdict'] for case in report['cases']]}")
        return report

    def three(self, **second):
        return check("a") + check("b", **second) + check("c")

    def test_in_a_case(self):
        for number in SIGNALS:
            with self.subTest(signal=number.name):
                run = self.interrupt(number, self.three(how="hang", rank=1, timeout="60s", marker="MARKER"))
                report = self.assert_interrupted(run, number)
                self.assertEqual([case["verdict"] for case in report["cases"]], ["pass", "unmeasured", "unmeasured"])

    def test_a_killed_driver_takes_its_launch_along(self):
        run = Run(self.three(how="hang", rank=1, timeout="60s", marker="MARKER"))
        self.addCleanup(run.clean)
        run.until_marker()
        run.signal(signal.SIGKILL)
        run.wait(2)
        self.assertTrue(support.wait_until(lambda: not run.processes(), 5 * support.SLOWNESS),
                        f"left running: {[support.command_line(pid) for pid in run.processes()]}\n{run.story()}")
        latest = run.output / "latest"
        self.assertTrue(latest.exists(), "what it found until then can be shown")
        if support.ISOLATED in os.environ:
            support.wait_until(lambda: not support.shared_memory(), 5 * support.SLOWNESS)
            self.assertEqual(support.shared_memory(), set(), "its recorders")

    def test_a_driver_that_was_suspended_reads_what_came_meanwhile(self):
        run = Run(self.three(how="slow", rank=1, seconds="1s", timeout="3s", marker="MARKER"))
        self.addCleanup(run.clean)
        run.until_marker()
        run.signal(signal.SIGSTOP)
        time.sleep(4 * support.SLOWNESS)
        run.signal(signal.SIGCONT)
        run.wait(15)
        self.assertEqual([case["verdict"] for case in run.report()["cases"]], ["pass"] * 3, run.story())
        self.assert_status(run, 0)

    def test_what_was_ignored_when_it_started_stays_ignored(self):
        run = Run(self.three(how="slow", rank=1, seconds="1s", timeout="20s", marker="MARKER"), wrapper=["nohup"])
        self.addCleanup(run.clean)
        run.until_marker()
        run.signal(signal.SIGHUP)
        run.wait(15)
        self.assert_status(run, 0)
        self.assertNotIn("interrupted", run.report())

    def test_in_a_case_that_ignores_the_end(self):
        run = self.interrupt(signal.SIGTERM, self.three(how="spin", rank=0, timeout="60s", marker="MARKER"))
        self.assert_interrupted(run, signal.SIGTERM)

    def test_in_a_case_with_a_stopped_rank(self):
        run = self.interrupt(signal.SIGINT, self.three(how="stop", rank=1, timeout="60s", marker="MARKER"))
        report = self.assert_interrupted(run, signal.SIGINT)
        # The end wakes it up; what it then hurries to finish is too late.
        self.assertEqual([case["verdict"] for case in report["cases"]], ["pass", "unmeasured", "unmeasured"])

    def test_outside_of_cases(self):
        for hook, passed in (("before_mpi:1:hang", 0), ("startup:0:hang", 0), ("connected:1:hang", 0),
                             ("gap:0:hang:2", 1), ("finish:1:hang", 3)):
            for number in SIGNALS:
                with self.subTest(hook=hook, signal=number.name):
                    run = self.interrupt(number, self.three(), hook, passed)
                    report = self.assert_interrupted(run, number)
                    verdicts = [case["verdict"] for case in report["cases"]]
                    self.assertGreaterEqual(verdicts.count("pass"), passed, run.story())

    def test_two_in_a_row(self):
        """An impatient user: the second one must not cost the reports."""
        run = Run(self.three(how="spin", rank=1, timeout="60s", marker="MARKER"))
        self.addCleanup(run.clean)
        run.until_marker()
        run.signal(signal.SIGINT)
        run.signal(signal.SIGTERM)
        run.wait(12)
        self.assertIn(run.status, SIGNALS.values(), run.story())
        self.assertEqual(len(run.report()["cases"]), 3)
        self.assert_clean(run)


if __name__ == "__main__":
    support.main()
