"""`./dev fuzz` counts what was really executed, goes on where it ended, and does not hide a finding."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

FUZZ = pathlib.Path(__file__).resolve().parent.parent / "fuzz"
sys.path.insert(0, str(FUZZ))
import campaign  # noqa: E402

# Executes what it is asked for, or the half of it, and crashes where a file says so.
FUZZER = """#!/bin/sh
echo "$@" >> "$0.calls"
nice >> "$0.nice"
for word; do case $word in -runs=*) runs=${word#-runs=} ;; -artifact_prefix=*) prefix=${word#-artifact_prefix=} ;; -max_total_time=*) half=1 ;; esac; done
[ -z "${half:-}" ] || runs=$((runs / 2))
if [ -e "$0.crash" ]; then echo x > "${prefix}crash-1"; echo "stat::number_of_executed_units: 7" >&2; exit 77; fi
echo "stat::number_of_executed_units: $runs" >&2
"""


class Campaign(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in campaign.subjects():
            program = self.folder / f"fuzz_{name}"
            program.write_text(FUZZER)
            program.chmod(0o755)

    def run_it(self, *words):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            status = campaign.main([*words, "--programs", str(self.folder), "--kept", str(self.folder / "kept")])
        return status, out.getvalue()

    def test_each_subject_has_its_goal(self):
        status, out = self.run_it()
        self.assertEqual(status, 0)
        for subject in ("toml", "report_json", "wire", "frame", "messages", "spool", "hostlist", "kernel_log", "mask"):
            self.assertRegex(out, rf"(?m)^{subject} +10,000,000 +10,000,000  0$")
        for subject in ("history", "topology", "driver"):
            self.assertRegex(out, rf"(?m)^{subject} +1,000,000 +1,000,000  0$")

    def test_a_later_call_does_what_is_left(self):
        for so_far in ("50", "74", "87"):
            _, out = self.run_it("toml", "--goal", "100", "--seconds", "1")
            self.assertRegex(out, rf"(?m)^toml +{so_far} +100")
        _, out = self.run_it("toml", "--goal", "100")
        self.assertRegex(out, r"toml: 12 executions of at most 256 bytes in \d+ s, [\d,]+ per second of processor time")
        self.assertRegex(out, r"toml: 1 executions of at most 8192 bytes in")
        _, out = self.run_it("toml", "--goal", "100")
        self.assertNotIn("executions in", out, "nothing is left to do")

    def test_the_lowest_priority_or_the_one_that_is_asked_for(self):
        self.run_it("mask", "--goal", "1")
        self.run_it("mask", "--goal", "2", "--nice", "0")
        lowest, asked = (self.folder / "fuzz_mask.nice").read_text().split()
        self.assertEqual((int(lowest), int(asked)), (19, os.nice(0)))

    def test_most_executions_are_short_and_some_are_long(self):
        self.run_it("wire", "--goal", "1000", "--seconds", "30")
        calls = (self.folder / "fuzz_wire.calls").read_text().splitlines()
        self.assertEqual([[word for word in call.split() if word.startswith(("-runs", "-max_"))] for call in calls],
                         [["-runs=900", "-max_len=256", "-max_total_time=20"], ["-runs=100", "-max_len=4096", "-max_total_time=10"]])

    def test_a_finding_is_kept_until_it_is_taken_away(self):
        (self.folder / "fuzz_mask.crash").touch()
        status, out = self.run_it("mask")
        self.assertEqual(status, 1)
        self.assertRegex(out, r"(?m)^mask +7 +10,000,000  crash-1$")
        (self.folder / "fuzz_mask.crash").unlink()
        self.assertEqual(self.run_it("mask", "--show")[0], 1)
        (self.folder / "kept/mask/findings/crash-1").unlink()
        self.assertEqual(self.run_it("mask")[0], 0)

    def test_an_unknown_subject_is_refused(self):
        with self.assertRaises(SystemExit) as ended:
            self.run_it("tmol")
        self.assertEqual(ended.exception.code, 3)


if __name__ == "__main__":
    unittest.main()
