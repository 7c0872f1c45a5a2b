"""A few of the calls of every_call.py."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import every_call  # noqa: E402
import support  # noqa: E402


class EveryCall(support.EndToEnd):
    def test_some_of_each_in_driver_and_agent(self):
        for victim in every_call.VICTIMS:
            for kind in every_call.CALLS:
                with self.subTest(victim=victim, kind=kind):
                    statuses, problems = every_call.loop(victim, kind, lambda calls: {(calls + 1) // 2} - {0})
                    self.assertEqual(problems, [])
                    # The agent may start nothing. The driver calls nobody: agents call it.
                    self.assertTrue(statuses or (victim, kind) in (("agent", "fork"), ("driver", "connect")), "the calls are not seen")


class GoesOn(unittest.TestCase):
    """The long way, in parts: with made-up runs of five calls, of which call 3 is a finding."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.kept, self.made, self.bad, self.late = pathlib.Path(folder.name) / "kept", [], {3}, 0

    def one(self, victim, kind, call):
        self.made.append((victim, kind, call))
        if call == 0 and self.late > 0:
            self.late -= 1
            return 1, 0, ""
        return 0, 5, "hangs" if call in self.bad else ""

    def main(self, *words):
        self.made = []
        with unittest.mock.patch.object(every_call, "one", self.one), contextlib.redirect_stdout(io.StringIO()) as out:
            return every_call.main(["--only", "read", "--kept", str(self.kept), *words]), out.getvalue()

    def test_calls_that_passed_are_not_made_again(self):
        self.assertEqual(self.main("--first", "2", "--step", "2", "driver")[0], 0)
        self.assertEqual([call for _, _, call in self.made], [0, 2, 4])
        status, said = self.main("driver")
        self.assertEqual((status, [call for _, _, call in self.made]), (1, [0, 1, 3, 5]))
        self.assertIn("hangs", said)
        self.assertIn("driver, read: 5 calls, 5 made to fail, statuses {0: 5}, 1 problems", said)
        self.bad = set()
        self.assertEqual(self.main("driver")[0], 0)
        self.assertEqual([call for _, _, call in self.made], [0, 3])

    def test_a_run_without_a_failure_that_misses_a_deadline_is_tried_again(self):
        self.late = 2
        self.assertEqual(self.main("--first", "5", "driver")[0], 0)
        self.assertEqual([call for _, _, call in self.made], [0, 0, 0, 5])
        self.late = 3
        self.assertEqual(self.main("--first", "5", "driver")[0], 1)

    def test_time_that_is_over_is_no_pass(self):
        self.assertEqual(self.main("--seconds", "0")[0], 3)
        self.bad = {0}
        self.assertEqual(self.main("agent")[0], 1)


if __name__ == "__main__":
    support.main(needs=())
