"""muster selftest: all shipped checks are seen to pass and to fail; and what it says of checks that never can."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

MUSTER = str(support.BIN / "muster")
HELLO = """[check.mine]
probe   = "hello"
summary = "Ranks answer."
ranks   = { per_node = 2 }
%s
"""
GOOD = '[[good]]\nchecks = ["mine"]\nmachine = "zurada-gpu2h100"\n'
BAD = '[[bad]]\nchecks = ["mine"]\nwhat = "a bit"\nmachine = "zurada-gpu2h100"\norders = %s\nculprits = ["%s"]\n'
FLIP = '["flip 1 gathered"]'


class Selftest(unittest.TestCase):
    def go(self, *words, env=None, folder=None):
        done = subprocess.run([MUSTER, "selftest", *words], capture_output=True, text=True, timeout=500, cwd=folder,
                              env={**os.environ, **(env or {})})
        self.said = " ".join((done.stdout + done.stderr).split())
        return done

    def mine(self, examples, more=""):
        """A check file with these examples beside it."""
        folder = tempfile.TemporaryDirectory(prefix="muster-selftest-test-")
        self.addCleanup(folder.cleanup)
        place = pathlib.Path(folder.name, "my_checks")
        (place / "selftest").mkdir(parents=True)
        (place / "mine.toml").write_text(HELLO % more)
        (place / "selftest" / "examples.toml").write_text(examples)
        return self.go("my_checks", folder=folder.name)

    def test_all_shipped_checks_red_and_green(self):
        done = self.go("--json")
        report = json.loads(done.stdout)
        print(f"  {report['seconds']:.1f} s")
        listed = subprocess.run([MUSTER, "list", "-t", "", "--json"], capture_output=True, text=True)
        shipped = {path.stem for path in (pathlib.Path(os.environ["MUSTER_SOURCE"]) / "checks").glob("*/*.toml")
                   if path.parent.name not in ("systems", "selftest")}
        self.assertEqual({row["check"] for row in report["checks"]}, shipped, listed.stderr)
        for row in report["checks"]:
            if row["not_shown_here"]:
                self.assertIn("torch", row["not_shown_here"])
                self.assertTrue(row["check"].startswith("torch_"))
                continue
            self.assertTrue(row["seen_to_pass_and_fail"], json.dumps(row, indent=1))
            self.assertTrue(any(one["verdict"] == "pass" for one in row["good"]))
            self.assertTrue(any(one["verdict"] == "fail" for one in row["bad"]))
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])

    def test_one_of_our_own(self):
        self.assertEqual(self.mine(GOOD + BAD % (FLIP, "rank 1")).returncode, 0, self.said)
        self.assertIn("1 of 1 check seen to pass and to fail", self.said)

    def test_without_a_red_example(self):
        self.assertEqual(self.mine(GOOD).returncode, 1, self.said)
        self.assertIn("FAIL mine: no example shows that it can fail", self.said)

    def test_without_a_green_example(self):
        self.assertEqual(self.mine(BAD % (FLIP, "rank 1")).returncode, 1, self.said)
        self.assertIn("FAIL mine: no example shows that it can pass", self.said)

    def test_a_bound_that_can_not_be_broken(self):
        bound = '[[check.mine.expect]]\nmetric = "barrier"\nreference = { value = 1e9, upper = 1.0, unit = "us" }\n'
        done = self.mine(GOOD + BAD % ('["clock 1s", "slow 1 1000"]', "rank 1"), bound)
        self.assertEqual(done.returncode, 1, self.said)
        self.assertIn("FAIL mine: bad example (a bit): pass instead of fail", self.said)
        self.assertIn("examples.toml:4:1", self.said)

    def test_that_speed_is_judged_by_a_made_up_clock(self):
        bound = '[[check.mine.expect]]\nmetric = "barrier"\nreference = { value = 1000, upper = 0.5, unit = "us" }\n'
        good = GOOD + 'orders = ["clock 1ms"]\n'
        done = self.mine(good + BAD % ('["clock 1ms", "slow 1 2"]', "rank 1"), bound)
        self.assertEqual(done.returncode, 0, self.said)

    def test_the_wrong_one_is_blamed(self):
        self.assertEqual(self.mine(GOOD + BAD % (FLIP, "rank 0")).returncode, 1, self.said)
        self.assertIn("blames rank 1 instead of rank 0", self.said)

    def test_mistakes_in_examples(self):
        for text, said in (('culprit = ["x"]', 'unknown key "culprit"'), ('orders = ["flip 1 coin"]', "is no order"),
                           ('nodes = "nid[1"', '"nodes" must be a list of nodes')):
            with self.subTest(text):
                self.assertEqual(self.mine(GOOD + text + "\n").returncode, 3, self.said)
                self.assertRegex(self.said, r"examples\.toml:4:\d+: ")
                self.assertIn(said, self.said)
        self.assertEqual(self.mine(GOOD.replace("mine", "mime")).returncode, 3, self.said)
        self.assertIn('unknown check "mime"; did you mean "mine"?', self.said)

    def test_nowhere_to_start_ranks(self):
        done = self.go("-n", "hello", env={"PATH": "/nowhere"})
        self.assertEqual(done.returncode, 2, self.said)
        self.assertIn("no check can be shown here", self.said)

    def test_no_real_run_is_spoilt(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([MUSTER, "run", "-n", "^hello$"], capture_output=True, text=True, cwd=folder, timeout=120,
                                  env={**os.environ, "MUSTER_SELFTEST": "flip 1 gathered"})
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("is for muster selftest alone", " ".join(done.stdout.split()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
