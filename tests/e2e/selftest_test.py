"""muster selftest: all shipped checks are seen to pass and to fail; and what it says of checks that never can."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
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


def heed_interrupts():
    """A shell that starts us in the background has them ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def until(claim, seconds=60):
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.05)


class Selftest(unittest.TestCase):
    def go(self, *words, env=None, folder=None):
        done = subprocess.run([MUSTER, "selftest", *words], capture_output=True, text=True, timeout=500, cwd=folder,
                              env={**os.environ, **(env or {})})
        self.said = " ".join((done.stdout + done.stderr).split())
        return done

    def write(self, examples, more=""):
        """A check file with these examples beside it; the folder with both."""
        folder = tempfile.TemporaryDirectory(prefix="muster-selftest-test-")
        self.addCleanup(folder.cleanup)
        place = pathlib.Path(folder.name, "my_checks")
        (place / "selftest").mkdir(parents=True)
        (place / "mine.toml").write_text(HELLO % more)
        (place / "selftest" / "examples.toml").write_text(examples)
        return folder.name

    def mine(self, examples, more="", *words):
        return self.go("my_checks", *words, folder=self.write(examples, more))

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
                package = "mpi4py" if row["check"].startswith("mpi4py_") else "torch"
                self.assertIn(package, row["not_shown_here"])
                self.assertTrue(row["check"].startswith(package + "_"))
                continue
            self.assertTrue(row["seen_to_pass_and_fail"], json.dumps(row, indent=1))
            self.assertTrue(any(one["verdict"] == "pass" for one in row["good"]))
            self.assertTrue(any(one["verdict"] == "fail" for one in row["bad"]))
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])

    def test_no_network_is_asked_about_a_described_machine(self):
        """MASTER_ADDR of its job is an address of its own, and this host has no route to anywhere."""
        if os.geteuid() != 0 or subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode != 0:
            self.skipTest("needs root and network namespaces")
        if support.python_with("torch") is None:
            self.skipTest("no python3 here imports torch")
        alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
        done = subprocess.run([*alone, MUSTER, "selftest", "-n", "^torch_environment$"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("1 of 1 check passed and failed as expected", done.stdout)

    def test_a_machine_without_a_remote_shell(self):
        """Open MPI refuses to start there without OMPI_MCA_plm=isolated, in programs of described machines as well."""
        if support.python_with("mpi4py") is None:
            self.skipTest("no python3 here imports mpi4py")
        folder = tempfile.TemporaryDirectory(prefix="muster-selftest-test-")
        self.addCleanup(folder.cleanup)
        for program in pathlib.Path("/usr/bin").iterdir():
            if program.name not in ("ssh", "rsh"):
                pathlib.Path(folder.name, program.name).symlink_to(program)
        done = self.go("-n", "^mpi4py_ranks$", env={"PATH": folder.name, "OMPI_MCA_plm": "isolated"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("1 of 1 check passed and failed as expected", done.stdout)

    def test_one_of_our_own(self):
        began = time.monotonic()
        self.assertEqual(self.mine(GOOD + BAD % (FLIP, "rank 1")).returncode, 0, self.said)
        waited = time.monotonic() - began
        said = re.search(r"1 of 1 check passed and failed as expected in (\d+) s, on SIMULATED machines", self.said)
        self.assertTrue(said, self.said)
        # Its folders with thousands of files are removed in that time, which was not counted.
        self.assertGreater(int(said[1]), waited / 2 - 1)

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
        for text, said in (('culprit = ["x"]', 'unknown key "culprit"'), ('orders = ["flip 1 coin"]', "is not an order"),
                           ('nodes = "nid[1"', '"nodes" must be a list of nodes')):
            with self.subTest(text):
                self.assertEqual(self.mine(GOOD + text + "\n").returncode, 3, self.said)
                self.assertRegex(self.said, r"examples\.toml:4:\d+: ")
                self.assertIn(said, self.said)
        self.assertEqual(self.mine(GOOD.replace("mine", "mime")).returncode, 3, self.said)
        self.assertIn('unknown check "mime"; did you mean "mine"?', self.said)

    def test_mistakes_that_need_to_know_more(self):
        """Said by selftest and by lint alike, before anything is started."""
        for text, said in ((GOOD.replace("2h100", "2h10"), '3:11: unknown machine "zurada-gpu2h10"; did you mean'),
                           (GOOD.replace("zurada-gpu2h100", "mine.toml"), "3:11: my_checks/selftest/mine.toml: can't be read"),
                           (GOOD + 'faults = ["gpu_mising"]', 'has no fault "gpu_mising"; did you mean "gpu_missing"?'),
                           (GOOD + 'faults = ["gpu_missing@nid7"]', '"gpu_missing@nid7" is of a node that is not among'),
                           (GOOD + 'system = "lumy"', '4:10: unknown system "lumy"; did you mean "lumi"?'),
                           (GOOD + 'settings = ["mine.byts=3"]', '4:12: check mine has no parameter "byts"; known: ')):
            with self.subTest(text):
                folder = self.write(text)
                for command in ("selftest", "lint"):
                    done = subprocess.run([MUSTER, command, "my_checks"], capture_output=True, text=True, cwd=folder, timeout=60)
                    self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                    self.assertRegex(done.stderr, r"^my_checks/selftest/examples\.toml:\d+:\d+: ")
                    self.assertIn(said, done.stderr)

    def test_one_file_of_several(self):
        """What its examples say of checks in other files is no mistake."""
        folder = self.write(GOOD + BAD % (FLIP, "rank 1") + GOOD.replace("mine", "other"))
        place = pathlib.Path(folder, "my_checks")
        (place / "other.toml").write_text((HELLO % "").replace("mine", "other"))
        self.assertEqual(self.go("my_checks/mine.toml", folder=folder).returncode, 0, self.said)

    def test_a_machine_of_our_own(self):
        folder = self.write(GOOD.replace("zurada-gpu2h100", "here.toml") + BAD % (FLIP, "rank 1"))
        machine = pathlib.Path(os.environ["MUSTER_SOURCE"], "simulation/machines", "zurada-gpu2h100.toml").read_text()
        here = pathlib.Path(folder, "my_checks", "selftest", "here.toml")
        here.write_text(machine)
        self.assertEqual(self.go("my_checks", folder=folder).returncode, 0, self.said)
        here.write_text(machine + 'coers = 1\n')
        self.assertEqual(self.go("my_checks", folder=folder).returncode, 3, self.said)
        self.assertRegex(self.said, r'here\.toml:\d+:\d+: unknown key "coers"')

    def test_what_is_kept_can_be_shown(self):
        folder = self.write(GOOD + BAD % (FLIP, "rank 1"))
        self.assertEqual(self.go("my_checks", "--keep", "seen", folder=folder).returncode, 0, self.said)
        for number, said in (("1", "2 of 2 ranks on 1 node answered"), ("2", "rank 1")):
            run = pathlib.Path(folder, "seen", number, "run")
            shown = subprocess.run([MUSTER, "show", run], capture_output=True, text=True, timeout=60)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn(said, " ".join(shown.stdout.split()))
            self.assertEqual(json.loads((run / "report.json").read_text())["exit_status"], int(number) - 1)
            self.assertIn(said, " ".join((run / "console.txt").read_text().split()))

    def test_the_page_of_one_check(self):
        page = self.go("-n", "hello", "--markdown").stdout
        self.assertIn("| `hello` |", page)
        self.assertNotIn("| `p2p` |", page)
        self.assertEqual(self.go("-n", "helo", "--markdown").returncode, 3)
        self.assertEqual(self.go("-n", "^hell", "--markdown").stdout, page, "a regular expression, as everywhere")
        self.assertEqual(self.go("--keep", "there", "--markdown").returncode, 3)

    def test_an_interrupt_ends_it(self):
        for name in ("INT", "TERM"):
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.Popen([MUSTER, "selftest"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env={**os.environ, "TMPDIR": folder}, preexec_fn=heed_interrupts)
                self.addCleanup(done.stdout.close)
                until(lambda: list(pathlib.Path(folder).glob("muster-selftest-*/*/run/launches")))
                subprocess.run(["kill", "-" + name, str(done.pid)], check=True)
                self.assertEqual(done.wait(60), {"INT": 130, "TERM": 143}[name])
                self.assertEqual(list(pathlib.Path(folder).glob("muster-selftest-*")), [])

    def test_nowhere_to_start_ranks(self):
        done = self.go("-n", "hello", env={"PATH": "/nowhere"})
        self.assertEqual(done.returncode, 2, self.said)
        self.assertIn("no check can be shown here", self.said)

    def test_no_real_run_is_spoilt(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([MUSTER, "run", "-n", "^hello$"], capture_output=True, text=True, cwd=folder, timeout=120,
                                  env={**os.environ, "MUSTER_SELFTEST": "flip 1 gathered"})
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("MUSTER_SELFTEST: is set to flip 1 gathered, which is for simulated machines; unset it", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
