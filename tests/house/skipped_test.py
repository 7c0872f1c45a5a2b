"""A test program whose every test was skipped has shown nothing: it must end with 77, which ctest reports as skipped."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = """
import sys, unittest
sys.path.insert(0, {support!r})
import support

class Some(unittest.TestCase):
{body}

support.run_tests()
"""
SKIPPED = "    def test_skipped(self): self.skipTest('others use the CPUs')\n"
GOOD = "    def test_good(self): pass\n"
BAD = "    def test_bad(self): self.fail()\n"
SKIPPED_CLASS = "    @classmethod\n    def setUpClass(cls): raise unittest.SkipTest('no cluster')\n"


class ExitStatus(unittest.TestCase):
    def status_of(self, body):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "some_test.py"
            path.write_text(PROGRAM.format(support=str(TESTS / "e2e"), body=body))
            done = subprocess.run([sys.executable, "-B", str(path)], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        return done.returncode, done.stdout

    def test_all_skipped(self):
        for body in (SKIPPED, SKIPPED_CLASS + GOOD):
            status, said = self.status_of(body)
            self.assertEqual(status, 77, said)
            self.assertIn("skipped: every test was: ", said)

    def test_what_was_run_counts(self):
        self.assertEqual(self.status_of(SKIPPED + GOOD)[0], 0)
        self.assertEqual(self.status_of(GOOD)[0], 0)
        self.assertEqual(self.status_of(SKIPPED + BAD)[0], 1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
